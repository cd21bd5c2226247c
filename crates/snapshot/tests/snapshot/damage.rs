//! Cut and damaged files: no panic, no disproportionate cost, and the rest is read.

use bactrian_snapshot::*;

use crate::heaps::{Dice, Heap, random, write};
use crate::hostile::{exercise, mend};
use crate::read_back::read;

const ALL: Columns =
    Columns { immediates: true, strings: Some(8), equals: true, continuations: true };

fn sample(count: u32, group: usize) -> (Heap, Vec<u8>) {
    let heap = random(&mut Dice(42), count, ALL);
    let bytes = write(&heap, group).expect("it can be written");
    (heap, bytes)
}

#[test]
fn cut_snapshot_reports_what_is_missing() {
    let (heap, bytes) = sample(120, 30);
    for cut in 0..bytes.len() {
        let left = bytes[..cut].to_vec();
        let Some(losses) = exercise(left.clone()) else {
            assert!(cut < 32, "a file of {cut} bytes is no snapshot");
            continue;
        };
        assert!(losses.is_cut && !losses.sentences().is_empty(), "cut at {cut}");
        let snapshot = Snapshot::from_bytes(left).expect("it could be opened before");
        let sound: u64 = (0..snapshot.groups().len())
            .filter(|&index| whole(&snapshot, index, &heap))
            .map(|index| u64::from(snapshot.groups()[index].blocks))
            .sum();
        assert_eq!(losses.blocks, 120 - sound, "cut at {cut}");
    }
}

/// Whether all of a group can be read. If so, it must be as it was, except for pointers to what is cut off.
fn whole(snapshot: &Snapshot, index: usize, heap: &Heap) -> bool {
    let read = || -> Result<()> {
        let group = snapshot.group(index)?;
        group.fields()?.iter().try_for_each(|field| field.map(|_| ()))?;
        group.closures()?;
        group.customs()?;
        group.strings()?;
        group.equals()?;
        for block in group.blocks() {
            assert_eq!(*block, heap.blocks[block.id.index()].block);
        }
        for field in group.fields()?.iter() {
            let Field { block, index, value } = field?;
            let fields = &heap.blocks[block.index()].fields;
            let (_, expected) = fields[(index - fields[0].0) as usize];
            assert!(value == expected || value == FieldValue::Missing);
        }
        Ok(())
    };
    read().is_ok()
}

#[test]
fn one_damaged_byte_costs_one_section() {
    let (heap, bytes) = sample(120, 30);
    for at in 32..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let losses = exercise(damaged.clone()).expect("its header is sound");
        assert!(!losses.is_clean(), "byte {at}");
        assert!(losses.groups <= 1, "byte {at}: {losses:?}");
        let end = bytes.len() - 28;
        let directory_at =
            u64::from_le_bytes(bytes[end..end + 8].try_into().expect("eight bytes")) as usize;
        if at < directory_at {
            assert!(!losses.is_cut && losses.tables <= 1, "byte {at}: {losses:?}");
        } else {
            // Only the directory is lost, and everything else is found without it.
            let snapshot = Snapshot::from_bytes(damaged).expect("its header is sound");
            assert_eq!(read(&snapshot).expect("all is there"), heap, "byte {at}");
        }
    }
}

/// Issue 5 requires 10,000.
#[test]
fn ten_thousand_mutations_are_survived() {
    let mut dice = Dice(7);
    let (_, bytes) = sample(120, 30);
    for _ in 0..10_000 {
        let mut mutated = bytes.clone();
        for _ in 0..=dice.below(4) {
            mutate(&mut mutated, &mut dice);
        }
        // Half of them with correct checksums, so that they get further.
        if dice.chance(2) {
            mend(&mut mutated);
        }
        exercise(mutated);
    }
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = (dice.roll() % bytes.len() as u64) as usize;
    let end = (at + dice.below(64) as usize).min(bytes.len());
    match dice.roll() % 6 {
        0 | 1 => bytes[at] ^= 1 << (dice.roll() % 8),
        2 => bytes[at] = dice.roll() as u8,
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..end)),
        _ => {
            let piece = bytes[at..end].to_vec();
            let to = (dice.roll() % bytes.len() as u64) as usize;
            bytes.splice(to..to, piece);
        }
    }
}

#[test]
fn files_that_are_no_snapshots_are_rejected() {
    let refused = |bytes: &[u8]| match Snapshot::from_bytes(bytes.to_vec()) {
        Err(error) => error.to_string(),
        Ok(snapshot) => panic!("{snapshot:?}"),
    };
    assert!(refused(b"").contains("it is empty"));
    assert!(refused(b"hello").contains("does not begin as one"));
    assert!(refused(b"\x89HEAP").contains("ends inside its header"));
    let (_, bytes) = sample(3, 3);
    let mut later = bytes.clone();
    later[8] = 9;
    assert!(refused(&later).contains("version 9; this reads version 3"));
    let mut damaged = bytes;
    damaged[13] ^= 1;
    assert!(refused(&damaged).contains("checksum of its header"));
}
