//! Blocks by class.

use bactrian_analysis::heap::{ClassBy, ClassRow, ClassTable, classes};
use bactrian_snapshot::{BlockId, Sample, SnapshotLocation, StackId, StackNode, Tables};

use super::written::{Block, Custom, Int, Made, Text, To, heap, modules};

fn numbers(table: &ClassTable) -> Vec<(String, f64, f64, Option<u64>)> {
    let line =
        |row: &ClassRow| (row.label.text(), row.blocks.value, row.shallow.value, row.retained);
    table.rows.iter().map(line).collect()
}

/// A list of three strings, one of them large, and a record that holds it.
fn list() -> Vec<Made> {
    vec![
        Block(1, vec![To(1), Int(3)]),
        Block(0, vec![To(4), To(2)]),
        Block(0, vec![To(5), To(3)]),
        Block(0, vec![To(6), Int(0)]),
        Text(3),
        Text(3),
        Text(90),
    ]
}

#[test]
fn retained_size_of_a_class_counts_each_block_once() {
    let heap = heap(&list(), &modules(&["Main"], &[(0, 0, 0)]));
    let strings = 8.0 * (2.0 + 2.0 + 13.0);
    let all = 8 * (4 * 3 + 17);
    let table = classes(&heap, ClassBy::Type);
    assert!(table.exact && table.note.is_some());
    assert_eq!((table.blocks, table.bytes), (7, all));
    assert_eq!(
        numbers(&table),
        [
            ("string".to_owned(), 3.0, strings, Some(strings as u64)),
            // Cells of the list dominate each other; the first retains everything.
            ("tag 0, 2 fields".to_owned(), 3.0, 72.0, Some(all - 24)),
            ("tag 1, 2 fields".to_owned(), 1.0, 24.0, Some(all)),
        ]
    );
    let tags: Vec<_> =
        numbers(&classes(&heap, ClassBy::Tag)).into_iter().map(|row| row.0).collect();
    assert_eq!(tags, ["tag 252, strings", "tag 0", "tag 1"]);
}

fn with_samples(counts: &[(u32, u32)]) -> Tables {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let file = tables.names.add("main.ml");
    for (line, name) in [(1, "Main.load"), (2, "Main.keep.(fun)")] {
        let function = tables.names.add(name);
        let location = SnapshotLocation { function, file, line, start_char: 2, end_char: 9 };
        tables.stacks.push(StackNode { caller: None, location });
    }
    tables.samples = counts
        .iter()
        .map(|&(block, samples)| Sample {
            block: BlockId(block),
            allocation: 0,
            samples,
            stack: Some(StackId(block % 2)),
            time: None,
        })
        .collect();
    tables
}

#[test]
fn sites_are_estimated_from_samples() {
    let heap = heap(&list(), &with_samples(&[(1, 1), (6, 3)]));
    let table = classes(&heap, ClassBy::Site);
    assert!(!table.exact);
    let rows = numbers(&table);
    let names: Vec<_> = rows.iter().map(|row| &*row.0).collect();
    assert_eq!(names, ["Main.load  main.ml:1:2-9", "Main.keep.(fun)  main.ml:2:2-9"]);
    // Three of four samples.
    assert_eq!(rows[0].2, table.bytes as f64 * 0.75);
    assert!(table.rows[0].shallow.low < rows[0].2 && rows[0].2 < table.rows[0].shallow.high);
    assert_eq!(rows[0].3, None);
    let modules = numbers(&classes(&heap, ClassBy::Module));
    assert_eq!(modules[0].0, "Main");
    assert_eq!(modules[0].2, table.bytes as f64);
    assert_eq!(numbers(&classes(&heap, ClassBy::Function))[1].0, "Main.keep.(fun)");
}

#[test]
fn samples_of_outside_memory_do_not_count() {
    let mut blocks = list();
    blocks[4] = Custom(0, 4096);
    let table = classes(&heap(&blocks, &with_samples(&[(1, 1), (4, 500)])), ClassBy::Function);
    assert_eq!(numbers(&table)[0].0, "Main.keep.(fun)");
    assert_eq!(table.rows.len(), 1);
    // Nor does it imply that the whole heap was sampled.
    let table = classes(&heap(&blocks, &with_samples(&[(4, 500)])), ClassBy::Function);
    assert!(!table.exact && table.rows.is_empty());
}

#[test]
fn sites_are_exact_if_every_word_was_sampled() {
    let every = [(0, 3), (1, 3), (2, 3), (3, 3), (4, 2), (5, 2)];
    let table = classes(&heap(&list(), &with_samples(&every)), ClassBy::Function);
    assert!(table.exact);
    assert_eq!(
        numbers(&table),
        [
            ("[not sampled]".to_owned(), 1.0, 104.0, Some(104)),
            ("Main.keep.(fun)".to_owned(), 3.0, 64.0, Some(208)),
            ("Main.load".to_owned(), 3.0, 64.0, Some(232)),
        ]
    );
}

#[test]
fn without_samples_nothing_is_known_of_sites() {
    let table = classes(&heap(&list(), &modules(&["Main"], &[(0, 0, 0)])), ClassBy::Site);
    assert!(!table.exact && table.rows.is_empty());
    assert!(table.note.expect("a note").contains("no samples"));
}
