//! How long it takes to infer the types of a heap: `cargo xtask bench types`.

mod generate;

use std::fs;
use std::path::Path;
use std::time::Instant;

use bactrian_snapshot::Snapshot;
use bactrian_types::{Table, Typing};

use super::measure::{Run, measure};
use super::rounds;
use xtask::Outcome;
use xtask::command::{cargo, succeed};

/// Default sizes in millions of blocks.
const SIZES: &str = "1,20";

/// Entry points of the subprocesses that generate and measure, by the word after `bench types-`.
pub fn inner(what: &str, arguments: &[String]) -> Outcome {
    match (what, arguments) {
        ("generate", [blocks, table, heap]) => {
            let blocks = blocks.parse().map_err(|_| format!("{blocks}: not a number"))?;
            generate::write(blocks, Path::new(table), Path::new(heap))
        }
        ("infer", [table, heap]) => infer(Path::new(table), Path::new(heap)),
        _ => Err(format!("there is nothing to run by the name of {what}")),
    }
}

fn infer(table: &Path, heap: &Path) -> Outcome {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", heap.display());
    let start = Instant::now();
    let table = fs::read(table).map_err(|error| said(&error))?;
    let table = Table::read(&table).map_err(|error| said(&error))?;
    let snapshot = Snapshot::open(heap).map_err(|error| said(&error))?;
    let typing = Typing::infer(&table, &snapshot, &mut |_| {});
    let coverage = typing.coverage();
    let typed = coverage.typed_words() as f64 / coverage.words().max(1) as f64 * 100.0;
    let wall = start.elapsed().as_secs_f64();
    println!("{wall:.3} s, {typed:.2} % typed, {} conflicts", coverage.conflicts);
    eprintln!("{wall:.3} s, {typed:.2} % typed, {} conflicts", coverage.conflicts);
    Ok(())
}

pub fn run(arguments: &[String]) -> Outcome {
    let (mut sizes, mut count) = (SIZES, 1);
    let mut arguments = arguments.iter();
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--sizes" => sizes = value,
            "--rounds" => count = rounds::number(value, 1)?,
            _ => return Err(format!("there is no option {option}")),
        }
    }
    eprintln!("building");
    succeed(&mut cargo("build --quiet --profile dist --package bactrian-bench"))?;
    let bench = super::build_folder()?.join("bactrian-bench");
    let folder = super::folder()?;
    println!("| blocks | wall | CPU | memory | per block |\n|--:|--:|--:|--:|--:|");
    for size in sizes.split(',') {
        let millions =
            size.parse::<f64>().ok().filter(|millions| (0.01..=200.0).contains(millions));
        let millions =
            millions.ok_or_else(|| format!("--sizes {size}: not a number of millions"))?;
        let [table, heap] = ["types", "heap"].map(|end| folder.join(format!("types-{size}.{end}")));
        let arguments = |words: &[&str]| {
            let words = words.iter().map(Into::into);
            words.chain([table.clone().into(), heap.clone().into()]).collect::<Vec<_>>()
        };
        let blocks = format!("{}", (millions * 1e6) as u64);
        measure(&Run::new(bench.clone(), arguments(&["types-generate", &blocks])))?;
        let mut best: Option<(f64, f64, u64)> = None;
        for _ in 0..count {
            let start = Instant::now();
            let usage = measure(&Run::new(bench.clone(), arguments(&["types-infer"])))?;
            let wall = start.elapsed().as_secs_f64();
            let (least, cpu, memory) = best.unwrap_or((f64::INFINITY, f64::INFINITY, 0));
            let memory = memory.max(usage.max_rss_bytes);
            best = Some((wall.min(least), usage.cpu_seconds.min(cpu), memory));
        }
        if let Some((wall, cpu, memory)) = best {
            let each = memory as f64 / (millions * 1e6);
            println!(
                "| {size} M | {wall:.1} s | {cpu:.1} s | {} MB | {each:.0} bytes |",
                memory / 1_000_000
            );
        }
        for file in [table, heap] {
            // It may not exist.
            let _ = fs::remove_file(file);
        }
    }
    Ok(())
}
