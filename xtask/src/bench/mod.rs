//! How fast Bactrian is, measured as in docs/performance.md.

mod bare_read;
mod measure;
mod plan;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, root, succeed};
use measure::Usage;
use plan::{Measurement, Tools};

const DEFAULT_ROUNDS: usize = 5;

pub fn run(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((what, rest)) if what == "trace" => bench_trace(rest),
        // What the measured process runs.
        Some((what, [file])) if what == "read" => bare_read::run(Path::new(file)),
        _ => Err("say what to measure: trace".to_owned()),
    }
}

fn bench_trace(arguments: &[String]) -> Outcome {
    let (mut deep, mut wide, mut against, mut rounds) = (None, None, None, DEFAULT_ROUNDS);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--deep" => deep = Some(PathBuf::from(value)),
            "--wide" => wide = Some(PathBuf::from(value)),
            "--against" => against = Some(PathBuf::from(value)),
            "--rounds" => {
                let number = value.parse().ok().filter(|&rounds| rounds > 0);
                rounds = number.ok_or("--rounds needs a whole number, at least 1")?;
            }
            _ => return Err(format!("there is no option {option}")),
        }
    }
    let tools = Tools { ours: release_folder()?, theirs: against };
    eprintln!("building");
    succeed(&mut cargo("build --quiet --release --package bactrian --package xtask"))?;
    for (shape, given) in [("deep", deep), ("wide", wide)] {
        let is_given = given.is_some();
        let trace = given.map_or_else(|| generated(shape, &tools), Ok)?;
        let size = fs::metadata(&trace).map_err(|e| format!("{}: {e}", trace.display()))?.len();
        let measurements = plan::measurements(&tools, &trace);
        let usages = measure_all(&measurements, rounds)?;
        let origin = if is_given { "given" } else { "generated" };
        println!("### {shape}, {origin}, {} MB\n", size / 1_000_000);
        println!("{}", table::markdown(&measurements, &usages, size));
    }
    Ok(())
}

/// Where cargo puts release builds, from where it put this program.
fn release_folder() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let target = this.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(target.join("release"))
}

/// A trace made anew each time: that takes seconds, and an old one may be another generator's.
fn generated(shape: &str, tools: &Tools) -> Result<PathBuf, String> {
    let folder = root().join(".cache/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let path = folder.join(format!("{shape}.ctf"));
    eprintln!("generating the {shape} trace");
    let mut command = Command::new(tools.ours.join("xtask"));
    succeed(command.args(["generate-trace", "--shape", shape, "-o"]).arg(&path))?;
    Ok(path)
}

/// Runs all of them in turn, round after round, so that a busy moment of the machine does not fall on
/// one of them alone. The result has a list for each measurement.
fn measure_all(measurements: &[Measurement], rounds: usize) -> Result<Vec<Vec<Usage>>, String> {
    let mut usages = vec![Vec::new(); measurements.len()];
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for (measurement, usages) in measurements.iter().zip(&mut usages) {
            if round == 0 || !measurement.only_once {
                usages.push(measure::run(&measurement.program, &measurement.arguments)?);
            }
        }
    }
    Ok(usages)
}
