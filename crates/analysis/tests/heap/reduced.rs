//! Reduced heaps.

use bactrian_analysis::heap::{ReducedKind, reduced};

use super::written::{Block, Int, Text, To, heap, modules};

#[test]
fn nodes_with_a_single_parent_are_merged() {
    // Main has a list of two cells with strings. List holds the second string too, and below it is a ring.
    let blocks = [
        Block(0, vec![To(1), To(2)]),
        Text(100),
        Block(0, vec![To(3), Int(0)]),
        Block(1, vec![To(4)]),
        Block(2, vec![To(5)]),
        Block(2, vec![To(4)]),
    ];
    let heap = heap(&blocks, &modules(&["Main", "List"], &[(0, 0, 0), (1, 0, 3)]));
    let answer = reduced(&heap, 50);
    let sets: Vec<_> = answer
        .sets
        .iter()
        .map(|set| (set.kind, set.what.as_str(), set.blocks, set.bytes))
        .collect();
    assert_eq!(
        sets,
        [
            (ReducedKind::Root, "all roots", 0, 0),
            (ReducedKind::Holder, "field 0 of Main", 3, 24 + 112 + 24),
            (ReducedKind::Large, "block of tag 1 with 1 field", 3, 48),
            (ReducedKind::Holder, "module List", 0, 0),
            (ReducedKind::Holder, "field 0 of List", 0, 0),
            (ReducedKind::Holder, "module Main", 0, 0),
        ]
    );
    assert_eq!((answer.total, answer.blocks, answer.all), (208, 6, 6));
    let classes: Vec<_> =
        answer.sets[1].classes.iter().map(|class| (&*class.name, class.bytes)).collect();
    assert_eq!(classes, [("string", 112), ("tag 0, 2 fields", 48)]);
    let edges: Vec<_> =
        answer.edges.iter().map(|edge| (edge.from, edge.to, edge.pointers)).collect();
    assert_eq!(edges, [(0, 3, 1), (0, 5, 1), (1, 2, 1), (3, 4, 1), (4, 2, 1), (5, 1, 1)]);
}

#[test]
fn the_rest_is_one_set() {
    let blocks: Vec<_> = (0..40).map(|_| Text(20)).collect();
    let roots: Vec<_> = (0..40).map(|field| (0, field, field)).collect();
    let heap = heap(&blocks, &modules(&["Main"], &roots));
    let answer = reduced(&heap, 10);
    assert_eq!((answer.sets.len(), answer.all), (11, 42));
    let last = answer.sets.last().expect("the rest");
    assert_eq!((last.kind, last.node), (ReducedKind::Rest, None));
    assert_eq!(answer.sets.iter().map(|set| set.blocks).sum::<u64>(), 40);
    let empty = super::written::heap(&[], &modules(&["Main"], &[]));
    assert_eq!(reduced(&empty, 10).blocks, 0);
}
