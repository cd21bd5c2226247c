//! Written snapshots read back, block by block and table by table.

use bactrian_snapshot::*;
use proptest::prelude::*;

use crate::heaps::{Dice, Heap, random, write};
use crate::read_back::read;

fn columns() -> impl Strategy<Value = Columns> {
    let strings = proptest::option::of(0_u32..20);
    (any::<bool>(), strings, any::<bool>(), any::<bool>()).prop_map(
        |(immediates, strings, equals, continuations)| Columns {
            immediates,
            strings,
            equals,
            continuations,
        },
    )
}

fn open(heap: &Heap, group: usize) -> Snapshot {
    let bytes = write(heap, group).expect("it can be written");
    Snapshot::from_bytes(bytes).expect("it can be opened")
}

proptest! {
    #[test]
    fn heaps_round_trip(seed: u64, count in 0_u32..600, group in 1_usize..300, columns in columns()) {
        let heap = random(&mut Dice(seed), count, columns);
        let snapshot = open(&heap, group);
        prop_assert_eq!(&read(&snapshot).expect("it can be read"), &heap);
        prop_assert!(snapshot.losses().is_clean(), "{:?}", snapshot.losses());
        let verified = snapshot.verify(&mut |_| {});
        prop_assert!(verified.is_clean(), "{:?}", verified);
        prop_assert_eq!(snapshot.blocks(), u64::from(count));
    }

    #[test]
    fn edges_are_the_pointers_among_fields(seed: u64, count in 1_u32..300, columns in columns()) {
        let heap = random(&mut Dice(seed), count, columns);
        let snapshot = open(&heap, 100);
        let mut edges = Vec::new();
        for index in 0..snapshot.groups().len() {
            let group = snapshot.group(index).expect("the group is sound");
            let fields = group.fields().expect("its columns are sound");
            edges.extend(fields.edges().map(|edge| edge.expect("its fields are sound")));
            let mut each = Vec::new();
            fields.each(|field| each.push(field)).expect("its fields are sound");
            prop_assert!(fields.iter().map(|field| field.expect("sound")).eq(each));
            let strings = group.strings().expect("sound");
            let bytes = strings.iter().map(|text| text.bytes).sum::<u64>();
            prop_assert_eq!(group.string_bytes().expect("sound"), bytes);
        }
        let expected = heap.blocks.iter().flat_map(|known| {
            known.fields.iter().filter_map(|&(field, value)| match value {
                FieldValue::Pointer(to) => Some(Edge { from: known.block.id, field, to }),
                _ => None,
            })
        });
        prop_assert!(edges.iter().copied().eq(expected));
        prop_assert_eq!(snapshot.edges(), edges.len() as u64);
    }

    #[test]
    fn blocks_are_found(seed: u64, count in 1_u32..300) {
        let heap = random(&mut Dice(seed), count, Columns::default());
        let snapshot = open(&heap, 64);
        let mut end = 0;
        for known in &heap.blocks {
            let Block { id, address, words, .. } = known.block;
            prop_assert_eq!(snapshot.block(id).expect("sound"), Some(known.block));
            for inside in [address - 8, address - 1, address + 8 * words - 1] {
                prop_assert_eq!(snapshot.find(inside).expect("sound"), Some(known.block));
            }
            if end < address - 8 {
                prop_assert_eq!(snapshot.find(address - 9).expect("sound"), None);
                prop_assert_eq!(snapshot.find(end).expect("sound"), None);
            }
            end = address + 8 * words;
        }
        prop_assert_eq!(snapshot.find(end).expect("sound"), None);
        prop_assert_eq!(snapshot.find(u64::MAX).expect("sound"), None);
        prop_assert_eq!(snapshot.block(BlockId(count)).expect("sound"), None);
    }
}

#[test]
fn a_file_is_read_piece_by_piece() {
    let heap = random(&mut Dice(1), 1000, Columns::default());
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("one.heap");
    std::fs::write(&path, write(&heap, 100).expect("it can be written")).expect("there is room");
    assert!(is_snapshot_file(&path).expect("it can be read"));
    let snapshot = Snapshot::open(&path).expect("it can be opened");
    assert_eq!(read(&snapshot).expect("it can be read"), heap);
    assert!(matches!(Snapshot::open(folder.path()), Err(SnapshotError::Io(_))));
}

#[test]
fn strings_are_only_kept_when_asked() {
    let heap = random(&mut Dice(5), 500, Columns::default());
    assert!(heap.blocks.iter().any(|known| known.text.is_some()));
    let bytes = write(&heap, 500).expect("it can be written");
    let snapshot = Snapshot::from_bytes(bytes).expect("it can be opened");
    let group = snapshot.group(0).expect("the group is sound");
    assert!(group.strings().expect("sound").iter().all(|text| text.prefix.is_none()));
}

/// Blocks of the largest size that a header can express, at the ends of memory.
#[test]
fn no_size_or_address_is_too_large() {
    let columns = Columns::default();
    let mut builder = GroupBuilder::new(columns).expect("there is memory");
    builder.start(BlockId(0));
    builder.block(8, (1 << 54) - 1, tag::DOUBLE_ARRAY);
    builder.block(16, u64::MAX, tag::ABSTRACT);
    builder.block(u64::MAX - 7, u64::MAX, tag::ABSTRACT);
    let group = builder.finish().expect("it fits together");
    let mut writer = Writer::new(Vec::new(), columns, 3, &Info::default()).expect("memory");
    writer.group(group).expect("memory");
    writer.tables(&Tables::default()).expect("memory");
    let snapshot = Snapshot::from_bytes(writer.finish().expect("memory")).expect("it opens");
    assert!(snapshot.verify(&mut |_| {}).is_clean());
    let blocks = snapshot.group(0).expect("sound").blocks().to_vec();
    assert_eq!(blocks[1].words, u64::MAX);
    assert_eq!(blocks[2].address, u64::MAX - 7);
    assert_eq!(snapshot.find(u64::MAX).expect("sound"), Some(blocks[2]));
}
