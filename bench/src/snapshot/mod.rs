//! The overhead of snapshots for the program, their speed and size: `cargo xtask bench snapshot`.

mod ledger;
mod majors;
mod pauses;
mod programs;
mod real;

use std::path::PathBuf;

use super::rounds;
use programs::Formulas;
use xtask::Outcome;

const DEFAULT_ROUNDS: usize = 3;
/// Live heap sizes in megabytes at which pauses are measured. The second is 16 million blocks.
const SIZES: &str = "250,385,500,1000,2000";
/// Megabytes of live formulas, as in the predecessor's example.
const LARGE: u32 = 1500;

/// What all measurements need.
struct Tools {
    bactrian: PathBuf,
    /// For programs, ledgers and snapshots.
    folder: PathBuf,
}

pub fn run(arguments: &[String]) -> Outcome {
    let (mut count, mut sizes, mut only) = (DEFAULT_ROUNDS, SIZES, None);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--rounds" => count = rounds::number(value, 1)?,
            "--sizes" => sizes = value,
            "--only" => only = Some(value.as_str()),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    if let Some(name) = only.filter(|name| !["pauses", "majors", "real"].contains(name)) {
        return Err(format!("--only {name}: there are pauses, majors and real"));
    }
    let sizes = sizes
        .split(',')
        .map(|size| size.parse().map_err(|_| format!("--sizes {size}: not a number of megabytes")));
    let sizes: Vec<u32> = sizes.collect::<Result<_, _>>()?;
    let folder = super::folder()?.join("snapshot");
    let tools = Tools { bactrian: super::build()?.join("bactrian"), folder };
    let is_wanted = |name| only.is_none_or(|only| only == name);
    for formulas in Formulas::all(&tools.folder)? {
        let version = &formulas.version;
        if is_wanted("pauses") {
            println!("### Pauses and files, OCaml {version}\n");
            println!("{}", pauses::bench(&formulas, &sizes, count, &tools)?);
        }
        if is_wanted("majors") {
            println!("### A snapshot at every major collection, {LARGE} MB, OCaml {version}\n");
            println!("{}", majors::bench(&formulas, LARGE, count, &tools)?);
        }
    }
    if is_wanted("real") {
        println!("### The heap of ocamlopt.opt\n");
        println!("{}", real::bench(&tools)?);
    }
    Ok(())
}
