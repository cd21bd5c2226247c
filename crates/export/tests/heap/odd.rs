//! Heaps that are empty, damaged, or larger than the writers' buffers.

use bactrian_export::HeapFormat;
use bactrian_snapshot::*;

use crate::hprof;
use crate::tiny::{self, exported, open};

/// Two arrays of this many words, which point to each other in their first and last fields, and a string of the
/// same length.
fn large(words: u64) -> Vec<u8> {
    let columns = Columns::default();
    let write = || -> Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), columns, 3, &Info::default())?;
        let mut group = GroupBuilder::new(columns)?;
        group.start(BlockId(0));
        for (block, other) in [(0, 1), (1, 2)] {
            group.block(0x1008 + 8 * block * (words + 1), words, 0);
            group.pointer(BlockId(other));
            (2..words).for_each(|_| group.immediate(0));
            group.pointer(BlockId(other));
        }
        group.block(0x1008 + 16 * (words + 1), words, tag::STRING);
        group.string(0, b"");
        writer.group(group.finish()?)?;
        let mut tables = Tables::default();
        tables.modules.push(Module::named(tables.names.add("Main")));
        let kind = RootKind::Global { module: ModuleId(0), field: 0 };
        tables.roots = vec![Root { kind, target: Pointer::to(BlockId(0)) }];
        writer.tables(&tables)?;
        writer.finish()
    };
    write().expect("it can be written")
}

#[test]
fn large_blocks_are_whole() {
    // Below, around and above the size of a segment.
    for words in [3, 1000, 131_068, 131_072, 300_000] {
        let file = exported(&open(large(words)), HeapFormat::Hprof, false);
        let read = hprof::read(&file);
        // Plus two for the system properties.
        assert_eq!(read.objects, 3 + 2, "{words}");
        assert!(read.text.contains(&format!("of {} of type 8", 8 * words - 1)), "{words}");
    }
}

#[test]
fn empty_heaps_can_be_exported() {
    let write = || -> Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), Columns::default(), 0, &Info::default())?;
        writer.tables(&Tables::default())?;
        writer.finish()
    };
    let heap = open(write().expect("it can be written"));
    for &format in HeapFormat::ALL {
        assert!(!exported(&heap, format, true).is_empty(), "{format}");
    }
    hprof::read(&exported(&heap, HeapFormat::Hprof, false));
}

/// Whatever is cut or changed in a snapshot, the rest can be exported as a valid file.
#[test]
fn readable_part_of_damaged_heaps_is_exported() {
    let whole = tiny::bytes();
    let mut tried = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        for bytes in [whole[..at].to_vec(), changed] {
            let Ok(snapshot) = Snapshot::from_bytes(bytes) else { continue };
            let Ok(heap) = bactrian_analysis::heap::Heap::new(snapshot, &mut |_| ()) else {
                continue;
            };
            tried += 1;
            hprof::read(&exported(&heap, HeapFormat::Hprof, false));
            let text = exported(&heap, HeapFormat::Heapsnapshot, false);
            check_heapsnapshot(&serde_json::from_slice(&text).expect("it is JSON"));
            for format in [HeapFormat::Pprof, HeapFormat::Dot, HeapFormat::Csv] {
                exported(&heap, format, true);
            }
            let text = exported(&heap, HeapFormat::Json, true);
            serde_json::from_slice::<serde_json::Value>(&text).expect("it is JSON");
        }
    }
    assert!(tried > 50);
}

/// The counts are those announced, and edges lead to nodes.
fn check_heapsnapshot(json: &serde_json::Value) {
    let numbers = |name: &str| -> Vec<u64> {
        let all = json[name].as_array().expect("it is there").iter();
        all.map(|number| number.as_u64().expect("it is a number")).collect()
    };
    let (nodes, edges) = (numbers("nodes"), numbers("edges"));
    assert_eq!(json["snapshot"]["node_count"], nodes.len() / 7);
    assert_eq!(json["snapshot"]["edge_count"], edges.len() / 3);
    let counted: u64 = nodes.chunks(7).map(|node| node[4]).sum();
    assert_eq!(counted, edges.len() as u64 / 3);
    assert!(edges.chunks(3).all(|edge| edge[2] % 7 == 0 && edge[2] < nodes.len() as u64));
    let strings = json["strings"].as_array().expect("it is there").len() as u64;
    assert!(nodes.chunks(7).all(|node| node[1] < strings && node[0] < 13));
}
