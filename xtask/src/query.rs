//! The engine of `bactrian query` and `bactrian fleet`, a separate build: `cargo xtask query` builds and tests it,
//! `--build` only builds it.

use std::fs;
use std::path::PathBuf;

use crate::Outcome;
use crate::command::{cargo, root, succeed};
use crate::test::binaries::{self, Start};
use crate::test::is_whole;
use crate::{consumers, page};

const ENGINE: &str = "bactrian-query";

/// Half an hour on two processors, once.
const BUILD: &str = "build --release --manifest-path query/Cargo.toml --target-dir target/query";

pub fn run(arguments: &[String]) -> Outcome {
    match arguments {
        [] => check(),
        [word] if word == "--build" => build(),
        _ => Err("takes --build, or nothing".to_owned()),
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// Builds it and copies it beside every existing `bactrian`, which looks for it there.
fn build() -> Outcome {
    println!("building {ENGINE}: half an hour the first time");
    succeed(binaries::with_lints(cargo(BUILD)).env_remove("CARGO_TARGET_DIR"))?;
    let built = root().join("target/query/release").join(ENGINE);
    println!("{}", built.display());
    for profile in ["debug", "release", "quick", "dist", "release-files"] {
        let folder = target().join(profile);
        if folder.join("bactrian").exists() {
            let beside = folder.join(ENGINE);
            let copied = fs::copy(&built, &beside);
            copied.map_err(|error| format!("{}: {error}", beside.display()))?;
            println!("{}", beside.display());
        }
    }
    Ok(())
}

/// Runs its lints, its own tests, the comparison of its answers with DuckDB's, and the tests of the views of the
/// page that ask it.
pub fn check() -> Outcome {
    consumers::get()?;
    binaries::build()?;
    build()?;
    succeed(&mut cargo("fmt --check --manifest-path query/Cargo.toml"))?;
    succeed(&mut binaries::with_lints(cargo(&BUILD.replace("build", "test"))))?;
    let tools = consumers::folder().display().to_string();
    binaries::run(&Start {
        only: &["bactrian tables", "bactrian fleet"],
        arguments: &["--ignored", "queries::"],
        set: &[("BACTRIAN_CONSUMERS", &tools)],
        ..Start::default()
    })?;
    if is_whole() {
        let garage = get_garage()?.display().to_string();
        binaries::run(&Start {
            only: &["bactrian fleet"],
            arguments: &["--ignored", "stores::", "spark::", "clickhouse::"],
            set: &[("BACTRIAN_GARAGE", &garage), ("BACTRIAN_CONSUMERS", &tools)],
            ..Start::default()
        })?;
    }
    page::run(&["query", "fleet"].map(str::to_owned))
}

/// Garage, a distributed object store. Building it takes half an hour of processor time.
fn get_garage() -> Result<PathBuf, String> {
    let folder = root().join(".cache/garage");
    if !folder.join("bin/garage").exists() {
        println!("building Garage: half an hour");
        let mut install = cargo("install garage --version ^2.5 --locked");
        succeed(install.arg("--root").arg(&folder))?;
    }
    Ok(folder)
}
