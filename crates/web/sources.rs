//! What the page is made of, how it is built, and a digest of it: `ui/dist` has the page as it was built, with the digest of the sources it
//! was built from. `build.rs` takes it if the sources are still these, and `cargo xtask page` checks that they are.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Files and folders of `ui/` that the page is made of.
pub const SOURCES: &[&str] =
    &["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/// What it consists of when it is built. `page.rs` includes the same.
pub const PARTS: &[&str] = &["index.html", "app.js", "app.css"];

/// Beside them: the digest of what they were built from.
pub const BUILT_FROM: &str = "built-from";

/// The digest of the sources in `ui`, as it is written. Times say nothing in a fresh clone.
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
    // Tests are no part of it, nor are types, which `cargo xtask page --types` writes.
    names.retain(|name| !name.contains(".test.") && name != "generated.ts");
    names.sort();
    names.iter().try_for_each(|inner| add(&path.join(inner), &format!("{name}/{inner}"), hash))
}

/// FNV-1a, of the length too, so that nothing moves from one to the next.
fn add_bytes(bytes: &[u8], hash: &mut u64) {
    for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// Builds the page into a folder, with node and npm.
///
/// # Errors
/// What is missing, or what did not work.
pub fn build(ui: &Path, out: &Path) -> Result<(), String> {
    if !ui.join("package.json").exists() {
        return Err("its sources are not there".to_owned());
    }
    install(ui)?;
    let mut build = Command::new("npm");
    build.args(["run", "--silent", "build", "--", "--logLevel", "warn", "--emptyOutDir"]);
    run(build.arg("--outDir").arg(out).current_dir(ui))
}

/// Installs what the lock file says, unless that was done: cargo builds this several times, for several profiles.
fn install(ui: &Path) -> Result<(), String> {
    let lock = fs::read(ui.join("package-lock.json")).map_err(|e| format!("no lock file: {e}"))?;
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
