//! Shortest paths to a block and to the blocks of a class.

use bactrian_analysis::heap::{Found, Heap, PathRow, PathsShape, ShapeRow, class_paths, paths};
use bactrian_snapshot::*;

use super::written::{Block, Int, Made, Opaque, Text, To, bytes, closures, heap, modules};

fn steps(heap: &Heap, node: u32) -> Vec<Vec<String>> {
    let step = |step: &bactrian_analysis::heap::PathStep| {
        format!("{}/{} x{}", step.step, step.what, step.times)
    };
    paths(heap, node).rows.iter().map(|row| row.steps.iter().map(step).collect()).collect()
}

fn lines(rows: &[ShapeRow], level: usize) -> Vec<String> {
    let mut all = Vec::new();
    for row in rows {
        let ShapeRow { step, what, here, blocks, bytes, repeats, .. } = row;
        let more = if *repeats { "+" } else { "" };
        all.push(format!("{level} {step}/{what}{more}: {here} of {blocks}, {bytes}"));
        all.extend(lines(&row.rows, level + 1));
    }
    all
}

const QUESTION: PathsShape =
    PathsShape { depth: 20, limit: 0, min_share: 0.0, most_rows: usize::MAX, members_of: None };

/// A list of `count` cells that ends in a string.
fn list(count: u32) -> Heap {
    let cell = |n: u32| Block(0, vec![Int(1), To(n + 1)]);
    let mut blocks: Vec<_> = (0..count).map(cell).collect();
    blocks.push(Text(3));
    let written = bytes(&blocks, &modules(&["Main"], &[(0, 2, 0)]), 1 << 16);
    let snapshot = Snapshot::from_bytes(written).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

/// Paths from many roots go through one large array, whose elements are scanned once for all of them.
#[test]
fn array_held_by_many_roots_is_scanned_once() {
    let (fields, roots) = (300_000, 5_000);
    let element = |n: u32| if n + 1 == fields { To(1) } else { To(2) };
    let blocks = [Block(0, (0..fields).map(element).collect()), Text(3), Text(5)];
    let roots: Vec<_> = (0..roots).map(|field| (0, field, 0)).collect();
    let answer = paths(&heap(&blocks, &modules(&["Main"], &roots)), 1);
    assert_eq!((answer.roots, answer.more), (5_000, false));
    let last = |row: &PathRow| row.steps.last().map(|step| step.step.clone());
    assert!(answer.rows.iter().all(|row| last(row).as_deref() == Some("element 299999")));
}

/// Unlike in any real program, each block has a class of its own.
#[test]
fn chain_of_a_hundred_thousand_classes_is_fast() {
    let heap = closures(100_000);
    let Ok(Found::Classes(classes)) = heap.find("closure") else { panic!("they are classes") };
    let answer = class_paths(&heap, &classes, &PathsShape { depth: usize::MAX, ..QUESTION });
    let rows = lines(&answer.rows, 0);
    assert_eq!((answer.blocks, rows.len()), (100_000, 60));
    assert!(rows[59].contains(": 1 of "), "{}", rows[59]);
}

#[test]
fn each_root_has_its_shortest_path() {
    // Main.0 -> 0 -> 1 -> 4; Main.1 -> 2 -> 4 by its field 2; Other.0 -> 3 -> 4 as an element.
    let blocks = [
        Block(0, vec![To(1)]),
        Block(1, vec![Int(1), To(4)]),
        Block(0, vec![Int(0), Int(1), To(4), To(4)]),
        Block(0, (0..10).map(|n| if n == 7 { To(4) } else { Int(n) }).collect()),
        Text(5),
    ];
    let heap = heap(&blocks, &modules(&["Main", "Other"], &[(0, 0, 0), (0, 1, 2), (1, 0, 3)]));
    let expected = [
        ["/field 1 of Main x1", "/block of tag 0 with 4 fields x1", "field 2/string of 5 bytes x1"],
        [
            "/field 0 of Other x1",
            "/block of tag 0 with 10 fields x1",
            "element 7/string of 5 bytes x1",
        ],
    ];
    let seen = steps(&heap, 4);
    assert_eq!(seen[0], expected[0]);
    assert_eq!(seen[1], expected[1]);
    assert_eq!((seen.len(), seen[2].len()), (3, 4));
    assert_eq!(paths(&heap, 4).rows[2].length, 3);
}

#[test]
fn paths_that_look_alike_are_one_row() {
    let blocks = [Block(0, vec![To(2)]), Block(0, vec![To(2)]), Text(5)];
    let mut tables = modules(&["Main"], &[]);
    let name = tables.names.add("hook");
    for block in [0, 1] {
        let kind = RootKind::Hook { what: name };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }
    let heap = heap(&blocks, &tables);
    // One holder for both, and so one path.
    assert_eq!(paths(&heap, 2).rows.len(), 1);
    assert_eq!(paths(&heap, 2).roots, 1);
}

#[test]
fn a_long_list_is_one_step() {
    let heap = list(1_000_000);
    let expected = [
        "/field 2 of Main x1",
        "/block of tag 0 with 2 fields x1",
        "field 1/block of tag 0 with 2 fields x999999",
        "field 1/string of 3 bytes x1",
    ];
    assert_eq!(steps(&heap, 1_000_000), [expected]);
    let string = heap.class_of()[1_000_000];
    let tree = class_paths(&heap, &[string], &QUESTION);
    let expected = [
        "0 /globals: 0 of 1, 16",
        "1 /module Main: 0 of 1, 16",
        "2 /field 2 of Main: 0 of 1, 16",
        "3 /tag 0, 2 fields+: 0 of 1, 16",
        "4 field 1/string: 1 of 1, 16",
    ];
    assert_eq!(lines(&tree.rows, 0), expected);
    let cells = class_paths(&heap, &[heap.class_of()[0]], &QUESTION);
    assert_eq!(lines(&cells.rows, 0)[3], "3 /tag 0, 2 fields+: 1000000 of 1000000, 24000000");
}

#[test]
fn blocks_of_one_row_can_be_listed() {
    // Three cells of one array, the second of which holds more than the others; their strings have the same
    // shape, too.
    let cell = |to: u32| Block(1, vec![To(to)]);
    let array = Block(0, (0..12).map(|n| To(1 + n % 3)).collect());
    let blocks = [array, cell(4), cell(5), cell(6), Text(3), Text(900), Text(3), Text(3)];
    let heap = heap(&blocks, &modules(&["Main"], &[(0, 0, 0), (0, 1, 7)]));
    let string = heap.class_of()[4];
    let asked = |node: u32, limit: usize| {
        let question = PathsShape { members_of: Some(node), limit, ..QUESTION };
        let members = class_paths(&heap, &[string], &question).members?;
        let rows: Vec<u32> = members.rows.iter().map(|row| row.node).collect();
        Some((members.count, rows))
    };
    assert_eq!(asked(1, 0), Some((3, vec![2, 1, 3])), "what leads there");
    assert_eq!(asked(6, 2), Some((3, vec![5, 4])), "what it leads to, as many as were asked for");
    assert_eq!(asked(7, 10), Some((1, vec![7])), "held otherwise: not one of the others");
    let rows = class_paths(&heap, &[string], &QUESTION).rows;
    let array = &rows[0].rows[0].rows[0].rows[0];
    assert_eq!((array.nodes, array.rows[0].nodes), (1, 3), "{rows:?}");
    assert_eq!((asked(heap.root(), 10), asked(u32::MAX, 10)), (None, None), "no row has them");
    assert!(class_paths(&heap, &[string], &QUESTION).members.is_none());
}

#[test]
fn stacks_of_continuations_and_data_of_ephemerons_are_steps() {
    let mut tables = modules(&["Main"], &[(0, 0, 0), (0, 1, 1)]);
    let held = vec![StackValue { frame: None, slot: 8, target: Pointer::to(BlockId(2)) }];
    let first_frame = FrameId(0);
    tables.continuations = vec![Continuation { block: BlockId(0), first_frame, frames: 0, held }];
    let data = WeakSlot::Block(Pointer::to(BlockId(3)));
    tables.ephemerons = vec![Ephemeron { block: BlockId(1), data, keys: Vec::new() }];
    let blocks = [Opaque(tag::CONTINUATION, 1), Opaque(tag::ABSTRACT, 3), Text(1), Text(2)];
    let heap = heap(&blocks, &tables);
    assert_eq!(steps(&heap, 2)[0][2], "stack/string of 1 byte x1");
    assert_eq!(steps(&heap, 3)[0][2], "data/string of 2 bytes x1");
    let tree = class_paths(&heap, &[heap.class_of()[2]], &QUESTION);
    let lines = lines(&tree.rows, 0);
    assert!(lines.contains(&"4 stack/string: 1 of 1, 16".to_owned()), "{lines:?}");
    assert!(lines.contains(&"4 data/string: 1 of 1, 16".to_owned()), "{lines:?}");
}

#[test]
fn unreachable_block_has_no_path() {
    let blocks: [Made; 2] = [Text(1), Block(0, vec![To(1)])];
    let lost = heap(&blocks, &Tables::default());
    assert_eq!(paths(&lost, 0).roots, 0);
    assert_eq!(paths(&lost, 1).roots, 0);
    let tree = class_paths(&lost, &[0, 1, 2, 77], &QUESTION);
    assert_eq!((tree.blocks, tree.unreached, tree.rows.len()), (2, 2, 0));
    let empty = heap(&[], &Tables::default());
    assert_eq!(class_paths(&empty, &[0], &QUESTION).blocks, 0);
    assert_eq!(paths(&empty, empty.root()).roots, 1);
}
