//! Lays the page down where `page.rs` includes it: as it was built, if it is there and no older than its sources, as in
//! packaged sources; otherwise it is built from `ui/`, with node and npm.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What the page is made of.
const SOURCES: &[&str] =
    &["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/// What it consists of when it is built. `page.rs` includes the same.
const PARTS: &[&str] = &["index.html", "app.js", "app.css"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("page");
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", ui.join(source).display());
    }
    let built = ui.join("dist");
    let is_built = PARTS.iter().all(|part| built.join(part).exists());
    if is_built {
        // Cargo would run this every time for a file that is not there.
        println!("cargo:rerun-if-changed={}", built.join(PARTS[0]).display());
    }
    if is_built && !is_older(&built.join(PARTS[0]), &ui) {
        return copy(&built, &out);
    }
    if let Err(reason) = build(&ui, &out) {
        if is_built {
            println!(
                "cargo:warning=the page is older than its sources and cannot be built: {reason}"
            );
            return copy(&built, &out);
        }
        eprintln!(
            "\nThe page of `bactrian view` is missing: {} does not have it as built, and it cannot be \
             built from {}: {reason}.\nInstall node 18 or later with npm (Debian: nodejs npm), or take \
             packaged sources, which have the page.\n",
            built.display(),
            ui.display()
        );
        std::process::exit(1);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("OUT_DIR is writable");
    for part in PARTS {
        fs::copy(from.join(part), to.join(part)).expect("OUT_DIR is writable");
    }
}

/// Whether a file is older than a source. What has no sources beside it cannot be older.
fn is_older(file: &Path, ui: &Path) -> bool {
    let Ok(built) = fs::metadata(file).and_then(|it| it.modified()) else { return true };
    let mut newest = SystemTime::UNIX_EPOCH;
    for source in SOURCES {
        // What is not there is not newer.
        let _ = newest_in(&ui.join(source), &mut newest);
    }
    newest > built
}

fn newest_in(path: &Path, newest: &mut SystemTime) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    *newest = metadata.modified()?.max(*newest);
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            newest_in(&entry?.path(), newest)?;
        }
    }
    Ok(())
}

/// Builds the page into a folder.
fn build(ui: &Path, out: &Path) -> Result<(), String> {
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
