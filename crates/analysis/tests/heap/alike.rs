//! Similar roots are merged: frames at one line, finalisers with one function.

use bactrian_analysis::heap::{
    DominatorsShape, Heap, PathsShape, RootsShape, class_paths, dominators, reduced, roots,
    suspects,
};
use bactrian_snapshot::*;

use super::written::{Closure, Made, Text, To, bytes, heap, modules};

/// Frames of one function at these lines. Each holds its own string, and all hold a common one.
fn recursion(lines: &[u32]) -> Heap {
    let mut tables = modules(&["Main"], &[]);
    let thread = Thread {
        number: 0,
        domain: 0,
        system_id: None,
        name: NameId(0),
        first_frame: FrameId(0),
        frames: lines.len() as u32,
    };
    tables.threads = vec![thread];
    let (function, file) = (tables.names.add("Main.rename"), tables.names.add("main.ml"));
    let mut blocks = vec![Text(80_000)];
    for (&line, frame) in lines.iter().zip(0..) {
        // Every second call in a line is at another character.
        let location =
            SnapshotLocation { function, file, line, start_char: frame % 2, end_char: 9 };
        let return_address = u64::from(line * 16 + frame % 2);
        tables.frames.push(Frame { location, return_address, is_inlined: false });
        let kind = RootKind::Stack { thread: ThreadId(0), frame: Some(FrameId(frame)), slot: 8 };
        for block in [0, blocks.len() as u32] {
            tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
        }
        blocks.push(Text(1_000));
    }
    large(&blocks, &tables)
}

/// This many finalisers with one function, each of which holds a closure and a string.
fn finalisers(count: u32) -> Heap {
    let mut tables = modules(&["Main"], &[]);
    let (function, file) = (tables.names.add("Main.close"), tables.names.add("main.ml"));
    let location = SnapshotLocation { function, file, line: 3, ..SnapshotLocation::default() };
    tables.codes = vec![ClosureCode { address: 64, location }];
    let mut blocks = Vec::new();
    for _ in 0..count {
        let at = blocks.len() as u32;
        blocks.extend([Closure(0, vec![To(at + 1)]), Text(8_000)]);
        let [function, value] = [at, at + 1].map(|block| Some(Pointer::to(BlockId(block))));
        tables.finalisers.push(Finaliser { kind: FinaliserKind::First, value, function });
    }
    large(&blocks, &tables)
}

fn large(blocks: &[Made], tables: &Tables) -> Heap {
    let snapshot = Snapshot::from_bytes(bytes(blocks, tables, 1 << 16)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

/// The names of root rows, with their retained sizes.
fn root_names(heap: &Heap) -> Vec<(String, u64)> {
    let answer = roots(heap, &RootsShape { depth: 3, limit: 10 });
    let mut all = Vec::new();
    let mut waiting = vec![&answer.all];
    while let Some(row) = waiting.pop() {
        all.push((row.name.clone(), row.retained));
        waiting.extend(row.rows.iter().rev());
    }
    all
}

/// The names of the largest rows of the dominator tree, from the top.
fn largest(heap: &Heap) -> Vec<String> {
    let question = DominatorsShape {
        of: None,
        below: Vec::new(),
        by_block: false,
        depth: 20,
        limit: 5,
        min_share: 0.01,
        most_rows: 100,
    };
    let tree = dominators(heap, &question).expect("rows");
    let mut all = Vec::new();
    let mut row = tree.rows.first();
    while let Some(this) = row {
        all.push(this.what.clone());
        row = this.rows.first();
    }
    all
}

#[test]
fn frames_in_one_line_are_one_root() {
    let mut lines = vec![12; 500];
    lines.extend([13; 20]);
    let heap = recursion(&lines);
    let (often, seldom) = ("Main.rename (main.ml:12) × 500", "Main.rename (main.ml:13) × 20");
    let names = root_names(&heap);
    let of = |name: &str| names.iter().find(|(known, _)| known == name).map(|(_, bytes)| *bytes);
    assert_eq!((of(often), of(seldom)), (Some(500 * 1_016), Some(20 * 1_016)), "{names:?}");
    let expected = [
        "all roots",
        "stacks",
        "stacks: thread 0",
        "frames Main.rename (main.ml:12) × 500 of thread 0",
        "string",
    ];
    assert_eq!(largest(&heap), expected);
    let picture = reduced(&heap, 20);
    let is_shown = |set: &str| picture.sets.iter().any(|known| known.what.contains(set));
    assert!(is_shown(often) && is_shown(seldom) && picture.sets.len() <= 5, "{picture:?}");
    let said = suspects(&heap, None);
    assert!(said.iter().any(|one| one.sentence.contains(often)), "{said:?}");
    // A single frame has no count, and frames about which nothing is known are distinguished by address.
    assert!(root_names(&recursion(&[7])).iter().any(|(name, _)| name == "Main.rename (main.ml:7)"));
}

#[test]
fn finalisers_with_one_function_are_one_root() {
    let heap = finalisers(500);
    let name = "Gc.finalise: closure Main.close (main.ml:3) × 500";
    let names = root_names(&heap);
    assert_eq!(names.last().map(|(name, bytes)| (&**name, *bytes)), Some((name, 500 * 8_048)));
    assert_eq!(names.len(), 3, "{names:?}");
    let expected = [
        "all roots",
        "finalisers",
        &format!("finalisers, {name}"),
        "closure Main.close (main.ml:3)",
        "string",
    ];
    assert_eq!(largest(&heap), expected);
    let picture = reduced(&heap, 20);
    let sets: Vec<_> = picture.sets.iter().map(|set| (&*set.what, set.blocks)).collect();
    assert_eq!(sets, [("all roots", 0), (expected[2], 1_000)]);
    let string = heap.class_of()[1];
    let shape =
        PathsShape { depth: 20, limit: 5, min_share: 0.01, most_rows: 100, members_of: None };
    let paths = class_paths(&heap, &[string], &shape);
    let below = &paths.rows[0].rows;
    assert_eq!((below.len(), &*below[0].what, below[0].blocks), (1, expected[2], 500));
}

#[test]
fn path_to_a_class_ends_there_with_any_number_of_levels() {
    // A chain of records that ends in strings, with another string on the way.
    let links = (0..30_u8).map(|tag| {
        super::written::Block(
            tag,
            vec![To(u32::from(tag) + 1), if tag == 20 { To(31) } else { To(30) }],
        )
    });
    let mut blocks: Vec<Made> = links.collect();
    blocks.extend([Text(100), Text(1_000)]);
    let heap = heap(&blocks, &modules(&["Main"], &[(0, 0, 0)]));
    let string = heap.class_of()[31];
    let shape = PathsShape { depth: 3, limit: 5, min_share: 0.0, most_rows: 100, members_of: None };
    let paths = class_paths(&heap, &[string], &shape);
    let field = &paths.rows[0].rows[0].rows[0];
    assert_eq!(field.what, "field 0 of Main");
    let [end] = &field.rows[..] else { panic!("{field:?}") };
    assert!(end.what == "string" && end.here > 0 && end.step.ends_with("steps further"), "{end:?}");
    assert_eq!(end.bytes + field.left_out.bytes, paths.bytes);
}
