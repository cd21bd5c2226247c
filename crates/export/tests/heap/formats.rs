//! The tiny heap in every format, as text.

use bactrian_export::HeapFormat;

use crate::golden;
use crate::hprof;
use crate::tiny::{BLOCKS, BYTES, exported, tiny};

#[test]
fn hprof_matches_the_golden_file() {
    let read = hprof::read(&exported(&tiny(), HeapFormat::Hprof, false));
    golden::check("tiny.hprof.txt", &read.text);
    // Plus two for the system properties, and one for the thread.
    assert_eq!(read.objects, BLOCKS + 2 + 1);
}

#[test]
fn text_formats_match_the_golden_files() {
    for (format, blocks, name) in [
        (HeapFormat::Heapsnapshot, false, "tiny.heapsnapshot"),
        (HeapFormat::Dot, false, "tiny.dot"),
        (HeapFormat::Json, true, "tiny.heap.json"),
        (HeapFormat::Csv, false, "tiny.heap.classes.csv"),
        (HeapFormat::Csv, true, "tiny.heap.blocks.csv"),
    ] {
        let text = exported(&tiny(), format, blocks);
        golden::check(name, &String::from_utf8(text).expect("it is text"));
    }
}

#[test]
fn json_sums_to_the_whole_heap() {
    let json = exported(&tiny(), HeapFormat::Json, true);
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let sum = |rows: &str, column: &str| -> u64 {
        let rows = json[rows].as_array().expect("it is there").iter();
        rows.map(|row| row[column].as_u64().expect("it is a number")).sum()
    };
    assert_eq!(sum("classes", "bytes"), BYTES);
    assert_eq!(sum("classes", "blocks"), BLOCKS);
    assert_eq!(sum("dominators", "own_bytes"), BYTES);
    assert_eq!(sum("dominators", "own_blocks"), BLOCKS);
    assert_eq!(sum("blocks", "bytes"), BYTES);
    assert_eq!(json["dominators"][0]["bytes"], BYTES);
    assert_eq!(json["bytes_held"], BYTES);
}

/// Small or deep entries are summed up, never dropped.
#[test]
fn merged_tree_sums_up_entries_that_it_hides() {
    use bactrian_analysis::heap::{MergedKind, MergedLimits, merged_dominators};
    let heap = tiny();
    for (min_share, depth) in [(0.0, 100), (0.05, 100), (0.0, 3), (1.0, 1), (0.3, 4)] {
        let entries = merged_dominators(&heap, &MergedLimits { min_share, depth });
        let sum: u64 = entries.iter().map(|entry| entry.own_words).sum();
        assert_eq!(sum * 8, BYTES, "{min_share}, {depth}");
        assert_eq!(entries[0].words * 8, BYTES);
        for (place, entry) in entries.iter().enumerate() {
            let below = entries.iter().filter(|other| other.parent == Some(place));
            let words = below.map(|other| other.words).sum::<u64>() + entry.own_words;
            assert_eq!(words, entry.words);
            let is_rest = entry.kind == MergedKind::Rest;
            assert!(is_rest || entry.words as f64 * 8.0 >= min_share * BYTES as f64);
        }
    }
}
