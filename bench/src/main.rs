//! Bactrian's speed, and its overhead for the programs it observes, measured as in docs/performance.md: `cargo
//! xtask bench`, which builds this with the profile that is shipped. It is separate from xtask because it needs
//! Bactrian's own crates, and nobody who tests or tries Bactrian should have to wait for them twice.

#![expect(clippy::print_stdout, reason = "a measurement is for the person who runs it")]

mod coverage;
mod fleet;
mod gc;
mod generate;
mod graph;
mod live;
mod measure;
mod page;
mod record;
mod rounds;
mod running;
mod snapshot;
mod start;
mod trace;
mod types;
mod view;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xtask::Outcome;
use xtask::command::{cargo, root, succeed};

const DEFAULT_ROUNDS: usize = 5;

const USAGE: &str = "\
usage: cargo xtask bench WHAT
  trace     [--deep FILE] [--wide FILE] [--against DIR] [--rounds N]
  record    [--only NAME] [--rates R,..] [--against DIR] [--rounds N] [--instructions]
  start     [--rounds N]
  running   [--rounds N]
  snapshot  [--only pauses|majors|real] [--sizes MB,..] [--rounds N]
  graph     [--sizes MILLIONS,..] [--against igraph,petgraph] [--rounds N]
  types     [--sizes MILLIONS,..] [--rounds N]
  live      [--rounds N]
  gc        [--program NAME] [--rounds N] | --name NAME [--rounds N] -- COMMAND.. | --summary
  page      [--trace FILE] [--heap FILE] [--rounds N]
  view      [TRACE..]
  fleet     [--trace FILE] [--hosts N] [--minutes N] [--engines datafusion,duckdb,chdb,spark] [--store FOLDER]
  coverage  [EXACT-TRACE..]
  generate-trace --shape deep|wide|many [--events N] [--seed N] -o FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((what, rest)) if what == "trace" => trace::run(rest),
        Some((what, rest)) if what == "record" => record::run(rest),
        Some((what, rest)) if what == "start" => start::run(rest),
        Some((what, rest)) if what == "running" => running::run(rest),
        Some((what, rest)) if what == "snapshot" => snapshot::run(rest),
        Some((what, rest)) if what == "graph" => graph::run(rest),
        Some((what, rest)) if what == "types" => types::run(rest),
        Some((what, rest)) if what == "live" => live::run(rest),
        Some((what, rest)) if what == "gc" => gc::run(rest),
        Some((what, rest)) if what == "page" => page::run(rest),
        Some((what, rest)) if what == "view" => view::run(rest),
        Some((what, rest)) if what == "fleet" => fleet::run(rest),
        Some((what, rest)) if what == "coverage" => coverage::run(rest),
        Some((what, rest)) if what == "generate-trace" => generate::run(rest),
        // Runs in the measured process.
        Some((what, [file])) if what == "read" => trace::read(Path::new(file)),
        Some((what, rest)) if what.starts_with("graph-") => graph::inner(&what[6..], rest),
        Some((what, rest)) if what.starts_with("types-") => types::inner(&what[6..], rest),
        _ => Err(USAGE.to_owned()),
    }
}

/// Builds with the shipped profile and returns the folder of the binaries.
fn build() -> Result<PathBuf, String> {
    eprintln!("building");
    succeed(&mut cargo(
        "build --quiet --profile dist --package bactrian --package bactrian-bench",
    ))?;
    build_folder()
}

/// The folder of the shipped binaries, relative to this program's path.
fn build_folder() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let target = this.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(target.join("dist"))
}

/// The folder for files of measurements.
fn folder() -> Result<PathBuf, String> {
    let folder = root().join(".cache/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
