//! Prints the types of a snapshot's blocks: `infer TABLE SNAPSHOT [LINES]`. For trying inference on real heaps,
//! and for measuring it.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::time::Instant;

use bactrian_snapshot::{BlockId, Snapshot};
use bactrian_types::{CATEGORIES, Table, Typing};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(table), Some(snapshot)) = (arguments.next(), arguments.next()) else {
        return Err("say which table and which snapshot".into());
    };
    let lines = arguments.next().map_or(Ok(30), |lines| lines.parse())?;
    let start = Instant::now();
    let table = Table::read(&std::fs::read(table)?)?;
    println!("table: {:.2?}", start.elapsed());
    let start = Instant::now();
    let snapshot = Snapshot::open(snapshot.as_ref())?;
    let mut last = start;
    let typing = Typing::infer(&table, &snapshot, &mut |done| {
        if last.elapsed().as_millis() > 20 {
            println!("  {done:.2} {:.2?}", start.elapsed());
        }
        last = Instant::now();
    });
    println!("types of {} blocks: {:.2?}", snapshot.blocks(), start.elapsed());
    report(&snapshot, &typing, lines);
    Ok(())
}

fn report(snapshot: &Snapshot, typing: &Typing, lines: usize) {
    let coverage = typing.coverage();
    let all = coverage.words().max(1) as f64;
    let percent = |words: u64| words as f64 / all * 100.0;
    for (category, (blocks, words)) in CATEGORIES.iter().zip(coverage.categories) {
        println!("{category:?}: {blocks} blocks, {words} words, {:.2} %", percent(words));
    }
    println!("typed: {:.2} %", percent(coverage.typed_words()));
    println!("polymorphic: {:.2} %", percent(coverage.polymorphic.1));
    println!("conflicts: {}", coverage.conflicts);
    for reason in coverage.reasons.iter().take(lines) {
        println!("  {:6.2} % {} ({} blocks)", percent(reason.words), reason.text, reason.blocks);
    }
    for unit in typing.units() {
        print!(" {}={:?}", unit.name, unit.fate);
    }
    println!();
    let mut classes: Vec<(u64, u64, usize)> =
        (0..typing.classes().len()).map(|at| (0, 0, at)).collect();
    for index in 0..snapshot.groups().len() {
        let Ok(group) = snapshot.group(index) else { continue };
        for block in group.blocks() {
            let sum = &mut classes[typing.class_of(block.id).index()];
            *sum = (sum.0 + block.words + 1, sum.1 + 1, sum.2);
        }
    }
    classes.sort_unstable_by(|a, b| b.cmp(a));
    for &(words, blocks, at) in classes.iter().take(lines).filter(|(words, ..)| *words > 0) {
        println!("  {:6.2} % {blocks:9} {}", percent(words), typing.classes()[at].name);
    }
    for conflict in typing.conflicts().iter().take(lines) {
        println!("  conflict {conflict:?}");
    }
    println!("block 0: {:?}", typing.origin(BlockId(0)));
}
