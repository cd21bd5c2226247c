//! The index of a snapshot affects only how long an answer takes, whatever it contains.

#[path = "../../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[path = "../../../snapshot/tests/snapshot/hostile.rs"]
#[expect(dead_code, reason = "only its way past checksums is used here")]
mod snapshot_hostile;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bactrian_analysis::heap::{
    ClassBy, Heap, IndexStore, OpenOptions, RootsShape, classes, roots, summary,
};
use bactrian_snapshot::Columns;
use heaps::Dice;

use super::hostile;

/// The answers to all questions about a heap, as one text.
fn answers(heap: &Heap) -> String {
    let roots = roots(heap, &RootsShape { depth: 3, limit: 0 });
    let by = [ClassBy::Type, ClassBy::Tag, ClassBy::Site].map(|by| classes(heap, by));
    let described: Vec<_> = (0..=heap.root()).map(|node| heap.describe(node)).collect();
    let back = heap.reversed();
    format!(
        "{roots:?}\n{:?}\n{by:?}\n{described:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?} {:?}\n{:?} {:?}",
        summary(heap),
        (&*heap.dominators().parent, &*heap.dominators().retained),
        (&*heap.components().of, heap.components().count),
        heap.shares(),
        heap.shortest(),
        heap.graph().offsets(),
        heap.graph().targets(),
        back.offsets(),
        back.targets(),
    )
}

fn open(path: &Path, index: bool) -> Heap {
    let options = OpenOptions { indexes: index.then(|| hostile::indexes(path)), types: None };
    Heap::open(path, &options, &mut |_| {}).expect("a snapshot")
}

/// The only index beside a snapshot.
fn index_of(path: &Path) -> PathBuf {
    hostile::index_of(path).expect("an index")
}

fn has_index(path: &Path) -> bool {
    hostile::index_of(path).is_some()
}

/// A snapshot in its own directory, and the expected answers.
fn made(seed: u64, blocks: u32) -> (tempfile::TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("a.heap");
    let columns = Columns { continuations: seed.is_multiple_of(2), ..Columns::default() };
    let heap = heaps::random(&mut Dice(seed), blocks, columns);
    fs::write(&path, heaps::write(&heap, 50).expect("a sound heap")).expect("room");
    let expected = answers(&open(&path, false));
    assert!(!has_index(&path));
    (folder, path, expected)
}

#[test]
fn answers_are_the_same_with_and_without_an_index() {
    for seed in 0..60 {
        let (_folder, path, expected) = made(seed, (seed * seed % 300) as u32);
        let first = open(&path, true);
        assert!(answers(&first) == expected, "seed {seed}, first");
        first.keep();
        let kept = fs::read(index_of(&path)).expect("an index");
        let second = open(&path, true);
        assert!(answers(&second) == expected, "seed {seed}, second");
        second.keep();
        // There was nothing new to save.
        assert_eq!(fs::read(index_of(&path)).expect("an index"), kept, "seed {seed}");
        let mode = index_of(&path).metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn saved_results_survive_further_questions() {
    let (_folder, path, expected) = made(7, 200);
    let heap = open(&path, true);
    heap.shortest();
    heap.keep();
    let small = index_of(&path).metadata().expect("an index").len();
    let heap = open(&path, true);
    roots(&heap, &RootsShape { depth: 1, limit: 1 });
    heap.keep();
    assert!(index_of(&path).metadata().expect("an index").len() > small);
    let heap = open(&path, true);
    assert!(answers(&heap) == expected);
}

#[test]
fn any_damage_to_an_index_is_detected() {
    let (_folder, path, expected) = made(3, 120);
    let heap = open(&path, true);
    answers(&heap);
    heap.keep();
    let index = fs::read(index_of(&path)).expect("an index");
    let mut dice = Dice(1);
    let check = |bytes: &[u8], what: &str| {
        fs::write(index_of(&path), bytes).expect("room");
        let heap = open(&path, true);
        assert!(answers(&heap) == expected, "{what}");
        heap.keep();
        let heap = open(&path, true);
        assert!(answers(&heap) == expected, "{what}, kept again");
    };
    for round in 0..150 {
        let mut damaged = index.clone();
        let at = (dice.roll() % index.len() as u64) as usize;
        damaged[at] ^= 1 << (dice.roll() % 8);
        check(&damaged, &format!("round {round}, byte {at}"));
    }
    for length in [0, 1, 63, 64, 100, index.len() / 2, index.len() - 1] {
        check(&index[..length], &format!("cut to {length}"));
    }
    check(b"something else", "foreign");
}

#[test]
fn an_index_of_another_snapshot_is_not_used() {
    let (_folder, path, _) = made(11, 100);
    let (_other_folder, other, expected) = made(13, 100);
    for path in [&path, &other] {
        let heap = open(path, true);
        heap.shortest();
        heap.keep();
    }
    assert_ne!(index_of(&path).file_name(), index_of(&other).file_name());
    fs::copy(index_of(&path), index_of(&other)).expect("room");
    assert!(answers(&open(&other, true)) == expected);
}

#[test]
fn index_is_found_under_another_path() {
    let (folder, path, expected) = made(17, 100);
    let heap = open(&path, true);
    assert!(answers(&heap) == expected);
    heap.keep();
    let kept = fs::read(index_of(&path)).expect("an index");
    let moved = folder.path().join("b.heap");
    fs::rename(&path, &moved).expect("room");
    let heap = open(&moved, true);
    assert!(answers(&heap) == expected);
    heap.keep();
    // There was nothing new to save, and there is still one index.
    assert_eq!(fs::read(index_of(&moved)).expect("an index"), kept);
}

/// Two snapshots of the same length with the same groups, which differ in one pointer.
#[test]
fn replaced_snapshot_is_detected() {
    use super::written::{Block, Text, To, bytes, modules};
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("a.heap");
    let snapshot =
        |to| bytes(&[Block(0, vec![To(to)]), Text(1), Text(1)], &modules(&["M"], &[(0, 0, 0)]), 9);
    let (one, other) = (snapshot(1), snapshot(2));
    assert_eq!(one.len(), other.len());
    fs::write(&path, one).expect("room");
    let heap = open(&path, true);
    assert_eq!(heap.dominators().parent[1], 0);
    heap.keep();
    fs::write(&path, other).expect("room");
    assert_eq!(open(&path, true).dominators().parent[2], 0);
}

/// The checksums in its headers are those of the intact file.
#[test]
fn index_is_not_used_for_a_damaged_copy() {
    let (_folder, path, expected) = made(19, 100);
    let heap = open(&path, true);
    assert!(answers(&heap) == expected);
    heap.keep();
    let sound = fs::read(&path).expect("a snapshot");
    let mut seen = 0;
    for at in (0..sound.len()).step_by(97) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).expect("room");
        let without = Heap::open(&path, &OpenOptions::default(), &mut |_| {});
        let Ok(without) = without else { continue };
        let heap = open(&path, true);
        assert_eq!(heap.losses(), without.losses(), "byte {at}");
        seen += usize::from(!heap.losses().is_clean());
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn no_index_is_written_where_it_must_not_be() {
    // Of a truncated snapshot.
    let (_folder, path, _) = made(5, 200);
    let bytes = fs::read(&path).expect("a snapshot");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("room");
    let heap = open(&path, true);
    answers(&heap);
    heap.keep();
    assert!(!has_index(&path));
    // In the place of something that is not a file.
    let (_folder, path, expected) = made(6, 50);
    let heap = open(&path, true);
    heap.keep();
    let index = index_of(&path);
    fs::remove_file(&index).expect("it is there");
    fs::create_dir(&index).expect("room");
    let heap = open(&path, true);
    assert!(answers(&heap) == expected);
    heap.keep();
    assert_eq!(index_of(&path), index);
    assert!(index.is_dir());
    // Beside the snapshot, or where there is not enough space.
    let (_folder, path, expected) = made(8, 50);
    let small = IndexStore::new(path.with_file_name("indexes"), 99);
    let options = OpenOptions { indexes: Some(small), types: None };
    let heap = Heap::open(&path, &options, &mut |_| {}).expect("a snapshot");
    assert!(answers(&heap) == expected);
    heap.keep();
    assert!(!has_index(&path));
    assert!(!path.with_extension("heap.index").exists());
}

/// Checksums protect against accidents, not against deliberate changes.
#[test]
fn manipulated_index_does_no_harm() {
    let (_folder, path, _) = made(3, 40);
    let heap = open(&path, true);
    answers(&heap);
    heap.keep();
    let index = fs::read(index_of(&path)).expect("an index");
    let mut dice = Dice(2);
    for _ in 0..400 {
        let mut lie = index.clone();
        for _ in 0..=dice.below(8) {
            // Whole words, small and large: single bit flips would hardly hit anything that matters.
            let at = (dice.roll() % (lie.len() as u64 / 4)) as usize * 4;
            let number = match dice.below(4) {
                0 => u32::MAX,
                1 => dice.roll() as u32,
                _ => dice.below(70) as u32,
            };
            lie[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        hostile::mend_index(&mut lie, &index);
        hostile::exercise_index(&path, &lie);
    }
}

/// Snapshots with damage that their own checksums do not detect.
#[test]
fn any_snapshot_can_be_queried() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let blocks = dice.below(60) as u32;
        let heap = heaps::random(&mut dice, blocks, Columns::default());
        let mut bytes = heaps::write(&heap, 20).expect("a sound heap");
        for _ in 0..3 {
            let at = 32 + dice.roll() as usize % (bytes.len() - 32);
            bytes[at] = dice.roll() as u8;
        }
        snapshot_hostile::mend(&mut bytes);
        let Ok(snapshot) = bactrian_snapshot::Snapshot::from_bytes(bytes) else { continue };
        hostile::ask_everything(&Heap::new(snapshot, &mut |_| {}).expect("small"));
    }
}
