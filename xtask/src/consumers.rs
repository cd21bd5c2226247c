//! Opens exports in the tools they are for, at the versions that `docs/exports.md` names.
//!
//! The tools are got once and kept in an ignored folder. The tests themselves are in
//! `crates/export/tests/export/consumers.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, root, succeed};

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    check()
}

/// Gets what is missing and runs the tests.
pub fn check() -> Outcome {
    let tools = root().join(".cache/consumers");
    fs::create_dir_all(&tools).map_err(|error| format!("{}: {error}", tools.display()))?;
    get_npm_packages(&tools)?;
    if !tools.join("pprof").exists() {
        println!("-- getting pprof from Debian");
        succeed(Command::new(root().join("consumers/get-pprof")).arg(&tools))?;
    }
    let mut tests = cargo("test --package bactrian-export --test export -- --ignored consumers::");
    succeed(tests.env("BACTRIAN_CONSUMERS", &tools))
}

/// Installs what the lock file says, unless that was done.
fn get_npm_packages(tools: &Path) -> Outcome {
    let from = root().join("consumers");
    // Copied last, so that it says what is installed.
    let installed = tools.join("installed.json");
    let lock = from.join("package-lock.json");
    let text = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    if text(&installed).ok() == Some(text(&lock)?) {
        return Ok(());
    }
    println!("-- getting Speedscope and the Firefox Profiler from npm");
    for name in ["package.json", "package-lock.json"] {
        copy(&from.join(name), &tools.join(name))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(tools);
    succeed(&mut npm).map_err(|reason| format!("{reason}: is there a network, and npm?"))?;
    copy(&lock, &installed)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    Ok(())
}
