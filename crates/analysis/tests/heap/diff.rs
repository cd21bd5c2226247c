//! Differences between snapshots.

use bactrian_analysis::heap::{Heap, HeapDiff, Series};
use bactrian_snapshot::*;

use super::written::{Block, Int, Made, Text, To, bytes_of, modules};

/// The heap of a process `second` seconds after the epoch, after this many compactions.
fn at(second: u64, pid: u32, compactions: u64, blocks: &[Made]) -> Heap {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let name = tables.names.add("compactions");
    tables.statistics = vec![Statistic { name, value: Number::Whole(compactions) }];
    let info = Info { pid, taken: second * 1_000_000, ..Info::default() };
    let snapshot = Snapshot::from_bytes(bytes_of(blocks, &tables, 100, &info)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

fn diff(heaps: Vec<Heap>) -> HeapDiff {
    let mut series = Series::default();
    let count = heaps.len();
    for (index, heap) in heaps.into_iter().enumerate() {
        series.add(heap, index + 1 == count);
    }
    series.finish()
}

fn list(cells: u32) -> Vec<Made> {
    (0..cells)
        .map(|n| Block(0, vec![Int(1), if n + 1 < cells { To(n + 1) } else { Int(0) }]))
        .collect()
}

#[test]
fn diff_counts_growth_and_new_gone_and_surviving_blocks() {
    let first = [list(3), vec![Text(3), Block(1, vec![Int(1)])]].concat();
    let second = [list(3), vec![Block(1, vec![Int(1)]), Block(1, vec![Int(1)]), Text(50)]].concat();
    let found = diff(vec![at(10, 1, 0, &first), at(12, 1, 0, &second)]);
    assert_eq!(found.not_matched, None);
    let rows: Vec<_> = found.rows.iter().map(|row| (&*row.class, row.change, row.rate)).collect();
    let expected = [
        ("string", 48, Some(24.0)),
        ("tag 1, 1 field", 16, Some(8.0)),
        ("tag 0, 2 fields", 0, Some(0.0)),
    ];
    assert_eq!(rows, expected);
    let counts = |of: Option<bactrian_analysis::heap::Counted>| of.map(|of| (of.blocks, of.bytes));
    // The block of tag 1 did not move; before it, the other block took the string's place.
    assert_eq!(counts(found.all.new), Some((2, 80)));
    assert_eq!(counts(found.all.gone), Some((1, 16)));
    assert_eq!(counts(found.all.surviving), Some((4, 88)));
    assert_eq!(found.all.change, 64);
    assert_eq!(found.time_to(168), Some(0.0));
    assert_eq!(found.time_to(168 + 320), Some(10.0));
}

#[test]
fn moved_blocks_are_not_compared() {
    let compacted = diff(vec![at(1, 1, 0, &list(3)), at(2, 1, 1, &list(3))]);
    assert!(compacted.not_matched.expect("a reason").contains("compacted"));
    assert_eq!(compacted.all.new, None);
    let other = diff(vec![at(1, 1, 0, &list(3)), at(2, 2, 0, &list(5))]);
    assert!(other.not_matched.expect("a reason").contains("different processes"));
    assert_eq!((other.all.change, other.all.rate), (48, None));
    // Detected without a compaction count, because all addresses differ.
    let moved = [vec![Block(5, vec![Int(1); 4])], list(1_200)].concat();
    let moved = diff(vec![at(1, 1, 0, &list(1_200)), at(2, 1, 0, &moved)]);
    assert!(moved.not_matched.expect("a reason").contains("moved"));
}

#[test]
fn classes_that_grow_in_every_step_are_marked() {
    let heaps = [3, 5, 9].iter().zip(0..).map(|(&cells, second)| at(second, 1, 0, &list(cells)));
    let found = diff(heaps.collect());
    assert!(found.all.grows_always && found.rows[0].grows_always);
    assert_eq!(found.rows[0].bytes, [72, 120, 216]);
    assert_eq!(found.rows[0].blocks, [3, 5, 9]);
    assert_eq!(found.time_to(1 << 40).map(|time| time > 0.0), Some(true));
    let two = diff(vec![at(1, 1, 0, &list(3)), at(2, 1, 0, &list(5))]);
    assert!(!two.all.grows_always, "two snapshots tell no trend");
    let shrinks = diff(vec![at(1, 1, 0, &list(5)), at(2, 1, 0, &list(3))]);
    assert_eq!(shrinks.time_to(1 << 40), None);
}

#[test]
fn diff_of_empty_heaps_is_empty() {
    let found = diff(vec![at(1, 1, 0, &[]), at(2, 1, 0, &[])]);
    assert_eq!((found.rows.len(), found.all.change, found.not_matched), (0, 0, None));
    assert!(diff(Vec::new()).not_matched.is_some());
}
