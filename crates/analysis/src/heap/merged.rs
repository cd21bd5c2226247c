//! The tree of dominators, merged: below each entry, all blocks of a class that it alone holds are one entry. Blocks
//! that are held by others of their class, directly or through others, belong to the same entry as these. So a list of
//! a million cells is one entry, a tree whose nodes and leaves alternate is two, and a heap of any size can be drawn.
//!
//! Entries that hold little, or are deep down, are not told apart: what they hold is summed up in one entry of the
//! kind [`MergedKind::Rest`] below their parent, so that nothing is lost.

use std::collections::HashMap;

use bactrian_graph::{NONE, Node, Tree};
use serde::Serialize;

use super::{Class, Heap};

/// How much of the tree is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergedLimits {
    /// Entries that hold less than this share of all words are not told apart.
    pub min_share: f64,
    /// Nor are those with so many entries above them.
    pub depth: u32,
}

/// What the blocks of an entry have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergedKind {
    /// It is one holder, by its node.
    Holder(Node),
    /// They are of one class, by its number, and held alone by those of the parent.
    Class(u32),
    /// They are of all kinds, and not told apart.
    Rest,
}

/// A part of the merged tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// The place of the entry above it, which comes before it; none for the root of all.
    pub parent: Option<usize>,
    /// What it is.
    pub kind: MergedKind,
    /// How many blocks it has itself.
    pub own_blocks: u64,
    /// How many words they have with their headers.
    pub own_words: u64,
    /// How many blocks would be gone if its own were: those below it, and its own.
    pub blocks: u64,
    /// How many words these have.
    pub words: u64,
}

/// The merged tree. Parents come before their children, and all below an entry before what is beside it. Entries with
/// one parent are in order of what they hold, the largest first and the rest last.
pub fn merged_dominators(heap: &Heap, limits: &MergedLimits) -> Vec<Merged> {
    let Merging { entries, sums } = Merging::of(heap);
    let parents: Vec<Node> = entries.iter().map(|entry| entry.parent).collect();
    let children = Tree::of(&parents);
    let least = limits.min_share * heap.reached_words() as f64;
    let mut all: Vec<Merged> = Vec::new();
    // What is to be told, with the place of its parent and its depth.
    let mut waiting = vec![(Told::Entry(0), None, 0)];
    while let Some((told, parent, depth)) = waiting.pop() {
        let place = all.len();
        let entry = match told {
            Told::Entry(entry) => entry,
            Told::Rest(sum) => {
                all.push(Merged::new(parent, MergedKind::Rest, sum, sum));
                continue;
            }
        };
        let Entry { kind, own, .. } = entries[entry];
        all.push(Merged::new(parent, kind, own, sums[entry]));
        let mut rest = Sum::default();
        let mut wanted = Vec::new();
        for child in children.children(entry as Node).iter().map(|&child| child as usize) {
            match depth + 1 < limits.depth && sums[child].words as f64 >= least {
                true => wanted.push(child),
                false => rest.add(sums[child]),
            }
        }
        // The last is told first.
        wanted.sort_by_key(|&child| sums[child].words);
        let wanted = wanted.into_iter().map(Told::Entry);
        let rest = (rest != Sum::default()).then_some(Told::Rest(rest));
        waiting.extend(rest.into_iter().chain(wanted).map(|told| (told, Some(place), depth + 1)));
    }
    all
}

enum Told {
    Entry(usize),
    Rest(Sum),
}

/// Blocks and their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    blocks: u64,
    words: u64,
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
struct Entry {
    parent: Node,
    kind: MergedKind,
    own: Sum,
}

/// All entries, those above before those below, with what each holds.
struct Merging {
    entries: Vec<Entry>,
    sums: Vec<Sum>,
}

impl Merging {
    fn of(heap: &Heap) -> Merging {
        let tree = Tree::of(&heap.dominators().parent);
        let root = heap.root();
        let own = Sum::default();
        let mut entries = vec![Entry { parent: NONE, kind: MergedKind::Holder(root), own }];
        // Where blocks of a class that are held by an entry belong: below it, or to an entry of that class above it.
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        let mut waiting = vec![(root, 0)];
        while let Some((node, entry)) = waiting.pop() {
            let is_block = (node as usize) < heap.blocks();
            let words = heap.weights().get(node as usize).copied().unwrap_or(0);
            let sum = Sum { blocks: u64::from(is_block), words: u64::from(words) };
            entries[entry as usize].own.add(sum);
            for &child in tree.children(node) {
                if child as usize >= heap.blocks() {
                    let kind = MergedKind::Holder(child);
                    entries.push(Entry { parent: entry, kind, own });
                    waiting.push((child, entries.len() as u32 - 1));
                    continue;
                }
                let class = heap.class_of().get(child as usize).copied().unwrap_or(0);
                let belongs = *known.entry((entry, class)).or_insert_with(|| {
                    let kind = MergedKind::Class(class);
                    above(&entries, entry, kind).unwrap_or_else(|| {
                        entries.push(Entry { parent: entry, kind, own });
                        entries.len() as u32 - 1
                    })
                });
                waiting.push((child, belongs));
            }
        }
        let mut sums: Vec<Sum> = entries.iter().map(|entry| entry.own).collect();
        for entry in (1..entries.len()).rev() {
            let sum = sums[entry];
            sums[entries[entry].parent as usize].add(sum);
        }
        Merging { entries, sums }
    }
}

/// The entry of this kind among an entry and those above it.
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
    /// What an entry of the merged tree is, in words: `module Main`, `closure Main.load (main.ml:12)`.
    pub fn describe_merged(&self, kind: MergedKind) -> String {
        match kind {
            MergedKind::Holder(node) => self.describe(node),
            MergedKind::Class(class) => match self.classes().get(class as usize) {
                Some(Class { name, place: Some(place), .. }) => format!("{name} ({place})"),
                Some(class) => class.name.clone(),
                None => String::new(),
            },
            MergedKind::Rest => "smaller or deeper".to_owned(),
        }
    }
}
