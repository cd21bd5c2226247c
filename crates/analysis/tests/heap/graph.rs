//! Nodes, edges and classes of a heap, and the names of nodes.

use bactrian_analysis::heap::{ClassKind, Found, Heap};
use bactrian_snapshot::*;

use super::written::{Block, Closure, Custom, Int, Made, Opaque, Out, Text, To, heap, modules};

fn name_of(heap: &Heap, node: u32) -> String {
    heap.describe(node)
}

/// The nodes held by each holder, by name.
fn holders(heap: &Heap) -> Vec<(String, Vec<u32>)> {
    let all = heap.holders().iter();
    all.map(|holder| (name_of(heap, holder.node), heap.graph().successors(holder.node).to_vec()))
        .collect()
}

#[test]
fn roots_are_a_tree_over_the_blocks() {
    let mut tables = modules(&["Main", "List"], &[(0, 2, 0), (0, 3, 1), (1, 0, 1)]);
    let (function, file) = (tables.names.add("Main.load"), tables.names.add("main.ml"));
    let location = SnapshotLocation { function, file, line: 12, ..SnapshotLocation::default() };
    tables.frames = vec![Frame { location, return_address: 77, is_inlined: false }];
    let thread = Thread {
        number: 0,
        domain: 0,
        system_id: None,
        name: tables.names.add("active"),
        first_frame: FrameId(0),
        frames: 1,
    };
    tables.threads = vec![thread];
    for (slot, block) in [(8, 2), (16, 1)] {
        let kind = RootKind::Stack { thread: ThreadId(0), frame: Some(FrameId(0)), slot };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }
    let heap = heap(&[Text(3), Text(10), Block(0, vec![To(0), Int(1)])], &tables);
    let expected: &[(&str, &[u32])] = &[
        ("field 2 of Main", &[0]),
        ("field 3 of Main", &[1]),
        ("field 0 of List", &[1]),
        ("frame Main.load (main.ml:12) of thread 0, active", &[2, 1]),
        ("module Main", &[3, 4]),
        ("module List", &[5]),
        ("stacks: thread 0, active", &[6]),
        ("globals", &[7, 8]),
        ("stacks", &[9]),
        ("all roots", &[10, 11]),
    ];
    let seen = holders(&heap);
    let seen: Vec<_> = seen.iter().map(|(name, held)| (&**name, &**held)).collect();
    assert_eq!(seen, expected);
    assert_eq!((heap.blocks(), heap.root()), (3, 12));
    assert_eq!(heap.weights(), [2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(heap.dominators().retained[12], 8);
    assert_eq!(heap.unreached(), 0);
    let shares: f64 = [10, 11].iter().map(|&kind| heap.shares()[kind]).sum();
    assert!((shares - 8.0).abs() < 1e-9);
}

#[test]
fn continuations_and_ephemerons_hold_what_the_tables_say() {
    let mut tables = modules(&["Main"], &[(0, 0, 0), (0, 1, 1)]);
    let held = vec![StackValue { frame: None, slot: 8, target: Pointer::to(BlockId(2)) }];
    let first_frame = FrameId(0);
    tables.continuations = vec![Continuation { block: BlockId(0), first_frame, frames: 0, held }];
    let keys = vec![WeakSlot::Block(Pointer::to(BlockId(2)))];
    let data = WeakSlot::Block(Pointer::to(BlockId(3)));
    tables.ephemerons = vec![Ephemeron { block: BlockId(1), data, keys }];
    let blocks = [Opaque(tag::CONTINUATION, 1), Opaque(tag::ABSTRACT, 3), Text(1), Text(2)];
    let heap = heap(&blocks, &tables);
    assert_eq!(heap.graph().successors(0), [2]);
    assert_eq!(heap.graph().successors(1), [3]);
    assert_eq!(heap.class(0).kind, ClassKind::Continuation);
    assert_eq!(heap.class(1).kind, ClassKind::Ephemeron);
    assert_eq!(heap.unreached(), 0);
}

#[test]
fn finalisers_hold_values_that_nothing_else_holds() {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let pointer = |block| Some(Pointer::to(BlockId(block)));
    let finaliser = |kind, value, function| Finaliser { kind, value, function };
    tables.finalisers = vec![
        // Held by Main too.
        finaliser(FinaliserKind::First, pointer(0), pointer(4)),
        // Held by nothing else.
        finaliser(FinaliserKind::First, pointer(1), pointer(4)),
        finaliser(FinaliserKind::Last, pointer(0), pointer(4)),
        finaliser(FinaliserKind::Pending, pointer(2), pointer(4)),
        // Held by its own function: a leak.
        finaliser(FinaliserKind::First, pointer(3), pointer(5)),
    ];
    // The walker lists them as roots too.
    for block in [0, 1, 3, 4, 5] {
        let kind = RootKind::Finaliser { kind: FinaliserKind::First, part: FinaliserPart::Value };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }
    let text = Text(1);
    let blocks = [
        text.clone(),
        text.clone(),
        text.clone(),
        text,
        Closure(0, vec![]),
        Closure(0, vec![To(3)]),
    ];
    let heap = heap(&blocks, &tables);
    let seen: Vec<_> = holders(&heap)
        .into_iter()
        .filter(|(name, _)| name.starts_with("finaliser "))
        .map(|(_, held)| held)
        .collect();
    assert_eq!(seen, [vec![4], vec![4, 1], vec![5], vec![4], vec![2, 4]]);
    assert_eq!(heap.unreached(), 0);
}

#[test]
fn blocks_are_described_and_found() {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let (function, file) = (tables.names.add("Main.load"), tables.names.add("main.ml"));
    let location = SnapshotLocation { function, file, line: 12, ..SnapshotLocation::default() };
    tables.codes = vec![
        ClosureCode { address: 1, location },
        ClosureCode { address: 0x40, location: SnapshotLocation::default() },
    ];
    tables.customs = vec![tables.names.add("_bigarr02")];
    tables.labels = vec![Label { block: BlockId(0), name: tables.names.add("Main.table") }];
    let blocks: [Made; 7] = [
        Block(0, vec![To(1), To(2), To(3), To(4), To(5), To(6), Out]),
        Closure(0, vec![]),
        Closure(1, vec![Int(3)]),
        Custom(0, 4096),
        Text(23),
        Opaque(tag::DOUBLE_ARRAY, 4),
        Block(3, vec![Int(1)]),
    ];
    let heap = heap(&blocks, &tables);
    let described: Vec<_> = (0..7).map(|node| heap.describe(node)).collect();
    assert_eq!(
        described,
        [
            "block of tag 0 with 7 fields, static Main.table",
            "closure Main.load (main.ml:12)",
            "closure of the function at 0x40",
            "custom _bigarr02 that holds 4096 bytes outside",
            "string of 23 bytes",
            "float array of 4 floats",
            "block of tag 3 with 1 field",
        ]
    );
    let address = heap.address(4).expect("a block");
    for (text, found) in [
        (format!("{address:#x}"), Found::Node(4)),
        (format!("{:#x}", address + 9), Found::Node(4)),
        ("@6".to_owned(), Found::Node(6)),
        ("#6".to_owned(), Found::Node(6)),
    ] {
        assert_eq!(heap.find(&text), Ok(found), "{text}");
    }
    let classes = |text: &str| match heap.find(text) {
        Ok(Found::Classes(classes)) => {
            classes.iter().map(|&class| heap.classes()[class as usize].name.clone()).collect()
        }
        _ => Vec::new(),
    };
    assert_eq!(classes("string"), ["string"]);
    assert_eq!(classes("load"), ["closure Main.load"]);
    assert_eq!(classes("closure").len(), 2);
    for wrong in ["0xzz", "0x1", "#99", "#", "", "no such class"] {
        assert!(heap.find(wrong).is_err(), "{wrong}");
    }
    assert_eq!(heap.fields(0).len(), 7);
}

#[test]
fn unusual_heaps_are_handled() {
    let empty = heap(&[], &Tables::default());
    assert_eq!((empty.blocks(), empty.root(), empty.reached_words()), (0, 0, 0));
    let one = heap(&[Block(0, vec![To(0)])], &modules(&[""], &[(0, 0, 0)]));
    assert_eq!((one.blocks(), one.reached_words()), (1, 2));
    assert_eq!(one.describe(2), "module 0 without a name");
    let lost = heap(&[Text(1), Text(1), Text(1)], &Tables::default());
    assert_eq!((lost.unreached(), lost.reached_words()), (3, 0));
}
