//! Opens exports in the tools they are made for, at the versions that `docs/exports.md` names.
//!
//! The tools are downloaded once and kept in an ignored folder. The tests themselves are in
//! `crates/export/tests` and `crates/bactrian/tests`; [`run`] lists them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::command::{root, succeed};
use crate::test::binaries::{self, Start};
use crate::test::is_whole;

/// Downloads what is missing and runs the tests.
pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    get()?;
    let mut only = vec![
        "export export",
        "export heap",
        "bactrian tables",
        "bactrian fleet",
        "bactrian editor",
    ];
    let mut arguments = vec!["--ignored", "consumers::", "duckdb::"];
    if is_whole() {
        only.push("bactrian answers");
        arguments.push("vscode::");
    }
    let tools = folder().display().to_string();
    binaries::run(&Start {
        only: &only,
        arguments: &arguments,
        set: &[("BACTRIAN_CONSUMERS", &tools)],
        ..Start::default()
    })
}

pub fn folder() -> PathBuf {
    root().join(".cache/consumers")
}

/// Downloads what is missing.
pub fn get() -> Outcome {
    let tools = folder();
    fs::create_dir_all(&tools).map_err(|error| format!("{}: {error}", tools.display()))?;
    get_npm_packages(&tools)?;
    let mut wanted = vec![
        ("pprof", "pprof", "Debian"),
        ("visualvm", "visualvm-heap.jar", "Debian"),
        ("duckdb", "duckdb", "PyPI"),
        ("otlp", "otlp", "PyPI"),
    ];
    // This takes minutes where PyPI is slow.
    if is_whole() {
        wanted.push(("mcp", "mcp", "PyPI"));
        wanted.push(("spark", "spark", "PyPI"));
        wanted.push(("chdb", "chdb", "PyPI"));
        wanted.push(("vscode", "vscode", "npm"));
    }
    for (tool, file, from) in wanted {
        if !tools.join(file).exists() {
            println!("-- getting {tool} from {from}");
            succeed(Command::new(root().join(format!("consumers/get-{tool}"))).arg(&tools))?;
        }
    }
    Ok(())
}

/// Installs what the lock file says, unless that was done.
fn get_npm_packages(tools: &Path) -> Outcome {
    let from = root().join("consumers");
    // Copied last, so that it tells what is installed.
    let installed = tools.join("installed.json");
    let lock = from.join("package-lock.json");
    let text = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    if text(&installed).ok() == Some(text(&lock)?) {
        return Ok(());
    }
    println!("-- getting Speedscope, the Firefox Profiler, memlab and Chrome DevTools from npm");
    for name in ["package.json", "package-lock.json"] {
        copy(&from.join(name), &tools.join(name))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(tools);
    // memlab would otherwise download a browser.
    npm.env("PUPPETEER_SKIP_DOWNLOAD", "1");
    succeed(&mut npm).map_err(|reason| format!("{reason}: is there a network, and npm?"))?;
    copy(&lock, &installed)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    Ok(())
}
