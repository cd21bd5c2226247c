//! Duplicates and what sharing them would save: compared with a naive count, and in tricky cases.

use std::collections::{HashMap, HashSet};

use bactrian_analysis::Estimate;
use bactrian_analysis::heap::{DuplicateSite, Duplicates, Heap, duplicates};
use bactrian_snapshot::*;

use super::written::{
    Block, Closure, Custom, Int, Made, Opaque, Out, Text, To, Value, bytes_with, modules,
};

const ALL: Columns = Columns { immediates: true, strings: None, equals: true, continuations: true };

/// The duplicates in a heap of these blocks, some with equal contents and some roots.
fn ask(columns: Columns, blocks: &[Made], equals: &[(u32, u32)], roots: &[u32]) -> Duplicates {
    let roots: Vec<_> = roots.iter().map(|&root| (0, root, root)).collect();
    ask_with(columns, blocks, equals, &modules(&["Main"], &roots))
}

fn ask_with(
    columns: Columns,
    blocks: &[Made],
    equals: &[(u32, u32)],
    tables: &Tables,
) -> Duplicates {
    let bytes = bytes_with((columns, &Info::default()), blocks, equals, tables, 3);
    let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
    let heap = Heap::new(snapshot, &mut |_| {}).expect("small");
    duplicates(&heap, usize::MAX)
}

/// The copies and saved bytes of each structure.
fn structures(answer: &Duplicates) -> Vec<(u64, u64)> {
    answer.structures.iter().map(|found| (found.copies, found.saved)).collect()
}

#[test]
fn three_equal_trees_are_one_structure() {
    let cell = |string| Block(0, vec![Int(7), To(string)]);
    let blocks = [Text(5), cell(0), Text(5), cell(2), Text(5), cell(4), cell(4)];
    let answer = ask(ALL, &blocks, &[(2, 0), (4, 0)], &[1, 3, 5, 6]);
    // Two strings go with the cells that point to them; the last cell uses the string of the cell before it.
    assert_eq!(structures(&answer), [(4, 3 * 24 + 2 * 16)]);
    assert_eq!((answer.saved, answer.saved_blocks), (104, 5));
    assert_eq!((answer.blocks, answer.bytes), (7, 4 * 24 + 3 * 16));
    let classes: Vec<_> =
        answer.classes.iter().map(|row| (&*row.label.name, row.blocks, row.saved)).collect();
    assert_eq!(classes, [("tag 0, 2 fields", 3, 72), ("string", 2, 32)]);
    let found = &answer.structures[0];
    assert_eq!((found.what.as_str(), found.nodes.len()), ("block of tag 0 with 2 fields", 3));
}

#[test]
fn duplicate_referenced_elsewhere_is_a_separate_structure() {
    // The second string is in a cell that goes and in an object that stays.
    let cell = |string| Block(0, vec![To(string)]);
    let blocks = [Text(5), cell(0), Text(5), cell(2), Block(tag::OBJECT, vec![Int(1), To(2)])];
    let answer = ask(ALL, &blocks, &[(2, 0)], &[1, 3, 4]);
    let mut found = structures(&answer);
    found.sort_unstable();
    assert_eq!(found, [(2, 16), (2, 16)]);
    assert_eq!((answer.saved, answer.left_out), (32, 1));
}

#[test]
fn which_blocks_are_equal() {
    let check = |one: Made, other: Made, expected: u64| {
        let blocks = [Text(1), Text(2), one.clone(), other.clone()];
        let answer = ask(ALL, &blocks, &[], &[0, 1, 2, 3]);
        assert_eq!(answer.saved, expected, "{one:?} and {other:?}");
    };
    check(Block(0, vec![Int(1), To(0)]), Block(0, vec![Int(1), To(0)]), 24);
    check(Block(0, vec![Int(1), To(0)]), Block(0, vec![Int(2), To(0)]), 0);
    check(Block(0, vec![Int(1), To(0)]), Block(1, vec![Int(1), To(0)]), 0);
    check(Block(0, vec![Int(1), To(0)]), Block(0, vec![To(0), Int(1)]), 0);
    check(Block(0, vec![Int(1), To(0)]), Block(0, vec![Int(1), To(1)]), 0);
    check(Block(0, vec![Int(1)]), Block(0, vec![Int(1), Int(1)]), 0);
    check(Block(0, vec![Out]), Block(0, vec![Out]), 0);
    check(Closure(1, vec![To(0)]), Closure(1, vec![To(0)]), 32);
    check(Closure(1, vec![To(0)]), Closure(2, vec![To(0)]), 0);
    check(Block(tag::OBJECT, vec![Int(1)]), Block(tag::OBJECT, vec![Int(1)]), 0);
    check(Block(tag::LAZY, vec![To(0)]), Block(tag::LAZY, vec![To(0)]), 0);
    check(Opaque(tag::DOUBLE, 1), Opaque(tag::DOUBLE, 1), 0);
    // In cycles.
    check(Block(0, vec![To(2)]), Block(0, vec![To(3)]), 0);
    check(Block(0, vec![To(3)]), Block(0, vec![To(2)]), 0);
}

#[test]
fn blocks_with_unrecorded_contents_are_not_compared() {
    let blocks = [Text(5), Text(5), Block(0, vec![Int(1)]), Block(0, vec![Int(1)]), Custom(0, 9)];
    let ask = |columns| ask(columns, &blocks, &[(1, 0)], &[0, 1, 2, 3, 4]);
    assert_eq!((ask(ALL).saved, ask(ALL).left_out), (32, 1));
    let no_contents = ask(Columns { equals: false, ..ALL });
    assert_eq!((no_contents.saved, no_contents.contents_known), (16, false));
    let no_immediates = ask(Columns { immediates: false, ..ALL });
    assert_eq!((no_immediates.saved, no_immediates.immediates_known), (16, false));
}

#[test]
fn duplicate_static_data_stays() {
    // Two static strings and a heap string, all equal; then only the static ones.
    let mut tables = modules(&["Main"], &[(0, 0, 0), (0, 1, 1), (0, 2, 2)]);
    tables.spaces = vec![Space { kind: SpaceKind::Static, start: 0x1000, end: 0x1020 }];
    let answer = ask_with(ALL, &[Text(5), Text(5), Text(5)], &[(1, 0), (2, 0)], &tables);
    assert_eq!((answer.saved, answer.blocks), (16, 1));
    tables.spaces[0].end = 0x1030;
    let answer = ask_with(ALL, &[Text(5), Text(5), Text(5)], &[(1, 0), (2, 0)], &tables);
    assert_eq!((answer.saved, answer.blocks), (0, 0));
}

/// Three equal blocks and another one, with these samples: block, stack, samples.
fn with_samples(samples: &[(u32, u32, u32)]) -> Duplicates {
    let mut tables = modules(&["Main"], &[(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3)]);
    let names = ["Main.parse", "Main.rename"].map(|name| tables.names.add(name));
    tables.stacks = names
        .map(|function| StackNode {
            caller: None,
            location: SnapshotLocation { function, line: 3, ..SnapshotLocation::default() },
        })
        .to_vec();
    let sample = |&(block, stack, samples): &(u32, u32, u32)| Sample {
        block: BlockId(block),
        allocation: 0,
        samples,
        stack: Some(StackId(stack)),
        time: None,
    };
    tables.samples = samples.iter().map(sample).collect();
    let cell = |value| Block(0, vec![Int(value)]);
    ask_with(ALL, &[cell(1), cell(1), cell(1), cell(2)], &[], &tables)
}

#[test]
fn all_copies_count_for_sites() {
    let answer = with_samples(&[(0, 0, 1), (1, 1, 1), (2, 1, 2), (3, 0, 50)]);
    let sites: Vec<_> = answer.sites.iter().map(|row| (&*row.label.name, row.share)).collect();
    assert_eq!(sites, [("Main.rename", 0.75), ("Main.parse", 0.25)]);
    assert_eq!((answer.saved, answer.sampled_blocks), (32, 3));
    let Estimate { value, low, high } = answer.sites[0].saved;
    assert!((value - 24.0).abs() < 1e-9 && low < value && value < high);
    assert!(!answer.sites_exact);
}

#[test]
fn sites_are_exact_if_every_word_was_sampled() {
    let answer = with_samples(&[(0, 0, 2), (1, 1, 2), (2, 1, 2), (3, 0, 2)]);
    assert!(answer.sites_exact);
    let sites = |answer: &Duplicates| -> Vec<_> {
        let row = |row: &DuplicateSite| {
            let Estimate { value, low, high } = row.saved;
            assert_eq!((value, value), (low, high));
            (row.label.name.clone(), row.sampled_blocks, value.round())
        };
        answer.sites.iter().map(row).collect()
    };
    let name = str::to_owned;
    assert_eq!(sites(&answer), [(name("Main.rename"), 2, 21.0), (name("Main.parse"), 1, 11.0)]);
    // What was there before the first sample is not attributed to later sites.
    let answer = with_samples(&[(1, 1, 2), (3, 0, 2)]);
    assert_eq!(sites(&answer), [(name("[not sampled]"), 0, 21.0), (name("Main.rename"), 1, 11.0)]);
}

#[test]
fn a_long_list_is_one_structure() {
    let cells = 100_000;
    let mut blocks = Vec::new();
    for list in 0..2 {
        for cell in 0..cells {
            let rest = if cell == 0 { Int(0) } else { To(list * cells + cell - 1) };
            blocks.push(Block(0, vec![Int(i64::from(cell % 10)), rest]));
        }
    }
    let answer = ask(ALL, &blocks, &[], &[cells - 1, 2 * cells - 1]);
    assert_eq!(structures(&answer), [(2, 24 * u64::from(cells))]);
}

/// Blocks that point to earlier blocks; some are roots.
fn random(seed: u64) -> (Vec<Made>, Vec<(u32, u32)>, Vec<u32>) {
    let mut state = seed;
    let mut roll = move |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let count = 1 + roll(60) as u32;
    let (mut blocks, mut equals, mut roots) = (Vec::new(), Vec::new(), Vec::new());
    let mut texts: HashMap<u64, u32> = HashMap::new();
    for id in 0..count {
        if roll(3) == 0 || id == 0 {
            let content = roll(3);
            blocks.push(Text(4));
            match texts.get(&content) {
                Some(&first) => equals.push((id, first)),
                None => drop(texts.insert(content, id)),
            }
        } else {
            let field = |at: u64, number: u64| match at {
                0 => Int(number as i64 % 2),
                _ => To((number % u64::from(id)) as u32),
            };
            let fields = (0..1 + roll(2)).map(|_| field(roll(4), roll(1 << 20)));
            blocks.push(Block(0, fields.collect()));
        }
        if roll(4) == 0 || id + 1 == count {
            roots.push(id);
        }
    }
    (blocks, equals, roots)
}

#[test]
fn random_heaps_match_a_naive_count() {
    let mut with_savings = 0;
    for seed in 0..2_000 {
        let (blocks, equals, roots) = random(seed);
        // The representative of each block, in order: blocks only point to earlier ones.
        let mut known: HashMap<Vec<i64>, usize> = HashMap::new();
        let mut stands_for = Vec::new();
        let firsts: HashMap<u32, u32> = equals.iter().copied().collect();
        for (id, made) in blocks.iter().enumerate() {
            let key = match made {
                Block(_, fields) => {
                    let code = |field: &Value| match *field {
                        To(block) => [1, stands_for[block as usize] as i64],
                        Int(value) => [2, value],
                        Out => [3, 0],
                    };
                    fields.iter().flat_map(code).collect()
                }
                _ => vec![4, i64::from(firsts.get(&(id as u32)).copied().unwrap_or(id as u32))],
            };
            stands_for.push(*known.entry(key).or_insert(id));
        }
        let mut reached: HashSet<u32> = HashSet::new();
        let mut waiting = roots.clone();
        while let Some(block) = waiting.pop() {
            if reached.insert(block)
                && let Block(_, fields) = &blocks[block as usize]
            {
                waiting.extend(fields.iter().filter_map(|field| match field {
                    To(block) => Some(*block),
                    _ => None,
                }));
            }
        }
        let size = |block: usize| match &blocks[block] {
            Block(_, fields) => 8 * (fields.len() as u64 + 1),
            _ => 16,
        };
        let all: u64 = reached.iter().map(|&block| size(block as usize)).sum();
        let distinct: HashSet<usize> =
            reached.iter().map(|&block| stands_for[block as usize]).collect();
        let needed: u64 = distinct.into_iter().map(size).sum();
        let answer = ask(ALL, &blocks, &equals, &roots);
        assert_eq!((answer.bytes, answer.saved), (all, all - needed), "seed {seed}");
        let sum: u64 = answer.structures.iter().map(|found| found.saved).sum();
        assert_eq!(sum, answer.saved, "seed {seed}");
        with_savings += u32::from(answer.saved > 0);
    }
    assert!(with_savings > 1_000, "{with_savings}");
}
