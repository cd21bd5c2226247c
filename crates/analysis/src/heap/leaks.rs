//! The three-snapshot technique: blocks that are new between the first and the second snapshot and still
//! exist in the third.
//!
//! What a program allocates for one round of its work should be gone after the next: what still exists then is mostly
//! leaked. Blocks are matched as in a diff: by address, class and size.

use std::collections::HashMap;

use bactrian_graph::{NONE, Node};
use bactrian_snapshot::SnapshotLocation;
use schemars::JsonSchema;
use serde::Serialize;

use super::diff::{Blocks, ClassNumbers, Origin};
use super::{Counted, Heap};
use crate::library::place_of;
use crate::sorted_rows::SortRows;

/// Blocks that appeared between the first and the second snapshot and stayed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Leaks {
    /// All of these blocks.
    pub all: Counted,
    /// By class, the largest first.
    pub rows: Vec<LeakRow>,
}

/// Blocks of a class that appeared and stayed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeakRow {
    /// The class.
    pub class: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The root that dominates most of them; null if no single root does.
    pub holder: Option<String>,
    /// Where most of them were allocated, from samples; null if none was sampled.
    pub site: Option<String>,
}

/// Identifies a block; sorted by address.
type Key = (u64, u32, u32);

/// Consecutive snapshots of one process, with one in memory at a time.
#[derive(Default)]
pub struct LeakSearch {
    origin: Option<Origin>,
    not_matched: Option<String>,
    classes: ClassNumbers,
    /// The blocks of the snapshots so far.
    seen: Vec<Vec<Key>>,
}

impl LeakSearch {
    /// Records the blocks of a snapshot.
    pub fn add(&mut self, heap: &Heap) {
        self.check(heap);
        let numbers = self.classes.of(heap);
        let mut blocks = Blocks::new(heap, &numbers);
        let next = || blocks.next();
        let lasting = std::iter::from_fn(next).filter(|block| !block.is_young && !block.is_static);
        let mut keys: Vec<Key> =
            lasting.map(|block| key(block.address, block.class, block.words)).collect();
        keys.sort_unstable();
        self.seen.push(keys);
    }

    /// The blocks that are missing in the first snapshot, exist in the second, and still exist in this one,
    /// the third.
    ///
    /// # Errors
    /// The reason for which their blocks cannot be compared.
    pub fn finish(mut self, heap: &Heap) -> Result<Leaks, String> {
        self.check(heap);
        if let Some(why) = self.not_matched {
            return Err(why);
        }
        let mut leaks = Leaks { all: Counted::default(), rows: Vec::new() };
        let numbers = self.classes.of(heap);
        let has = |keys: Option<&Vec<Key>>, key: &Key| {
            keys.is_some_and(|keys| keys.binary_search(key).is_ok())
        };
        let mut stayed: HashMap<u32, Vec<Node>> = HashMap::new();
        let mut blocks = Blocks::new(heap, &numbers);
        while let Some(block) = blocks.next() {
            let key = key(block.address, block.class, block.words);
            if has(self.seen.get(1), &key) && !has(self.seen.first(), &key) {
                leaks.all.add(block.words);
                let class = heap.class_of().get(block.node as usize).copied();
                stayed.entry(class.unwrap_or(u32::MAX)).or_default().push(block.node);
            }
        }
        let roots = roots_above(heap);
        let places = places(heap);
        leaks.rows = stayed
            .into_iter()
            .filter_map(|(class, nodes)| {
                let name = heap.classes().get(class as usize)?.title();
                Some(row(heap, name, &nodes, &roots, &places))
            })
            .collect();
        leaks.rows.sort_rows_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
        Ok(leaks)
    }

    fn check(&mut self, heap: &Heap) {
        let now = Origin::of(heap);
        let why_not = self.origin.as_ref().and_then(|before| before.why_not(&now));
        self.not_matched = self.not_matched.take().or(why_not);
        self.origin = Some(now);
    }
}

fn key(address: u64, class: u32, words: u64) -> Key {
    (address, class, u32::try_from(words).unwrap_or(u32::MAX))
}

fn row(
    heap: &Heap,
    class: String,
    nodes: &[Node],
    roots: &[Node],
    places: &HashMap<u32, SnapshotLocation>,
) -> LeakRow {
    let mut counted = Counted::default();
    let (mut by_root, mut by_place) = (HashMap::new(), HashMap::new());
    for &node in nodes {
        let words = u64::from(heap.weights()[node as usize]);
        counted.add(words);
        if let Some(&root) = roots.get(node as usize).filter(|root| **root != NONE) {
            *by_root.entry(root).or_insert(0_u64) += words;
        }
        if let Some(place) = places.get(&node) {
            *by_place.entry(*place).or_insert(0_u64) += 1;
        }
    }
    let root = by_root.into_iter().max_by_key(|&(root, words)| (words, root));
    let holder = root.filter(|(_, words)| words * super::WORD * 2 >= counted.bytes);
    let key = |place: &SnapshotLocation| (place.line, place.start_char);
    let site = by_place.into_iter().max_by_key(|(place, count)| (*count, key(place)));
    LeakRow {
        class,
        blocks: counted.blocks,
        bytes: counted.bytes,
        holder: holder.map(|(root, _)| heap.describe(root)),
        site: site.and_then(|(place, _)| heap.location(&place)),
    }
}

/// For each block, the nearest root among its dominators; None if only several roots together dominate it.
fn roots_above(heap: &Heap) -> Vec<Node> {
    let parent = &*heap.dominators().parent;
    let mut above = vec![None; heap.blocks()];
    let mut way = Vec::new();
    for node in 0..heap.blocks() as Node {
        let mut at = node;
        // Up to a root or a block with a known root, then back down.
        let root = loop {
            if at == NONE {
                break NONE;
            }
            if let Some(holder) = heap.holders().get(at) {
                break if holder.level > 1 { at } else { NONE };
            }
            match above.get(at as usize) {
                Some(Some(known)) => break *known,
                Some(None) => way.push(at),
                None => break NONE,
            }
            at = parent.get(at as usize).copied().unwrap_or(NONE);
        };
        way.drain(..).for_each(|node| above[node as usize] = Some(root));
    }
    above.into_iter().map(|root| root.unwrap_or(NONE)).collect()
}

/// Allocation sites of sampled blocks.
fn places(heap: &Heap) -> HashMap<u32, SnapshotLocation> {
    let tables = heap.tables();
    let place = |sample: &bactrian_snapshot::Sample| {
        Some((sample.block.0, place_of(tables, sample.stack, false)?))
    };
    tables.samples.iter().filter_map(place).collect()
}
