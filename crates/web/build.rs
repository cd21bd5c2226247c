//! Makes the page from `ui/`, with node and npm, and lays it down where `page.rs` includes it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the page is made of.
const SOURCES: &[&str] =
    &["src", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ui = fs::canonicalize("../../ui").expect("the page's sources are in ui/");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", ui.join(source).display());
    }
    install(&ui);
    let mut build = Command::new("npm");
    build.args([
        "run",
        "--silent",
        "build",
        "--",
        "--logLevel",
        "warn",
        "--emptyOutDir",
        "--outDir",
    ]);
    run(build.arg(out.join("page")).current_dir(&ui));
}

/// Installs what the lock file says, unless that was done: cargo builds this several times, for several profiles.
fn install(ui: &Path) {
    let lock = fs::read(ui.join("package-lock.json")).expect("there is a lock file");
    let installed = ui.join("node_modules/.installed-from");
    if fs::read(&installed).is_ok_and(|from| from == lock) {
        return;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(ui);
    run(&mut npm);
    fs::write(&installed, &lock).expect("node_modules is writable");
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| {
        panic!("npm cannot be started ({error}): the page needs node 18 or later and npm; scripts/setup installs them")
    });
    assert!(status.success(), "the page does not build: see above");
}
