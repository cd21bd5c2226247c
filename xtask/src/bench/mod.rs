//! How fast Bactrian is, and what it costs the programs it observes, measured as in docs/performance.md.

mod graph;
mod live;
mod measure;
mod page;
mod record;
mod rounds;
mod snapshot;
mod trace;
mod types;
mod view;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::command::{cargo, root, succeed};

const DEFAULT_ROUNDS: usize = 5;

pub fn run(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((what, rest)) if what == "trace" => trace::run(rest),
        Some((what, rest)) if what == "record" => record::run(rest),
        Some((what, rest)) if what == "snapshot" => snapshot::run(rest),
        Some((what, rest)) if what == "graph" => graph::run(rest),
        Some((what, rest)) if what == "types" => types::run(rest),
        Some((what, rest)) if what == "live" => live::run(rest),
        Some((what, rest)) if what == "page" => page::run(rest),
        Some((what, rest)) if what == "view" => view::run(rest),
        // What the measured process runs.
        Some((what, [file])) if what == "read" => trace::read(Path::new(file)),
        Some((what, rest)) if what.starts_with("graph-") => graph::inner(&what[6..], rest),
        Some((what, rest)) if what.starts_with("types-") => types::inner(&what[6..], rest),
        _ => Err("say what to measure: trace, record, snapshot, graph, types, live, page or view"
            .to_owned()),
    }
}

/// Builds the release binaries and gives their folder.
fn build() -> Result<PathBuf, String> {
    eprintln!("building");
    succeed(&mut cargo("build --quiet --release --package bactrian --package xtask"))?;
    release_folder()
}

/// Where cargo puts release builds, from where it put this program.
fn release_folder() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let target = this.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(target.join("release"))
}

/// Where measurements keep their files.
fn folder() -> Result<PathBuf, String> {
    let folder = root().join(".cache/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
