//! Pictures of made-up heaps: well-formed whatever the names.

use bactrian_analysis::heap::{
    Around, AroundEdge, AroundKind, AroundNode, ReducedClass, ReducedEdge, ReducedHeap,
    ReducedKind, ReducedSet,
};

use super::{Picture, write_graph_dot};

fn set(kind: ReducedKind, what: &str, blocks: u64) -> ReducedSet {
    let class = ReducedClass { name: format!("closure {what}"), blocks, bytes: 8 * blocks };
    ReducedSet {
        kind,
        node: None,
        address: None,
        what: what.to_owned(),
        entry_blocks: 1,
        alike: 1,
        blocks,
        bytes: 16 * blocks,
        share: blocks as f64 / 100.0,
        classes: vec![class],
    }
}

fn edge(from: usize, to: usize, left_out: u64) -> ReducedEdge {
    ReducedEdge { from, to, pointers: u64::from(left_out == 0), left_out }
}

fn heap(name: &str) -> ReducedHeap {
    let sets = vec![
        set(ReducedKind::Root, "all roots", 0),
        set(ReducedKind::Holder, name, 0),
        set(ReducedKind::Large, name, 60),
        set(ReducedKind::Way, name, 1),
        set(ReducedKind::Rest, "the rest", 39),
    ];
    let edges = vec![edge(0, 1, 0), edge(1, 2, 0), edge(1, 3, 3), edge(2, 3, 0), edge(3, 4, 0)];
    ReducedHeap { total: 1600, blocks: 100, all: 7, sets, edges }
}

fn dot(heap: &ReducedHeap, title: &str) -> String {
    let mut out = Vec::new();
    write_graph_dot(&Picture::of_reduced(heap, title), &mut out).expect("room in memory");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn names_cannot_break_a_picture() {
    let long = "x".repeat(5_000);
    for name in ["Main.(<&>)", "\"]]>\\", "a\0b\u{1b}[31m\n\u{202e}", "été 数", &long, ""] {
        let text = dot(&heap(name), name);
        for line in text.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert_eq!(quotes % 2, 0, "{line}");
            assert!(!line.chars().any(char::is_control) && line.len() < 1_000, "{line}");
        }
    }
}

#[test]
fn a_picture_for_graphviz() {
    let expected = r##"digraph heap {
  rankdir=LR;
  label="run.heap\n1.60 kB in 100 blocks; 4 of 7 sets are shown";
  labelloc=t;
  node [shape=box, style=filled, fillcolor=white, fontname="sans-serif"];
  s0 [label="all roots", fillcolor="#d9dde3"];
  s1 [label="Main", fillcolor="#dbe9f6"];
  s2 [label="Main\n960 B, 60.0 %, 60 blocks\nclosure Main 50 %", fillcolor="#fbe3c0"];
  s3 [label="Main\n16 B, 1.00 %, 1 block"];
  s4 [label="the rest\n624 B, 39.0 %, 39 blocks\nclosure the rest 50 %", style=dashed];
  s0 -> s1;
  s1 -> s2;
  s1 -> s3 [style=dotted, label="3 sets between"];
  s2 -> s3;
  s3 -> s4;
}
"##;
    assert_eq!(dot(&heap("Main"), "run.heap"), expected);
}

#[test]
fn empty_heap_is_drawn() {
    let empty = ReducedHeap { total: 0, blocks: 0, all: 0, sets: vec![], edges: vec![] };
    assert!(dot(&empty, "empty").ends_with("}\n"));
}

fn around(name: &str) -> Around {
    let node = |kind, node, distance| AroundNode {
        kind,
        node,
        address: None,
        what: name.to_owned(),
        distance,
        blocks: 1,
        shallow: 16,
        retained: node.map(|_| 32),
        share: 0.25,
    };
    let edge = |from, to, fields: &[&str]| AroundEdge {
        from,
        to,
        pointers: fields.len().max(1) as u64,
        fields: fields.iter().map(|&field| field.to_owned()).collect(),
    };
    Around {
        steps: 1,
        near: 4,
        told: 3,
        nodes: vec![
            node(AroundKind::Centre, Some(7), Some(0)),
            node(AroundKind::Block, Some(8), Some(1)),
            node(AroundKind::Holder, Some(9), Some(1)),
            node(AroundKind::Rest, None, None),
        ],
        // A cycle, a block that points to itself, a root, and edges to and from the rest.
        edges: vec![
            edge(0, 1, &["0", "3", "4", "6"]),
            edge(1, 0, &["stack"]),
            edge(0, 0, &["1"]),
            edge(2, 0, &[]),
            edge(0, 3, &[]),
            edge(3, 1, &[]),
        ],
    }
}

#[test]
fn neighbourhood_of_a_block_for_graphviz() {
    let expected = r##"digraph heap {
  rankdir=LR;
  label="run.heap\naround @7 x; 3 of 4 blocks and roots within 1 step are shown";
  labelloc=t;
  node [shape=box, style=filled, fillcolor=white, fontname="sans-serif"];
  s0 [label="@7 x\n16 B; alone holds 32 B, 25.0 %\npoints to itself: 1", fillcolor="#fbe3c0", penwidth=3];
  s1 [label="@8 x\n16 B; alone holds 32 B, 25.0 %"];
  s2 [label="@9 x\n16 B; alone holds 32 B, 25.0 %", fillcolor="#dbe9f6"];
  s3 [label="x\n16 B, 25.0 %, 1 block\n1 of it within 1 step", style=dashed];
  s0 -> s1 [label="0, 3, 4 and 1 more"];
  s1 -> s0 [label="stack"];
  s2 -> s0;
  s0 -> s3;
  s3 -> s1 [style=dashed, constraint=false];
}
"##;
    let mut out = Vec::new();
    write_graph_dot(&Picture::of_around(&around("x"), "run.heap"), &mut out).expect("room");
    assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
}
