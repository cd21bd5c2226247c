//! The blocks of a class, one by one and by the values of a field.

use bactrian_analysis::heap::{BlocksShape, Condition, Found, Heap, block_groups, blocks, copies};
use bactrian_snapshot::*;

use super::written::{Block, Int, Text, To, bytes_with, modules};

/// Four requests, each with a path, a number and an answer. Three of the paths are equal.
fn requests() -> Heap {
    let request = |path, number, answer| Block(0, vec![To(path), Int(number), To(answer)]);
    let blocks = [
        request(4, 7, 8),
        request(5, 7, 8),
        request(6, 8, 8),
        request(7, 8, 9),
        Text(20),
        Text(20),
        Text(30),
        Text(20),
        Text(1_000),
        Text(2_000),
    ];
    let roots = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3)];
    let columns =
        Columns { equals: true, immediates: true, continuations: true, ..Columns::default() };
    let tables = modules(&["Main"], &roots);
    let written = bytes_with((columns, &Info::default()), &blocks, &[(5, 4), (7, 4)], &tables, 3);
    Heap::new(Snapshot::from_bytes(written).expect("a snapshot"), &mut |_| {}).expect("small")
}

fn asked(heap: &Heap, conditions: &[&str]) -> std::result::Result<Vec<u32>, String> {
    let Ok(Found::Classes(classes)) = heap.find("tag 0, 3 fields") else { panic!("a class") };
    let parse = |text: &&str| Condition::parse(text).expect("a condition");
    let conditions = conditions.iter().map(parse).collect();
    blocks(heap, &BlocksShape { classes, conditions }).map_err(|error| error.to_string())
}

#[test]
fn blocks_are_selected_by_field_values() {
    let heap = requests();
    assert_eq!(asked(&heap, &[]), Ok(vec![0, 1, 2, 3]));
    assert_eq!(asked(&heap, &["1=8"]), Ok(vec![2, 3]));
    assert_eq!(asked(&heap, &["1=8", "0~20 bytes"]), Ok(vec![3]));
    assert_eq!(asked(&heap, &["1=9"]), Ok(vec![]));
    let why = asked(&heap, &["path=x"]).expect_err("no such field");
    assert!(why.contains("`path`; they have 0, 1, 2"), "{why}");
    assert_eq!(Condition::parse("x"), None);
    assert_eq!(Condition::parse("=x"), None);
    let row = heap.block_row(3);
    assert_eq!((row.node, row.shallow, row.age), (3, 32, None));
    // It alone holds its path and its answer.
    assert_eq!(row.retained, 32 + 32 + 2_016);
}

#[test]
fn equal_strings_are_one_value_without_contents() {
    let heap = requests();
    let groups = block_groups(&heap, &[0, 1, 2, 3], "0").expect("it has the field");
    let told: Vec<_> =
        groups.iter().map(|group| (&*group.value, group.blocks, group.shallow)).collect();
    let expected = [("the string of 20 bytes @4", 3, 96), ("the string of 30 bytes @6", 1, 32)];
    assert_eq!(told, expected);
    let numbers = block_groups(&heap, &[0, 1, 2, 3], "1").expect("it has the field");
    let told: Vec<_> = numbers.iter().map(|group| (&*group.value, group.blocks)).collect();
    assert_eq!(told, [("8", 2), ("7", 2)]);
}

#[test]
fn duplicate_strings_are_counted_among_the_given_blocks() {
    let heap = requests();
    let told = |nodes: &[u32], most| {
        let found = copies(&heap, nodes, most);
        let told = found.into_iter().map(|group| (group.node, group.blocks, group.shallow));
        told.collect::<Vec<_>>()
    };
    // Strings 4, 5 and 7 are equal.
    let strings = [4, 5, 6, 7, 8, 9];
    assert_eq!(told(&strings, 5), [(5, 3, 96)]);
    assert_eq!(told(&strings, 0), []);
    assert_eq!(told(&[4, 6, 7], 5), [(7, 2, 64)], "only those that are asked for count");
    assert_eq!(told(&[5, 7], 5), [(5, 2, 64)], "also without the first");
    assert_eq!(told(&[4, 6], 5), [], "one is none");
}
