//! The sizes of roots.

use bactrian_analysis::heap::{RootRow, RootsShape, first_roots, roots};
use bactrian_snapshot::Tables;

use super::written::{Block, Made, Text, To, heap, modules};

/// Main holds a list of two records that List holds too: `shared` blocks of 16 bytes.
fn shared() -> (Vec<Made>, Tables) {
    let blocks = vec![
        Block(0, vec![To(2), To(3)]), // 0: Main's
        Block(0, vec![To(3)]),        // 1: List's
        Text(1),                      // 2
        Block(0, vec![To(4)]),        // 3: of both
        Text(1),                      // 4
    ];
    (blocks, modules(&["Main", "List"], &[(0, 0, 0), (0, 1, 0), (1, 5, 1)]))
}

fn line(row: &RootRow) -> (String, u64, u64, u64, f64) {
    (row.name.clone(), row.shallow, row.reachable, row.retained, row.share)
}

#[test]
fn shared_blocks_are_reachable_from_all_and_retained_by_none() {
    let (blocks, tables) = shared();
    let answer = roots(&heap(&blocks, &tables), &RootsShape { depth: 3, limit: 0 });
    assert_eq!(answer.unreached_blocks, 0);
    let all = 8 * (3 + 2 + 2 + 2 + 2);
    assert_eq!(line(&answer.all), ("all roots".into(), 40, all, all, all as f64));
    let [globals] = &answer.all.rows[..] else { panic!("one kind") };
    assert_eq!(globals.retained, all);
    let [main, list] = &globals.rows[..] else { panic!("two modules") };
    // Blocks 3 and 4 belong half to Main and half to List.
    assert_eq!(line(main), ("Main".into(), 24, 72, 40, 56.0));
    assert_eq!(line(list), ("List".into(), 16, 48, 16, 32.0));
    // Two fields with the same value share it.
    let [first, second] = &main.rows[..] else { panic!("two fields") };
    assert_eq!(line(first), ("field 0".into(), 24, 72, 0, 28.0));
    assert_eq!(line(second), ("field 1".into(), 24, 72, 0, 28.0));
}

#[test]
fn first_roots_list_shallow_sizes() {
    let (blocks, tables) = shared();
    let all = first_roots(&heap(&blocks, &tables), 1);
    let [globals] = &all.rows[..] else { panic!("one kind") };
    let [main] = &globals.rows[..] else { panic!("the larger of two modules") };
    assert_eq!((all.shallow, globals.shallow), (40, 40));
    assert_eq!((&*main.name, main.shallow, main.rows.len()), ("Main", 24, 0));
}

#[test]
fn omitted_rows_are_counted() {
    let (blocks, tables) = shared();
    let heap = heap(&blocks, &tables);
    let answer = roots(&heap, &RootsShape { depth: 2, limit: 1 });
    let globals = &answer.all.rows[0];
    assert_eq!((globals.rows.len(), globals.left_out.rows), (1, 1));
    assert_eq!((globals.left_out.retained, globals.left_out.share), (16, 32.0));
    assert_eq!((globals.rows[0].rows.len(), globals.rows[0].left_out.rows), (0, 2));
    // A second question with larger limits lists more.
    let more = roots(&heap, &RootsShape { depth: 3, limit: 0 });
    assert_eq!(more.all.rows[0].rows.len(), 2);
    assert_eq!(more.all.rows[0].rows[1].reachable, 48);
}

#[test]
fn many_blocks_are_reached_in_one_pass() {
    // A list that is too long to be followed block by block, held by two modules.
    let count = 20_000;
    let mut blocks: Vec<_> = (1..count).map(|next| Block(0, vec![To(next)])).collect();
    blocks.push(Text(1));
    let tables = modules(&["A", "B"], &[(0, 0, 0), (1, 0, 10_000)]);
    let answer = roots(&heap(&blocks, &tables), &RootsShape { depth: 2, limit: 0 });
    let [a, b] = &answer.all.rows[0].rows[..] else { panic!("two modules") };
    assert_eq!((a.reachable, a.retained), (320_000, 160_000));
    assert_eq!((b.reachable, b.retained), (160_000, 0));
}

#[test]
fn a_heap_without_roots_says_so() {
    let (blocks, _) = shared();
    let answer = roots(&heap(&blocks, &Tables::default()), &RootsShape { depth: 3, limit: 0 });
    assert_eq!((answer.unreached_blocks, answer.all.reachable), (5, 0));
    assert!(answer.all.rows.is_empty());
}
