//! How fast commands are on traces: `cargo xtask bench trace`.

mod bare_read;
mod plan;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{DEFAULT_ROUNDS, measure, rounds};
use plan::Tools;
use xtask::Outcome;
use xtask::command::succeed;

pub use bare_read::run as read;

pub fn run(arguments: &[String]) -> Outcome {
    let (mut deep, mut wide, mut against, mut rounds) = (None, None, None, DEFAULT_ROUNDS);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--deep" => deep = Some(PathBuf::from(value)),
            "--wide" => wide = Some(PathBuf::from(value)),
            "--against" => against = Some(PathBuf::from(value)),
            "--rounds" => rounds = rounds::number(value, 1)?,
            _ => return Err(format!("there is no option {option}")),
        }
    }
    let tools = Tools { ours: super::build()?, theirs: against };
    for (shape, given) in [("deep", deep), ("wide", wide)] {
        let is_given = given.is_some();
        let trace = given.map_or_else(|| generated(shape, &tools), Ok)?;
        let size = fs::metadata(&trace).map_err(|e| format!("{}: {e}", trace.display()))?.len();
        let measurements = plan::measurements(&tools, &trace);
        let usages = rounds::measure_all(
            &measurements,
            rounds,
            |measurement| measurement.only_once,
            |measurement| measure::measure(&measurement.run),
        )?;
        let origin = if is_given { "given" } else { "generated" };
        println!("### {shape}, {origin}, {} MB\n", size / 1_000_000);
        println!("{}", table::markdown(&measurements, &usages, size));
    }
    Ok(())
}

/// Generates the trace anew each time: that takes seconds, and an old one may be another generator's.
fn generated(shape: &str, tools: &Tools) -> Result<PathBuf, String> {
    let path = super::folder()?.join(format!("{shape}.ctf"));
    eprintln!("generating the {shape} trace");
    let mut command = Command::new(tools.ours.join("bactrian-bench"));
    succeed(command.args(["generate-trace", "--shape", shape, "-o"]).arg(&path))?;
    Ok(path)
}
