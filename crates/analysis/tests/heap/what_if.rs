//! What would be freed without some references.

use bactrian_analysis::heap::{Heap, WhatIf, what_if};
use bactrian_snapshot::*;

use super::written::{Block, Closure, Int, Made, Text, To, heap, modules};

/// A cache of two entries with three fields: a key, a session that a log holds as well, and a number. The
/// second entry has its session as its key, too.
fn cache() -> Heap {
    let blocks = [
        Block(0, vec![To(1), To(2), Int(1)]),
        Text(10),
        Text(1_000),
        Block(0, vec![To(4), To(4), To(0)]),
        Text(2_000),
        Block(1, vec![To(2), Int(0)]),
    ];
    heap(&blocks, &modules(&["Cache", "Log"], &[(0, 0, 3), (1, 4, 5)]))
}

fn asked(heap: &Heap, cuts: &[&str]) -> WhatIf {
    let cuts: Vec<String> = cuts.iter().map(|&cut| cut.to_owned()).collect();
    what_if(heap, &cuts).expect("they are there")
}

fn why(heap: &Heap, cut: &str) -> String {
    what_if(heap, &[cut.to_owned()]).expect_err("it is not there").to_string()
}

/// The bytes of a string of this length, with its header.
const fn text(bytes: u64) -> u64 {
    8 * (bytes / 8 + 2)
}

#[test]
fn memory_held_by_two_is_freed_without_both() {
    let heap = cache();
    let answer = asked(&heap, &["tag 0, 3 fields.1", "Log"]);
    // The log's cell alone, or with the session.
    let alone: Vec<_> = answer.cuts.iter().map(|cut| (cut.references, cut.freed.bytes)).collect();
    assert_eq!(alone, [(1, 0), (1, 24)]);
    assert_eq!((answer.freed.blocks, answer.freed.bytes), (2, 24 + text(1_000)));
    assert_eq!(answer.total, 32 + text(10) + text(1_000) + 32 + text(2_000) + 24);
    let rows: Vec<_> = answer.rows.iter().map(|row| (&*row.name, row.blocks, row.bytes)).collect();
    assert_eq!(rows, [("string", 1, text(1_000)), ("tag 1, 2 fields", 1, 24)]);
    // It agrees with dominators if one root is cut.
    let log = asked(&heap, &["Cache"]);
    assert_eq!(log.freed.bytes, 64 + text(10) + text(2_000));
    assert_eq!(asked(&heap, &["Cache.0"]).freed, log.freed);
    assert_eq!(asked(&heap, &["globals"]).freed.bytes, answer.total);
    assert_eq!(asked(&heap, &["string"]).freed.bytes, text(10) + text(1_000) + text(2_000));
    assert_eq!(asked(&heap, &["@5"]).freed.bytes, 24);
}

#[test]
fn lines_and_finalisers_can_be_cut() {
    let mut tables = modules(&["Main"], &[(0, 0, 0), (0, 1, 1)]);
    let (function, file) = (tables.names.add("Main.f"), tables.names.add("src/main.ml"));
    let location = SnapshotLocation { function, file, line: 12, ..SnapshotLocation::default() };
    tables.codes = vec![ClosureCode { address: 64, location }];
    tables.stacks = vec![StackNode { caller: None, location }];
    let stack = Some(StackId(0));
    let sample = Sample { block: BlockId(1), allocation: 0, samples: 1, stack, time: None };
    tables.samples = vec![sample];
    let function = Some(Pointer::to(BlockId(2)));
    tables.finalisers = vec![Finaliser { kind: FinaliserKind::Last, value: None, function }];
    let blocks: [Made; 4] = [Text(5), Text(50), Closure(0, vec![To(3)]), Text(500)];
    let heap = heap(&blocks, &tables);
    assert_eq!(asked(&heap, &["main.ml:12"]).freed.bytes, text(50));
    assert_eq!(asked(&heap, &["finalisers"]).freed.bytes, 32 + text(500));
    assert!(why(&heap, "ain.ml:12").contains("heap sites"));
    assert!(why(&heap, "main.ml:13").contains("no block that was sampled"));
}

#[test]
fn unknown_references_are_reported() {
    let heap = cache();
    assert!(what_if(&heap, &[]).expect_err("nothing is named").to_string().contains("--cut"));
    assert!(why(&heap, "tag 0, 3 fields.7").contains("pointers: 0, 1, 2"));
    assert!(why(&heap, "tag 0").contains("neither a field of a type"));
    let many: Vec<String> = (0..40).map(|n| format!("@{}", n % 5)).collect();
    assert!(what_if(&heap, &many).is_err());
}
