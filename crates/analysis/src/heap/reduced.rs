//! A heap reduced until it can be drawn: blocks that reach each other are merged, and so is everything with a
//! single parent. What remains are sets of blocks, each entered through one block. The largest sets are
//! listed, with paths from the roots.
//!
//! Roots are sets of their own: each module and thread, each of their fields and frames, all finalisers with
//! one function. Sibling sets whose entries are of one class are merged.

use std::collections::HashMap;

use bactrian_graph::{Limits, NONE, Node, SetKind, Standing, reduce};
use schemars::JsonSchema;
use serde::Serialize;

use super::graph::times;
use super::{Heap, WORD};

/// The most sets that can be requested: more would take hours to draw, and nobody would read them.
pub const MOST_SETS: usize = 2_000;
/// The most sets listed between the roots and a large set.
const WAY: usize = 6;
/// The fraction of the heap that a set must have to be listed, unless it is on the path to such a set.
const LEAST: f64 = 0.000_5;
/// The most classes listed for a set.
const CLASSES: usize = 3;

/// A heap reduced to a few sets. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReducedHeap {
    /// Size of all reachable blocks.
    pub total: u64,
    /// Number of reachable blocks.
    pub blocks: u64,
    /// Number of all sets.
    pub all: u64,
    /// The sets shown: the root of all first, then the largest, the rest last.
    pub sets: Vec<ReducedSet>,
    /// Pointers between the sets. They form no cycle: no set points to itself, or can be reached from a set that it reaches.
    pub edges: Vec<ReducedEdge>,
}

/// A set of blocks that are reached through one entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReducedSet {
    /// Why it is shown.
    pub kind: ReducedKind,
    /// Its entry: a block or root; null for the rest.
    pub node: Option<Node>,
    /// The address of the entry; null if it is not a block.
    pub address: Option<String>,
    /// A description of the entry.
    pub what: String,
    /// Number of blocks that are the entry together, because they reach each other; usually 1.
    pub entry_blocks: u64,
    /// Number of sets that it stands for, all with entries of the same class; the entry is that of one of them.
    pub alike: u64,
    /// Number of blocks in the set.
    pub blocks: u64,
    /// Their size.
    pub bytes: u64,
    /// Share of that in all reachable blocks.
    pub share: f64,
    /// The most frequent classes in the set.
    pub classes: Vec<ReducedClass>,
}

/// Why a set is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReducedKind {
    /// The root of all.
    Root,
    /// A root or group of roots.
    Holder,
    /// It is one of the largest.
    Large,
    /// It is on a path to one of the largest.
    Way,
    /// All sets that are not shown.
    Rest,
}

/// Blocks of one class in a set.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReducedClass {
    /// The class's name.
    pub name: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Their size.
    pub bytes: u64,
}

/// Pointers from one set to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReducedEdge {
    /// Index of the set that points.
    pub from: usize,
    /// Index of the set that is pointed to.
    pub to: usize,
    /// Number of pointers.
    pub pointers: u64,
    /// Number of sets between the two that are left out; if any are, there may be no direct pointers.
    pub left_out: u64,
}

/// Reduces a heap to about this many sets.
pub fn reduced(heap: &Heap, sets: usize) -> ReducedHeap {
    // Kinds of roots belong to the root of all, because they say little in a picture.
    let standing = |node: Node| match heap.holders().get(node) {
        // Finalisers belong to the holder of their function.
        Some(holder) if holder.level > 1 && !holder.is_one_finaliser() => Standing::Alone,
        Some(_) => Standing::InFamily(NONE),
        None => Standing::InFamily(heap.class_of().get(node as usize).copied().unwrap_or(NONE)),
    };
    let all: u64 = heap.weights().iter().copied().map(u64::from).sum();
    let least = (LEAST * all as f64) as u64;
    let limits = Limits { largest: sets, least, shown: sets.max(2), way: WAY };
    let (graph, components) = (heap.graph(), heap.components());
    let found = reduce(graph, components, heap.root(), heap.weights(), standing, limits);
    let mut classes = Classes { of: vec![HashMap::new(); found.sets.len()] };
    classes.count(heap, &found.of);
    let total: u64 = found.sets.iter().map(|set| set.weight).sum();
    let sets = found.sets.iter().enumerate().map(|(place, set)| {
        let node = Some(set.entry).filter(|&entry| entry != NONE);
        let is_holder = node.is_some_and(|node| heap.holders().get(node).is_some());
        let blocks = classes.of[place].values().map(|(blocks, _)| blocks).sum();
        ReducedSet {
            kind: match set.kind {
                SetKind::Root => ReducedKind::Root,
                _ if is_holder => ReducedKind::Holder,
                SetKind::Large => ReducedKind::Large,
                SetKind::Way => ReducedKind::Way,
                SetKind::Rest => ReducedKind::Rest,
            },
            node,
            address: node.and_then(|node| heap.address(node)).map(|at| format!("{at:#x}")),
            what: match (node, set.alike) {
                (None, _) => "the rest".to_owned(),
                (Some(node), 1) => heap.describe(node),
                (Some(node), alike) => times(heap.class(node).title(), alike),
            },
            entry_blocks: set.entry_nodes,
            alike: set.alike,
            blocks,
            bytes: set.weight.saturating_mul(WORD),
            share: set.weight as f64 / (total as f64).max(1.0),
            classes: classes.largest(heap, place),
        }
    });
    let sets: Vec<_> = sets.collect();
    let edge = |edge: &bactrian_graph::SetEdge| ReducedEdge {
        from: edge.from,
        to: edge.to,
        pointers: edge.edges,
        left_out: edge.left_out,
    };
    ReducedHeap {
        total: total.saturating_mul(WORD),
        blocks: sets.iter().map(|set| set.blocks).sum(),
        all: found.all as u64,
        sets,
        edges: found.edges.iter().map(edge).collect(),
    }
}

/// Blocks and words of each class, by set.
struct Classes {
    of: Vec<HashMap<u32, (u64, u64)>>,
}

impl Classes {
    fn count(&mut self, heap: &Heap, set_of: &[u32]) {
        for (node, &set) in set_of.iter().enumerate().take(heap.blocks()) {
            if let Some(classes) = self.of.get_mut(set as usize) {
                let (blocks, words) = classes.entry(heap.class_of()[node]).or_default();
                *blocks += 1;
                *words += u64::from(heap.weights()[node]);
            }
        }
    }

    fn largest(&self, heap: &Heap, place: usize) -> Vec<ReducedClass> {
        let mut classes: Vec<_> = self.of[place].iter().collect();
        classes.sort_unstable_by_key(|&(class, &(_, words))| (std::cmp::Reverse(words), *class));
        let named = classes.into_iter().take(CLASSES).filter_map(|(&class, &(blocks, words))| {
            let name = heap.classes().get(class as usize)?.name.clone();
            Some(ReducedClass { name, blocks, bytes: words.saturating_mul(WORD) })
        });
        named.collect()
    }
}
