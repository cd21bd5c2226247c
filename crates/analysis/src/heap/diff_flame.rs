//! A differential flame graph of two heaps: the merged dominator trees of both, matched by name.
//!
//! Entries are the same if they and all their ancestors have the same names. Addresses do not matter, so
//! heaps of two processes or of two builds can be compared.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, MergedLimits, WORD, merged_dominators};
use crate::labels::LabelId;
use crate::placed::placed;
use crate::stack_tree::{StackId, StackTree};

/// Deeper entries are merged.
const MOST_LEVELS: u32 = 40;

/// Frames with a smaller share in both heaps are omitted.
const MIN_SHARE: f64 = 0.0005;

/// Smaller entries are read from each heap than are shown, because they may be large in the other heap.
const MIN_SHARE_OF_ONE: f64 = MIN_SHARE / 100.0;

/// Retained sizes in two heaps as the frames of a flame graph: parallel lists, depth first, larger frames before smaller ones.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeapDiffFlame {
    /// Labels of frames.
    pub labels: Vec<HolderLabel>,
    /// For each frame, the index of the frame that holds it; the root, which comes first, has its own.
    pub parent: Vec<u32>,
    /// For each frame, the index of its label.
    pub label: Vec<u32>,
    /// For each frame, its retained size in the later heap, in bytes.
    pub total: Vec<u64>,
    /// For each frame, its shallow size in the later heap.
    pub own: Vec<u64>,
    /// For each frame, its number, which is the same in every answer about these heaps.
    pub id: Vec<u32>,
    /// For each frame, the number of frames below it left out because they are small in both heaps.
    pub more: Vec<u32>,
    /// For each frame, `total` in the earlier heap.
    pub before: Vec<u64>,
    /// For each frame, its number of blocks in the later heap.
    pub blocks: Vec<u64>,
    /// For each frame, its shallow size in the earlier heap.
    pub own_before: Vec<u64>,
    /// For each frame, its number of blocks in the earlier heap.
    pub blocks_before: Vec<u64>,
}

/// Label of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HolderLabel {
    /// Its name.
    pub name: String,
}

/// The merged dominator trees of several heaps in one. Heaps are added one after the other, so that only one is in
/// memory at a time.
#[derive(Debug, Default)]
pub struct HolderTrees {
    tree: StackTree,
    names: Vec<String>,
    known: HashMap<String, LabelId>,
}

/// The sizes of one heap at a node of the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    own_words: u64,
    blocks: u64,
    words: u64,
}

/// The sizes of one heap, by node.
#[derive(Debug)]
pub struct HeapSizes(Vec<Sizes>);

impl HeapSizes {
    fn at(&self, stack: StackId) -> Sizes {
        self.0.get(stack.index()).copied().unwrap_or_default()
    }
}

impl HolderTrees {
    /// Adds the tree of a heap.
    pub fn take_in(&mut self, heap: &Heap) -> HeapSizes {
        let limits = MergedLimits { min_share: MIN_SHARE_OF_ONE, depth: MOST_LEVELS };
        let entries = merged_dominators(heap, &limits);
        let mut places: Vec<StackId> = Vec::with_capacity(entries.len());
        let mut sizes: Vec<Sizes> = Vec::new();
        for entry in &entries {
            let place = match entry.parent.and_then(|parent| places.get(parent)) {
                None => StackId::ROOT,
                Some(&holder) => {
                    let label = self.label(heap.describe_merged(entry.kind));
                    self.tree.child(holder, label)
                }
            };
            places.push(place);
            if sizes.len() <= place.index() {
                sizes.resize(place.index() + 1, Sizes::default());
            }
            let sum = &mut sizes[place.index()];
            sum.own_words += entry.own_words;
            sum.blocks += entry.own_blocks;
            sum.words += entry.words;
        }
        HeapSizes(sizes)
    }

    fn label(&mut self, name: String) -> LabelId {
        let next = LabelId::from_index(self.names.len());
        *self.known.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    /// The flame graph of both heaps, without entries that are small in both.
    pub fn compare(&self, before: &HeapSizes, after: &HeapSizes) -> HeapDiffFlame {
        let larger = |stack: StackId| before.at(stack).words.max(after.at(stack).words) as f64;
        let shown = placed(&self.tree, StackId::ROOT, MIN_SHARE, larger);
        let mut labels = vec![HolderLabel { name: "all roots".to_owned() }];
        let mut known: HashMap<LabelId, u32> = HashMap::new();
        let label = shown.iter().map(|frame| match frame.stack {
            StackId::ROOT => 0,
            stack => *known.entry(self.tree.label(stack)).or_insert_with_key(|id| {
                labels.push(HolderLabel { name: self.names[id.index()].clone() });
                labels.len() as u32 - 1
            }),
        });
        let label: Vec<u32> = label.collect();
        let of = |of: &HeapSizes, size: fn(Sizes) -> u64| -> Vec<u64> {
            shown.iter().map(|frame| size(of.at(frame.stack))).collect()
        };
        let total = |sizes: Sizes| sizes.words.saturating_mul(WORD);
        let own = |sizes: Sizes| sizes.own_words.saturating_mul(WORD);
        HeapDiffFlame {
            labels,
            label,
            parent: shown.iter().map(|frame| frame.parent).collect(),
            id: shown.iter().map(|frame| frame.stack.index() as u32).collect(),
            more: shown.iter().map(|frame| frame.more).collect(),
            total: of(after, total),
            before: of(before, total),
            own: of(after, own),
            own_before: of(before, own),
            blocks: of(after, |sizes| sizes.blocks),
            blocks_before: of(before, |sizes| sizes.blocks),
        }
    }
}
