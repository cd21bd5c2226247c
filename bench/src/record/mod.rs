//! The overhead of recording for the recorded program: `cargo xtask bench record`.

mod instructions;
mod plan;
pub mod subjects;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use super::{DEFAULT_ROUNDS, measure, rounds};
use instructions::Counter;
use plan::{Tools, Variant};
use subjects::SUBJECTS;
use xtask::Outcome;

pub fn run(arguments: &[String]) -> Outcome {
    let (mut rounds, mut rates) = (DEFAULT_ROUNDS, plan::RATES);
    let (mut against, mut only, mut counts_instructions) = (None, None, false);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        if option == "--instructions" {
            counts_instructions = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            // No rounds leaves only what --instructions requests.
            "--rounds" => rounds = rounds::number(value, 0)?,
            "--rates" => rates = value,
            "--against" => against = Some(PathBuf::from(value)),
            "--only" => only = Some(value.as_str()),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    if let Some(name) = only.filter(|name| SUBJECTS.iter().all(|subject| subject.name != *name)) {
        let names: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
        return Err(format!("--only {name}: there are {}", names.join(", ")));
    }
    if rounds == 0 && !counts_instructions {
        return Err("--rounds 0 is for --instructions".to_owned());
    }
    // Determined first, because what follows takes minutes.
    let counter = if counts_instructions { Some(Counter::find()?) } else { None };
    let folder = super::folder()?;
    let tools =
        Tools { bactrian: super::build()?.join("bactrian"), trace: folder.join("record.ctf") };
    for subject in SUBJECTS.iter().filter(|subject| only.is_none_or(|name| subject.name == name)) {
        eprintln!("{}", subject.name);
        let (program, version) = subject.make(&folder)?;
        let rival = against.as_ref().map(|folder| folder.join(subject.rival));
        let rival = rival.filter(|path| path.exists());
        let variants = plan::variants(&program, rival.as_deref(), subject.is_deep, rates);
        println!("### {}, OCaml {version}\n", subject.title);
        if rounds > 0 {
            println!("{}", bench(&variants, &tools, rounds)?);
        }
        if let Some(counter) = counter {
            println!("{}", count_instructions(&variants, &tools, counter)?);
        }
    }
    Ok(())
}

/// A table of times.
fn bench(variants: &[Variant], tools: &Tools, rounds: usize) -> Result<String, String> {
    let mut sizes = vec![None; variants.len()];
    let order: Vec<_> = (0..variants.len()).collect();
    let usages = rounds::measure_all(
        &order,
        rounds,
        |&at| variants[at].only_once,
        |&at| {
            let run = variants[at].command(tools);
            let (usage, size) = with_trace(&tools.trace, || measure::measure(&run))?;
            sizes[at] = size;
            Ok(usage)
        },
    )?;
    let memory = variants.iter().zip(&usages).map(|(variant, usages)| {
        // If the parent maps the trace, as ours does at the end, its memory would be taken for the program's.
        Ok(match variant.command_alone(tools)? {
            Some(run) => with_trace(&tools.trace, || measure::measure(&run))?.0.max_rss_bytes,
            None => usages.memory(),
        })
    });
    let memory = memory.collect::<Result<Vec<_>, String>>()?;
    Ok(table::seconds(variants, &usages, &memory, &sizes))
}

/// A table of instructions.
fn count_instructions(
    variants: &[Variant],
    tools: &Tools,
    counter: Counter,
) -> Result<String, String> {
    let mut counts = Vec::new();
    // Each only once: a second run gives the same number, as the second plain run shows.
    for variant in variants.iter().filter(|variant| !variant.only_once) {
        eprintln!("counting instructions: {}", variant.title);
        let run = variant.command_alone(tools)?.unwrap_or_else(|| variant.command(tools));
        counts.push((variant, with_trace(&tools.trace, || counter.count(&run))?.0));
    }
    Ok(table::instructions(&counts, counter.name()))
}

/// Runs something that writes the trace, and returns the trace's size if there is one. The trace is removed
/// before, so that an older one is not mistaken for it, and afterwards, because traces of all allocations are
/// large.
fn with_trace<T>(
    trace: &Path,
    run: impl FnOnce() -> Result<T, String>,
) -> Result<(T, Option<u64>), String> {
    fs::remove_file(trace).ok();
    let result = run()?;
    let size = fs::metadata(trace).map(|metadata| metadata.len()).ok();
    fs::remove_file(trace).ok();
    Ok((result, size))
}
