//! Tests inference on real heaps: `hidden TABLE SNAPSHOT all|UNIT,UNIT..` finds types twice, the second time
//! without the types of the globals of these units, and compares. Types found without them may be less specific
//! than those that are known, such as `'a list` for `string list`, but never different. The pairs are listed
//! for inspection.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;
use std::error::Error;

use bactrian_snapshot::{BlockId, Snapshot};
use bactrian_types::{CATEGORIES, Category, Table, Typing};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, snapshot, units] = &arguments[..] else {
        return Err("say which table, which snapshot, and which units' globals to hide".into());
    };
    let mut table = Table::read(&std::fs::read(table)?)?;
    let snapshot = Snapshot::open(snapshot.as_ref())?;
    let known = Typing::infer(&table, &snapshot, &mut |_| {});
    for unit in &mut table.units {
        if units == "all" || units.split(',').any(|name| name == &*unit.name) {
            unit.layout = None;
        }
    }
    let found = Typing::infer(&table, &snapshot, &mut |_| {});
    // For blocks whose type is known, by category: how many have the same type, and how many another one.
    let mut counts = [(0_u64, 0_u64); 5];
    let mut pairs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for block in (0..snapshot.blocks() as u32).map(BlockId) {
        if known.category(block) > Category::Inference {
            continue;
        }
        let category = found.category(block);
        let [right, mine] = [&known, &found].map(|typing| {
            let class = typing.class(typing.class_of(block));
            class.map_or("", |class| &class.name)
        });
        let count = &mut counts[category as usize];
        if right == mine {
            count.0 += 1;
        } else {
            count.1 += 1;
            if category <= Category::Inference {
                *pairs.entry((right, mine)).or_default() += 1;
            }
        }
    }
    for (category, (same, other)) in CATEGORIES.iter().zip(counts) {
        println!("{category:?}: {same} the same, {other} not");
    }
    let coverage = found.coverage();
    let typed = coverage.typed_words() as f64 / coverage.words().max(1) as f64 * 100.0;
    println!("{typed:.2} % of words typed, {} conflicts", coverage.conflicts);
    for ((right, mine), blocks) in pairs {
        println!("{blocks}\t{right}\t{mine}");
    }
    Ok(())
}
