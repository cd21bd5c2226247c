//! The neighbourhood of a block.

use bactrian_analysis::heap::{AroundKind, AroundShape, around};

use super::written::{Block, Int, Text, To, heap, modules};

#[test]
fn pointers_are_followed_both_ways() {
    // A list of three cells with strings, and a record that has the second cell twice and itself.
    let blocks = [
        Block(0, vec![To(3), To(1)]),
        Block(0, vec![To(4), To(2)]),
        Block(0, vec![To(5), Int(0)]),
        Text(10),
        Text(100),
        Text(10),
        Block(1, vec![To(1), Int(7), To(1), To(6)]),
    ];
    let heap = heap(&blocks, &modules(&["Main"], &[(0, 0, 0), (0, 1, 6)]));
    let ask = |steps, most| around(&heap, &AroundShape { centre: 1, steps, most });
    let answer = ask(1, 50);
    let told: Vec<_> = answer
        .nodes
        .iter()
        .map(|node| (node.kind, node.node, node.distance, node.blocks, node.shallow))
        .collect();
    assert_eq!(
        told,
        [
            (AroundKind::Centre, Some(1), Some(0), 1, 24),
            (AroundKind::Block, Some(4), Some(1), 1, 112),
            (AroundKind::Block, Some(0), Some(1), 1, 24),
            (AroundKind::Block, Some(2), Some(1), 1, 24),
            (AroundKind::Block, Some(6), Some(1), 1, 40),
            (AroundKind::Rest, None, None, 2, 48),
        ]
    );
    assert_eq!((answer.near, answer.told), (5, 5));
    let edges: Vec<_> = answer
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to, edge.pointers, edge.fields.join(" ")))
        .collect();
    let edge = |from, to, pointers, fields: &str| (from, to, pointers, fields.to_owned());
    assert_eq!(
        edges,
        [
            edge(0, 1, 1, "0"),
            edge(0, 3, 1, "1"),
            edge(2, 0, 1, "1"),
            edge(2, 5, 1, ""),
            edge(3, 5, 1, ""),
            edge(4, 0, 2, "0 2"),
            edge(4, 4, 1, "3"),
            edge(5, 2, 1, ""),
            edge(5, 4, 1, ""),
        ]
    );
    // With a smaller limit: the nearest nodes that retain most.
    let few = ask(2, 3);
    let told: Vec<_> = few.nodes.iter().map(|node| node.node).collect();
    assert_eq!((told, few.near), (vec![Some(1), Some(4), Some(0), None], 9));
    // All blocks are listed, so there is no rest, although some roots are not listed.
    let all = ask(2, 50);
    assert!(all.nodes.iter().all(|node| node.kind != AroundKind::Rest));
    assert!(all.edges.iter().all(|edge| edge.from < all.nodes.len() && edge.to < all.nodes.len()));
    assert_eq!(ask(9, 0).nodes.len(), 2);
}
