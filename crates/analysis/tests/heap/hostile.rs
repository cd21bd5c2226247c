//! A property of any bytes used as an index or a snapshot: all questions are answered. Also used by the fuzz
//! targets.

use std::fs;
use std::path::{Path, PathBuf};

use bactrian_analysis::heap::{
    AroundShape, BlocksShape, ClassBy, DominatorsShape, Found, Heap, IndexStore, OpenOptions,
    PathsShape, RootsShape, Series, ValueLimits, around, block_groups, blocks, class_paths,
    classes, collections, conflicts, dominators, duplicates, fields, finalisers, paths, reduced,
    roots, show, summary, suspects, type_coverage, what_if,
};

/// Asks every question. Returns the size of the answers, so that nothing is optimised away.
pub fn ask_everything(heap: &Heap) -> usize {
    let all = roots(heap, &RootsShape { depth: 3, limit: 0 });
    let by = [ClassBy::Type, ClassBy::Tag, ClassBy::Site].map(|by| classes(heap, by).rows.len());
    let nodes = 0..=heap.root();
    let described: usize =
        nodes.clone().map(|node| heap.describe(node).len() + heap.fields(node).len()).sum();
    // From each node up to the root in both trees: every path ends.
    for parents in [&*heap.dominators().parent, heap.shortest()] {
        for mut node in nodes.clone().take(100) {
            while let Some(&parent) = parents.get(node as usize) {
                node = parent;
            }
        }
    }
    assert!(heap.components().of.len() == heap.graph().nodes());
    assert!(heap.shares().iter().all(|share| share.is_finite()));
    assert!(heap.reversed().edges() == heap.graph().edges());
    ask_who_holds(heap);
    let summary = summary(heap);
    all.all.rows.len() + by.iter().sum::<usize>() + described + summary.uses.len()
}

/// Asks for trees, paths and suspects. Asks only about some single nodes, because each question visits
/// everything.
fn ask_who_holds(heap: &Heap) {
    let everything: Vec<u32> = (0..heap.classes().len() as u32).collect();
    for of in [None, Some(Found::Classes(everything.clone()))] {
        for by_block in [false, true] {
            let (of, below, min_share) = (of.clone(), Vec::new(), 0.0);
            let question = DominatorsShape {
                of,
                below,
                by_block,
                depth: 5,
                limit: 3,
                min_share,
                most_rows: 1000,
            };
            assert!(dominators(heap, &question).is_ok());
        }
    }
    let question =
        PathsShape { depth: 10, limit: 3, min_share: 0.0, most_rows: 1000, members_of: Some(1) };
    assert!(class_paths(heap, &everything, &question).blocks <= heap.blocks() as u64);
    let step = 1 + heap.graph().nodes() / 10;
    for node in (0..heap.root()).step_by(step).chain([heap.root()]) {
        assert_eq!(show(heap, node, 3, &ValueLimits::default()).this.node, node);
        assert_eq!(paths(heap, node).target.node, node);
        let near = around(heap, &AroundShape { centre: node, steps: 3, most: 20 });
        assert!(near.told <= near.near && near.told <= 20);
        assert!(near.edges.iter().all(|edge| edge.from.max(edge.to) < near.nodes.len()));
    }
    let shape = BlocksShape { classes: everything.clone(), conditions: Vec::new() };
    let wanted = blocks(heap, &shape).expect("no field is asked for");
    if let Ok(groups) = block_groups(heap, &wanted, "0") {
        assert!(groups.iter().map(|group| group.blocks).sum::<u64>() <= wanted.len() as u64);
    }
    for cut in ["globals", "stacks", "string", "@0", "tag 0, 2 fields.0", "main.ml:1"] {
        if let Ok(answer) = what_if(heap, &[cut.to_owned()]) {
            assert!(answer.freed.bytes <= answer.total && answer.cuts[0].freed == answer.freed);
        }
    }
    let through = fields(heap, &everything);
    assert!(through.blocks <= heap.blocks() as u64);
    let has_types = heap.coverage().is_some();
    assert_eq!(type_coverage(heap).is_some_and(|known| !known.text().is_empty()), has_types);
    assert_eq!(collections(heap).is_some() && conflicts(heap).is_some(), has_types);
    let found = finalisers(heap);
    assert!(found.leaking <= found.first + found.last);
    let mut series = Series::default();
    series.add_uncompared(heap);
    series.add_uncompared(heap);
    let growth = series.finish();
    assert_eq!(growth.all.change, 0);
    suspects(heap, Some(&growth));
    let copies = duplicates(heap, 5);
    assert!(copies.saved <= copies.bytes && copies.structures.len() <= 5);
    let picture = reduced(heap, 20);
    let places = 0..picture.sets.len();
    let is_placed = |place: usize| places.contains(&place);
    assert!(picture.edges.iter().all(|edge| is_placed(edge.from) && is_placed(edge.to)));
}

/// The tests' index store: a directory beside the snapshot.
pub fn indexes(path: &Path) -> IndexStore {
    IndexStore::new(path.with_file_name("indexes"), u64::MAX)
}

/// The file in it, if there is exactly one.
pub fn index_of(path: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(path.with_file_name("indexes")).ok()?;
    let first = entries.next()?.expect("it can be read").path();
    assert!(entries.next().is_none(), "there is more than one file");
    Some(first)
}

/// Opens the snapshot at `path`, which has an index, with these bytes as the index, and asks everything.
pub fn exercise_index(path: &Path, bytes: &[u8]) {
    fs::write(index_of(path).expect("an index"), bytes).expect("room");
    let options = OpenOptions { indexes: Some(indexes(path)), types: None };
    ask_everything(&Heap::open(path, &options, &mut |_| {}).expect("a snapshot"));
}

/// The number of words in the header, and in an entry of the list of sections that follows it.
const HEADER: usize = 8;
const ENTRY: usize = 4;

/// Repairs the header of an index, like that of `sound` except for the number of sections, and all checksums.
pub fn mend_index(bytes: &mut [u8], sound: &[u8]) {
    let word = |at: usize| 8 * at..8 * (at + 1);
    let number = |bytes: &[u8], at: usize| {
        bytes.get(word(at)).and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
    };
    if bytes.len() < 8 * HEADER {
        return;
    }
    for at in [0, 1, 3, 4, 5, 6] {
        bytes[word(at)].copy_from_slice(&sound[word(at)]);
    }
    let most = (bytes.len() / 8 - HEADER) / ENTRY;
    let count = number(bytes, 2).unwrap_or(0).min(most as u64) as usize;
    bytes[word(2)].copy_from_slice(&(count as u64).to_ne_bytes());
    for section in 0..count {
        let entry = HEADER + section * ENTRY;
        let (Some(start), Some(length)) = (number(bytes, entry + 2), number(bytes, entry + 3))
        else {
            continue;
        };
        let end = start.saturating_add(length).min(usize::MAX as u64) as usize;
        let Some(contents) = bytes.get(start as usize..end) else { continue };
        let sum = u64::from(crc32fast::hash(contents));
        bytes[word(entry + 1)].copy_from_slice(&sum.to_ne_bytes());
    }
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes[..8 * (HEADER - 1)]);
    sum.update(&bytes[8 * HEADER..8 * (HEADER + count * ENTRY)]);
    let sum = u64::from(sum.finalize());
    bytes[word(HEADER - 1)].copy_from_slice(&sum.to_ne_bytes());
}
