//! The dominator tree by class and by block, and single blocks.

use bactrian_analysis::heap::{
    DominatorRow, DominatorTree, DominatorsLeftOut, DominatorsShape, Found, Heap, MergedKind,
    MergedLimits, ValueLimits, dominators, merged_dominators, show,
};
use bactrian_snapshot::*;

use super::written::{Block, Closure, Int, Made, Text, To, closures, heap, modules};

fn question() -> DominatorsShape {
    DominatorsShape {
        of: None,
        below: Vec::new(),
        by_block: false,
        depth: 20,
        limit: 0,
        min_share: 0.0,
        most_rows: usize::MAX,
    }
}

fn asked(heap: &Heap, question: &DominatorsShape) -> DominatorTree {
    dominators(heap, question).expect("rows that are there")
}

/// Rows as lines: level, name, objects, shallow size, retained size.
fn lines(rows: &[DominatorRow], level: usize) -> Vec<String> {
    let mut all = Vec::new();
    for row in rows {
        let DominatorRow { what, objects, shallow, retained, .. } = row;
        all.push(format!("{level} {what}: {objects}, {shallow}, {retained}"));
        all.extend(lines(&row.rows, level + 1));
    }
    all
}

/// A list of three strings, the last of which Other has too, and a string that both modules have.
fn list() -> (Vec<Made>, Tables) {
    let blocks = vec![
        Block(0, vec![To(3), To(1)]),
        Block(0, vec![To(4), To(2)]),
        Block(0, vec![To(5), Int(0)]),
        Text(3),
        Text(3),
        Text(3),
        Text(20),
    ];
    (blocks, modules(&["Main", "Other"], &[(0, 0, 0), (0, 1, 6), (1, 0, 6), (1, 1, 5)]))
}

#[test]
fn a_list_is_one_row_and_what_is_shared_is_beside_the_roots() {
    let (blocks, tables) = list();
    let heap = heap(&blocks, &tables);
    let tree = asked(&heap, &question());
    assert_eq!(tree.total, 3 * 24 + 3 * 16 + 32);
    let expected = [
        "0 all roots: 0, 0, 152",
        "1 globals: 0, 0, 152",
        "2 module Main: 0, 0, 104",
        "3 field 0 of Main: 0, 0, 104",
        "4 tag 0, 2 fields: 3, 72, 104",
        "5 string: 2, 32, 32",
        "3 field 1 of Main: 0, 0, 0",
        "2 string: 2, 48, 48",
        "2 module Other: 0, 0, 0",
        "3 field 0 of Other: 0, 0, 0",
        "3 field 1 of Other: 0, 0, 0",
    ];
    assert_eq!(lines(&tree.rows, 0), expected);
}

#[test]
fn path_to_a_row_takes_names_and_numbers() {
    let (blocks, tables) = list();
    let heap = heap(&blocks, &tables);
    let below = |path: &[&str]| {
        let below = path.iter().map(|&name| name.to_owned()).collect();
        dominators(&heap, &DominatorsShape { below, ..question() })
    };
    let main = heap.find_node("Main").expect("a module");
    let path = ["globals", &format!("@{main}"), "field 0 of Main", "tag 0, 2 fields"];
    let tree = below(&path).expect("it is there");
    assert_eq!(tree.total, 3 * 24 + 3 * 16 + 32);
    assert_eq!(lines(&tree.rows, 0), ["0 tag 0, 2 fields: 3, 72, 104", "1 string: 2, 32, 32"]);
    let error = below(&["globals", "nobody"]).expect_err("nobody is there").to_string();
    assert!(error.contains("globals > nobody"), "{error}");
}

#[test]
fn single_blocks_are_rows_on_request() {
    let (blocks, tables) = list();
    let heap = heap(&blocks, &tables);
    let of = Some(Found::Node(0));
    let tree = asked(&heap, &DominatorsShape { of, by_block: true, limit: 1, ..question() });
    let expected = [
        "0 block of tag 0 with 2 fields: 1, 24, 104",
        "1 block of tag 0 with 2 fields: 1, 24, 64",
        "2 block of tag 0 with 2 fields: 1, 24, 24",
    ];
    assert_eq!(lines(&tree.rows, 0), expected);
    let left_out = tree.rows[0].left_out;
    assert_eq!((left_out.rows, left_out.retained), (1, 16));
}

#[test]
fn class_is_opened_from_its_topmost_blocks() {
    let (blocks, tables) = list();
    let heap = heap(&blocks, &tables);
    let of = heap.find("tag 0, 2 fields").expect("a class");
    let tree = asked(&heap, &DominatorsShape { of: Some(of), ..question() });
    assert_eq!(lines(&tree.rows, 0), ["0 tag 0, 2 fields: 3, 72, 104", "1 string: 2, 32, 32"]);
    let shallow = DominatorsShape { of: heap.find("string").ok(), depth: 1, ..question() };
    assert_eq!(lines(&asked(&heap, &shallow).rows, 0), ["0 string: 4, 80, 80"]);
}

#[test]
fn a_list_of_a_million_is_no_deeper_than_one_of_two() {
    let count = 1_000_000;
    let cell = |n: u32| Block(0, vec![Int(1), if n + 1 < count { To(n + 1) } else { Int(0) }]);
    let blocks: Vec<_> = (0..count).map(cell).collect();
    let bytes = super::written::bytes(&blocks, &modules(&["Main"], &[(0, 0, 0)]), 1 << 16);
    let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
    let heap = Heap::new(snapshot, &mut |_| {}).expect("small");
    let tree = asked(&heap, &question());
    assert_eq!(
        lines(&tree.rows, 0).last().expect("rows"),
        "4 tag 0, 2 fields: 1000000, 24000000, 24000000"
    );
    // Levels are limited, whatever is requested.
    let deep = DominatorsShape { by_block: true, depth: usize::MAX, ..question() };
    assert_eq!(lines(&asked(&heap, &deep).rows, 0).len(), bactrian_analysis::heap::MOST_LEVELS);
}

/// A tree whose nodes have lists of nodes: three nodes with a string each, and all but the last with a list
/// cell.
#[test]
fn alternating_classes_are_one_row_each() {
    let blocks = vec![
        Block(1, vec![To(1), To(2)]),
        Block(0, vec![To(3), Int(0)]),
        Text(3),
        Block(1, vec![To(4), To(5)]),
        Block(0, vec![To(6), Int(0)]),
        Text(3),
        Block(1, vec![Int(0), To(7)]),
        Text(3),
    ];
    let heap = heap(&blocks, &modules(&["Main"], &[(0, 0, 0)]));
    let tree = asked(&heap, &DominatorsShape { of: Some(Found::Node(8)), ..question() });
    // What cells retain apart from themselves is counted with the nodes above them.
    let expected = [
        "0 field 0 of Main: 0, 0, 168",
        "1 tag 1, 2 fields: 3, 72, 168",
        "2 string: 3, 48, 48",
        "2 tag 0, 2 fields: 2, 48, 48",
    ];
    assert_eq!(lines(&tree.rows, 0), expected);
    let of = heap.find("tag 0, 2 fields").ok();
    let tree = asked(&heap, &DominatorsShape { of, ..question() });
    let expected =
        ["0 tag 0, 2 fields: 2, 48, 128", "1 tag 1, 2 fields: 2, 48, 80", "2 string: 2, 32, 32"];
    assert_eq!(lines(&tree.rows, 0), expected);
    // What is too deep is omitted, but not what belongs to a class above.
    let tree = asked(&heap, &DominatorsShape { depth: 4, ..question() });
    let left_out = DominatorsLeftOut { rows: 1, retained: 168 };
    assert_eq!(
        (lines(&tree.rows, 0).len(), tree.rows[0].rows[0].rows[0].rows[0].left_out),
        (4, left_out)
    );
}

/// A chain of blocks with a class each, unlike in any real program, takes no disproportionate time.
#[test]
fn chain_of_a_hundred_thousand_classes_is_fast() {
    let count = 100_000;
    let heap = closures(count);
    let total = u64::from(count) * 32;
    let limits = MergedLimits { min_share: 0.0, depth: 100 };
    let merged = merged_dominators(&heap, &limits);
    assert_eq!((merged.len(), merged[0].words * 8), (101, total));
    assert_eq!(merged[100].kind, MergedKind::Rest);
    let every =
        DominatorsShape { of: heap.find("closure").ok(), limit: 10, depth: 1, ..question() };
    assert_eq!(asked(&heap, &every).rows[0].retained, total);
}

#[test]
fn heap_without_blocks_or_roots_has_a_root_of_all() {
    let empty = heap(&[], &Tables::default());
    let tree = asked(&empty, &question());
    assert_eq!((lines(&tree.rows, 0), tree.total), (vec!["0 all roots: 0, 0, 0".to_owned()], 0));
    let lost = heap(&[Text(1)], &Tables::default());
    assert_eq!(lines(&asked(&lost, &question()).rows, 0).len(), 1);
    let of = Some(Found::Classes(vec![0]));
    let tree = asked(&lost, &DominatorsShape { of, ..question() });
    assert_eq!(lines(&tree.rows, 0), ["0 string: 1, 16, 0"]);
}

#[test]
fn block_is_shown_with_its_fields_and_predecessors() {
    let mut tables = modules(&["Main"], &[(0, 3, 0), (0, 5, 1)]);
    let (function, file) = (tables.names.add("Main.close"), tables.names.add("main.ml"));
    let location = SnapshotLocation { function, file, line: 9, ..SnapshotLocation::default() };
    tables.codes = vec![ClosureCode { address: 64, location }];
    tables.stacks = vec![
        StackNode { caller: None, location: SnapshotLocation { line: 1, ..location } },
        StackNode { caller: Some(StackId(0)), location },
    ];
    let (block, stack, time) = (BlockId(1), Some(StackId(1)), Some(5));
    tables.samples = vec![Sample { block, allocation: 0, samples: 1, stack, time }];
    let name = tables.names.add("Main.table_12");
    tables.labels = vec![Label { block: BlockId(0), name }];
    let pointer = |block: u32| Some(Pointer::to(BlockId(block)));
    let kind = FinaliserKind::First;
    tables.finalisers = vec![Finaliser { kind, value: pointer(1), function: pointer(2) }];
    let blocks = [Block(0, vec![To(1), Int(7), To(1)]), Text(3), Closure(0, vec![To(1)])];
    let heap = heap(&blocks, &tables);

    let shown =
        show(&heap, heap.find_node("Main.table").expect("a symbol"), 2, &ValueLimits::default());
    assert_eq!(shown.this.node, 0);
    assert_eq!(shown.this.what, "block of tag 0 with 3 fields, static Main.table_12");
    assert_eq!((shown.shallow, shown.retained, shown.field_count), (32, 32, 3));
    let what = |field: &bactrian_analysis::heap::FieldLine| match &field.block {
        Some(block) => format!("{} {}", field.place, block.what),
        None => format!("{} {}", field.place, field.value.clone().unwrap_or_default()),
    };
    let fields: Vec<_> = shown.fields.iter().map(what).collect();
    assert_eq!(fields, ["0 string of 3 bytes", "1 immediate"]);

    let shown = show(&heap, 1, 0, &ValueLimits::default());
    // One of them holds it twice.
    assert_eq!((shown.held_by_count, shown.holder_count), (4, 3));
    let holders: Vec<_> = shown.held_by.iter().map(|line| &*line.what).collect();
    let expected = [
        "block of tag 0 with 3 fields, static Main.table_12",
        "closure Main.close (main.ml:9)",
        "field 5 of Main",
    ];
    assert_eq!(holders, expected);
    assert_eq!(shown.finalisers[0].node, 2);
    let allocation = shown.allocation.expect("it was sampled");
    assert_eq!(allocation.frames, ["Main.close (main.ml:9)", "Main.close (main.ml:1)"]);
    assert_eq!(allocation.age, None);

    let shown = show(&heap, 2, 0, &ValueLimits::default());
    let fields: Vec<_> = shown.fields.iter().map(what).collect();
    assert_eq!(fields, ["code Main.close (main.ml:9)", "2 string of 3 bytes"]);
    let module = show(&heap, heap.find_node("Main").expect("a module"), 0, &ValueLimits::default());
    assert_eq!(module.this.what, "module Main");
    assert_eq!((module.fields.len(), module.retained), (2, 32));
    assert_eq!(
        show(&heap, heap.find_node("Main.3").expect("a field"), 0, &ValueLimits::default())
            .this
            .what,
        "field 3 of Main"
    );
    assert!(heap.find_node("nothing").is_err());
}
