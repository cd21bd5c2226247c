//! The merged dominator tree: below each entry, all blocks of a class that it alone holds are one entry.
//! Blocks that are held by others of their class, directly or indirectly, belong to the entry of those. So a
//! list of a million cells is one entry, a tree of alternating nodes and leaves is two, and a heap of any
//! size can be drawn.
//!
//! Each block is counted once, in the topmost entry of its class. A lower entry may retain such blocks, too, but does not
//! count them.
//!
//! Entries that retain little, or are too deep, are not listed: they are summed in an entry of the kind
//! [`MergedKind::Rest`] below their parent, so that nothing is lost.

use std::collections::HashMap;

use bactrian_graph::{NONE, Node, Tree, inherit};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Heap, Holder, Holders};
use crate::under_way::check;

/// Stands for the rest below an entry, in place of a class number.
const NO_CLASS: u32 = u32::MAX;

/// Log2 of the size of the cache of recent lookups.
const RECENT: u32 = 14;

/// The requested part of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergedLimits {
    /// Entries that retain less than this fraction of all words go to the rest.
    pub min_share: f64,
    /// So do entries with this many ancestors.
    pub depth: u32,
}

/// What the blocks of an entry have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergedKind {
    /// It is one holder, or the block that the tree begins with, by its node.
    Node(Node),
    /// They are of one class, by its number, and held alone by those of the parent.
    Class(u32),
    /// They are of all kinds, and not told apart.
    Rest,
}

/// A part of the merged tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Merged {
    /// The place of the entry above it, which comes before it; none for the root of all.
    pub parent: Option<usize>,
    /// What it is.
    pub kind: MergedKind,
    /// How many blocks it has itself.
    pub own_blocks: u64,
    /// How many words they have with their headers.
    pub own_words: u64,
    /// How many blocks it has with all entries below it. All of these would be freed with its own, and possibly blocks
    /// that are counted in entries above.
    pub blocks: u64,
    /// How many words these have.
    pub words: u64,
}

/// The merged tree in preorder. Siblings are sorted by retained size, the largest first and the rest last.
pub fn merged_dominators(heap: &Heap, limits: &MergedLimits) -> Vec<Merged> {
    let start = (MergedKind::Node(heap.root()), &[heap.root()][..]);
    let Merging { entries, sums, children } =
        Merging::of(heap, start, limits.depth.saturating_sub(1));
    let least = limits.min_share * heap.reached_words() as f64;
    let mut all: Vec<Merged> = Vec::new();
    // Entries to be listed, with the index of their parent.
    let mut waiting = vec![(MergedRow::Entry(0), None)];
    while let Some((told, parent)) = waiting.pop() {
        let place = all.len();
        let entry = match told {
            MergedRow::Entry(entry) => entry,
            MergedRow::Rest(sum) => {
                all.push(Merged::new(parent, MergedKind::Rest, sum, sum));
                continue;
            }
        };
        let Entry { kind, own, .. } = entries[entry];
        all.push(Merged::new(parent, kind, own, sums[entry]));
        let mut rest = Sum::default();
        let mut wanted = Vec::new();
        for child in children.children(entry as Node).iter().map(|&child| child as usize) {
            let is_told = entries[child].depth < limits.depth
                && entries[child].kind != MergedKind::Rest
                && sums[child].words as f64 >= least;
            match is_told {
                true => wanted.push(child),
                false => rest.add(sums[child]),
            }
        }
        // A stack: the largest must be on top.
        wanted.sort_by_key(|&child| sums[child].words);
        let wanted = wanted.into_iter().map(MergedRow::Entry);
        let rest = (rest != Sum::default()).then_some(MergedRow::Rest(rest));
        waiting.extend(rest.into_iter().chain(wanted).map(|told| (told, Some(place))));
    }
    all
}

enum MergedRow {
    Entry(usize),
    Rest(Sum),
}

/// A number of blocks and words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub blocks: u64,
    pub words: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.blocks += other.blocks;
        self.words += other.words;
    }
}

impl Merged {
    fn new(parent: Option<usize>, kind: MergedKind, own: Sum, all: Sum) -> Merged {
        let (own_blocks, own_words) = (own.blocks, own.words);
        Merged { parent, kind, own_blocks, own_words, blocks: all.blocks, words: all.words }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    parent: Node,
    depth: u32,
    pub kind: MergedKind,
    pub own: Sum,
}

/// All entries, parents before children, with the retained size of each. The first is the root of the tree.
pub(super) struct Merging {
    pub entries: Vec<Entry>,
    pub sums: Vec<Sum>,
    pub children: Tree,
}

impl Merging {
    /// Merges what some nodes dominate, none of which dominates another. Entries with more than `deepest`
    /// ancestors go to the rest.
    pub fn of(heap: &Heap, (kind, start): (MergedKind, &[Node]), deepest: u32) -> Merging {
        let first = Entry { parent: NONE, depth: 0, kind, own: Sum::default() };
        let mut building = Building {
            holders: heap.holders(),
            blocks: heap.blocks(),
            class_of: heap.class_of(),
            weights: heap.weights(),
            entries: vec![first],
            known: HashMap::new(),
            recent: vec![((0, NO_CLASS), 0); 1 << RECENT].into(),
            deepest,
            unchecked: 0,
        };
        start.iter().for_each(|&node| building.add(node, 0));
        if start == [heap.root()] {
            let parent = &heap.dominators().parent;
            inherit(parent, heap.root(), |node, above| building.put(node, above));
        } else {
            let tree = heap.dominator_tree();
            let mut waiting: Vec<(Node, u32)> = start.iter().map(|node| (*node, 0)).collect();
            while let Some((node, entry)) = waiting.pop() {
                let children = tree.children(node).iter();
                waiting.extend(children.map(|&child| (child, building.put(child, entry))));
            }
        }
        let Building { entries, .. } = building;
        let mut sums: Vec<Sum> = entries.iter().map(|entry| entry.own).collect();
        for entry in (1..entries.len()).rev() {
            let sum = sums[entry];
            sums[entries[entry].parent as usize].add(sum);
        }
        // The same, except that it excludes what is unreachable and would not be freed.
        sums[0].words = heap.retained_by(start);
        let parents: Vec<Node> = entries.iter().map(|entry| entry.parent).collect();
        Merging { entries, sums, children: Tree::of(&parents) }
    }
}

struct Building<'a> {
    holders: &'a Holders,
    /// The number of blocks of the heap.
    blocks: usize,
    class_of: &'a [u32],
    weights: &'a [u32],
    entries: Vec<Entry>,
    /// The entry for blocks of a class that are held by an entry: below it, or an ancestor of that class.
    known: HashMap<(u32, u32), u32>,
    /// A direct-mapped cache for `known`, which may have millions of entries.
    recent: Box<[((u32, u32), u32)]>,
    deepest: u32,
    /// The number of nodes since the last check for cancellation.
    unchecked: u32,
}

/// The number of nodes between two checks for cancellation.
const NODES_PER_CHECK: u32 = 1 << 16;

impl Building<'_> {
    /// Assigns a node that is held by an entry to its own entry, and returns that.
    fn put(&mut self, node: Node, held_by: u32) -> u32 {
        let entry = if (node as usize) < self.blocks {
            let class = self.class_of.get(node as usize).copied().unwrap_or(0);
            let mixed = (held_by ^ class.rotate_left(16)).wrapping_mul(0x9E37_79B1);
            let place = (mixed >> (32 - RECENT)) as usize;
            if self.recent[place].0 != (held_by, class) {
                self.recent[place] = ((held_by, class), self.of_class(held_by, class));
            }
            self.recent[place].1
        } else if self.holders.get(node).is_some_and(Holder::is_one_finaliser) {
            // All finalisers with one function are alike.
            held_by
        } else {
            self.below(held_by, MergedKind::Node(node))
        };
        self.add(node, entry);
        entry
    }

    /// Adds a node to an entry.
    fn add(&mut self, node: Node, entry: u32) {
        let is_block = (node as usize) < self.blocks;
        let words = self.weights.get(node as usize).copied().unwrap_or(0);
        let sum = Sum { blocks: u64::from(is_block), words: u64::from(words) };
        self.entries[entry as usize].own.add(sum);
        self.unchecked += 1;
        if self.unchecked == NODES_PER_CHECK {
            self.unchecked = 0;
            check();
        }
    }

    /// The entry for blocks of a class that are held by an entry.
    fn of_class(&mut self, entry: u32, class: u32) -> u32 {
        let kind = MergedKind::Class(class);
        if self.entries[entry as usize].kind == kind {
            return entry;
        }
        if let Some(&known) = self.known.get(&(entry, class)) {
            return known;
        }
        let found = above(&self.entries, entry, kind).unwrap_or_else(|| self.below(entry, kind));
        self.known.insert((entry, class), found);
        found
    }

    /// A new child of an entry, or the rest if it would be too deep. So chains of entries are short for any
    /// heap.
    fn below(&mut self, entry: u32, kind: MergedKind) -> u32 {
        let Entry { depth, kind: of, .. } = self.entries[entry as usize];
        let depth = depth.saturating_add(1);
        let next = self.entries.len() as u32;
        let (kind, place) = match depth > self.deepest {
            _ if of == MergedKind::Rest => return entry,
            true => (MergedKind::Rest, *self.known.entry((entry, NO_CLASS)).or_insert(next)),
            false => (kind, next),
        };
        if place == next {
            self.entries.push(Entry { parent: entry, depth, kind, own: Sum::default() });
        }
        place
    }
}

/// The entry of this kind among an entry and its ancestors.
fn above(entries: &[Entry], mut entry: u32, kind: MergedKind) -> Option<u32> {
    while let Some(this) = entries.get(entry as usize) {
        if this.kind == kind {
            return Some(entry);
        }
        entry = this.parent;
    }
    None
}

impl Heap {
    /// The words that would be freed without some nodes, none of which dominates another.
    pub(super) fn retained_by(&self, nodes: &[Node]) -> u64 {
        nodes.iter().map(|node| self.retained_words(*node)).fold(0, u64::saturating_add)
    }

    /// The description of an entry: `module Main`, `closure Main.load (main.ml:12)`.
    pub fn describe_merged(&self, kind: MergedKind) -> String {
        match kind {
            MergedKind::Node(node) => self.describe(node),
            MergedKind::Class(class) => {
                self.classes().get(class as usize).map_or(String::new(), Class::title)
            }
            MergedKind::Rest => "smaller or deeper".to_owned(),
        }
    }
}
