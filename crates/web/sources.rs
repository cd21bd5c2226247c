//! The sources of the page, how to build it, and a digest of the sources. `ui/dist` contains a built page with the digest of its
//! sources. `build.rs` uses it if the digest still matches, and `cargo xtask page` checks that it does.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// The files and folders of `ui/` from which the page is built.
pub const SOURCES: &[&str] =
    &["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/// The files of a built page, the same as in `page.rs`.
pub const PARTS: &[&str] = &["index.html", "app.js", "app.css"];

/// The file beside them with the digest of their sources.
pub const BUILT_FROM: &str = "built-from";

/// The digest of the sources in `ui`, as text. Modification times would mean nothing in a fresh clone.
///
/// # Errors
/// If a source cannot be read.
pub fn digest(ui: &Path) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for source in SOURCES {
        add(&ui.join(source), source, &mut hash)?;
    }
    Ok(format!("{hash:016x}\n"))
}

fn add(path: &Path, name: &str, hash: &mut u64) -> io::Result<()> {
    if !path.is_dir() {
        add_bytes(name.as_bytes(), hash);
        add_bytes(&fs::read(path)?, hash);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.extend(entry?.file_name().into_string());
    }
    // The page contains neither tests nor the module of types, which `cargo xtask page --types` writes.
    names.retain(|name| !name.contains(".test.") && name != "generated.ts");
    names.sort();
    names.iter().try_for_each(|inner| add(&path.join(inner), &format!("{name}/{inner}"), hash))
}

/// FNV-1a, including the length, so that bytes cannot move from one item to the next unnoticed.
fn add_bytes(bytes: &[u8], hash: &mut u64) {
    for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// Builds the page into a directory, with node and npm.
///
/// # Errors
/// What is missing, or what failed.
pub fn build(ui: &Path, out: &Path) -> Result<(), String> {
    if !ui.join("package.json").exists() {
        return Err("its sources are missing".to_owned());
    }
    install(ui)?;
    let mut build = Command::new("npm");
    build.args(["run", "--silent", "build", "--", "--logLevel", "warn", "--emptyOutDir"]);
    run(build.arg("--outDir").arg(out).current_dir(ui))
}

/// Installs the packages in the lock file, unless that was done: cargo runs this several times, for several
/// profiles.
fn install(ui: &Path) -> Result<(), String> {
    let lock =
        fs::read(ui.join("package-lock.json")).map_err(|e| format!("package-lock.json: {e}"))?;
    let installed = ui.join("node_modules/.installed-from");
    if fs::read(&installed).is_ok_and(|from| from == lock) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(ui);
    run(&mut npm)?;
    fs::write(&installed, &lock).map_err(|error| format!("{}: {error}", installed.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm failed ({status}): see above")),
        Err(error) => Err(format!("npm cannot be started ({error})")),
    }
}
