//! The overhead of the OCaml library for the programs that use it, compared with the original Ocamlviz: `cargo
//! xtask bench live`.
//!
//! One program, `programs/observe_bench.ml`, is compiled with the original, and with ours by both compilers.
//! Rounds are interleaved, and the best counts.

mod programs;
mod watched;

use std::path::Path;

use super::rounds;
use programs::Programs;
use xtask::Outcome;

/// A measured case.
struct Case {
    title: &'static str,
    arguments: &'static [&'static str],
    /// The arguments for the original, if it cannot do the same.
    original: Option<&'static [&'static str]>,
    /// Whether a client must be connected.
    is_watched: bool,
}

const CASES: &[Case] = &[
    Case::new("Point.observe, over an empty loop", &["point"]),
    Case::new("Time.start and stop", &["time"]),
    Case::new("log \"line %d of the log\"", &["log"]),
    // With more, the original takes minutes.
    Case::new("Tag.mark, a million that differ", &["distinct", "1000000"])
        .original(&["distinct", "100000"]),
    Case::new("Tag.mark, 10,000 of equal contents", &["equal", "10000"]),
    Case::new("Tag.mark, a million of equal contents", &["equal", "1000000"]).original(&[]),
    Case::new("longest pause, size of 100,000 cells", &["pause", "100000"]).watched(),
    Case::new("longest pause, size of 1,000,000 cells", &["pause", "1000000"]).watched(),
    Case::new("the same, not observed", &["still", "1000000"]).watched(),
];

impl Case {
    const fn new(title: &'static str, arguments: &'static [&'static str]) -> Case {
        Case { title, arguments, original: None, is_watched: false }
    }

    const fn original(self, arguments: &'static [&'static str]) -> Case {
        Case { original: Some(arguments), ..self }
    }

    const fn watched(self) -> Case {
        Case { is_watched: true, ..self }
    }
}

pub fn run(arguments: &[String]) -> Outcome {
    let mut count = super::DEFAULT_ROUNDS;
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--rounds" => count = rounds::number(value, 1)?,
            _ => return Err(format!("there is no option {option}")),
        }
    }
    eprintln!("building");
    let programs = Programs::build(&super::folder()?.join("live"))?;
    let mut best = vec![[f64::INFINITY; 3]; CASES.len()];
    for round in 0..count {
        eprintln!("round {} of {count}", round + 1);
        for (case, best) in CASES.iter().zip(&mut best) {
            for (column, program) in programs.benches.iter().enumerate() {
                let arguments = case.original.filter(|_| column == 0).unwrap_or(case.arguments);
                best[column] = best[column].min(nanoseconds(program, arguments, case.is_watched)?);
            }
        }
    }
    println!("| | Ocamlviz, OCaml 4.13 | ours, OCaml 4.13 | ours, OCaml 5.3 |\n|---|--:|--:|--:|");
    for (case, best) in CASES.iter().zip(&best) {
        println!("| {} | {} |", case.title, best.map(shown).join(" | "));
    }
    println!();
    linking(&programs, count)?;
    watched::nobody(&programs.benches[1])?;
    watched::nobody(&programs.benches[2])
}

/// The number that a program prints; infinity if it was not run or crashed.
fn nanoseconds(program: &Path, arguments: &[&str], is_watched: bool) -> Result<f64, String> {
    if arguments.is_empty() {
        return Ok(f64::INFINITY);
    }
    let said = watched::said(program, arguments, is_watched)?;
    Ok(said.and_then(|said| said.split_whitespace().last()?.parse().ok()).unwrap_or(f64::INFINITY))
}

fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        _ if nanoseconds.is_infinite() => "-".to_owned(),
        ..10.0 => format!("{nanoseconds:.1} ns"),
        ..10_000.0 => format!("{nanoseconds:.0} ns"),
        ..1_000_000.0 => format!("{:.1} us", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}

/// The time to start and end a program, with and without the library linked.
fn linking(programs: &Programs, count: usize) -> Outcome {
    for [without, with] in &programs.linked {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..count.max(5) {
            for (best, program) in best.iter_mut().zip([without, with]) {
                *best = best.min(watched::start_and_end(program)?);
            }
        }
        println!(
            "start and end of a program: {:.0} us; linked with the library: {:.0} us",
            best[0] * 1e6,
            best[1] * 1e6
        );
    }
    Ok(())
}
