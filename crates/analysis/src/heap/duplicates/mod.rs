//! Duplicates: blocks that are equal, including everything reachable from them.
//!
//! Blocks are equal if their kinds, sizes and immediates are equal and their pointers lead to equal blocks,
//! in order, all the way down. Strings, floats and boxed integers are equal if their contents are, which the
//! snapshot records. Blocks in a cycle are equal to nothing, and neither are mutable blocks if types are
//! known. Without types, the saving assumes that the program mutates none of the blocks.

mod changes;
mod keys;
mod sharing;
mod sites;

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::Serialize;

use super::blocks::TOLD;
use super::value::value;
use super::{ClassKind, Heap, WORD};
use crate::labels::Label;
use crate::sorted_rows::SortRows;
use changes::mutable_shapes;
use keys::Keys;
use sharing::{Equals, Fate, Sharing};

pub use sites::DuplicateSite;

/// The most example addresses for each structure.
const EXAMPLES: usize = 3;

/// Structures that exist more than once, and what sharing them would save. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Duplicates {
    /// Number of all reachable blocks that are not static.
    pub blocks: u64,
    /// Size of these blocks.
    pub bytes: u64,
    /// Number of redundant blocks.
    pub saved_blocks: u64,
    /// Size of the redundant blocks.
    pub saved: u64,
    /// Number of blocks that were not compared: objects, lazy values, continuations, custom blocks with memory outside the heap,
    /// and blocks with contents that the snapshot does not have.
    pub left_out: u64,
    /// Number of blocks that were not compared because their types are mutable; null if types are not known.
    pub mutable: Option<u64>,
    /// Whether the snapshot has immediate values; otherwise blocks with immediates are not compared.
    pub immediates_known: bool,
    /// Whether the snapshot can compare contents; otherwise strings and floats are not compared.
    pub contents_known: bool,
    /// Redundant blocks by class, the largest saving first.
    pub classes: Vec<DuplicateClass>,
    /// Allocation sites of redundant blocks, as far as these were sampled; the largest saving first.
    pub sites: Vec<DuplicateSite>,
    /// Whether every word was sampled, so that numbers of sites are exact.
    pub sites_exact: bool,
    /// Number of redundant blocks that were sampled.
    pub sampled_blocks: u64,
    /// The largest structures that exist more than once, by what sharing would save. Parts of a larger structure are not listed
    /// separately.
    pub structures: Vec<DuplicateStructure>,
    /// Number of such structures.
    pub structure_count: u64,
}

/// Redundant blocks of a class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicateClass {
    /// The class's name and location.
    #[serde(flatten)]
    pub label: Label,
    /// The kind of class.
    pub kind: ClassKind,
    /// Number of redundant blocks.
    pub blocks: u64,
    /// Their size.
    pub saved: u64,
}

/// A structure (a block with what it points to) that exists more than once.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicateStructure {
    /// Class of its topmost block.
    pub what: String,
    /// Its value, as far as the snapshot keeps it; otherwise the same as `what`.
    pub value: String,
    /// Number of copies.
    pub copies: u64,
    /// Average size of a copy, without blocks that it already shares with others.
    pub each: u64,
    /// What would be saved if there were only one.
    pub saved: u64,
    /// Addresses of the topmost blocks of some copies.
    pub examples: Vec<String>,
    /// Nodes of these blocks.
    pub nodes: Vec<Node>,
}

/// Finds duplicates and lists the `most` largest structures.
pub fn duplicates(heap: &Heap, most: usize) -> Duplicates {
    let snapshot = heap.snapshot();
    let keys = Keys::of(snapshot);
    let left_out = keys.left_out();
    let mutable = mutable_shapes(heap);
    let (shape_of, weights) = (heap.shape_of(), heap.weights());
    let is_mutable = |node: Node| {
        let shape = shape_of.get(node as usize).copied().unwrap_or(u32::MAX);
        mutable.as_ref().is_some_and(|shapes| shapes.get(shape as usize) == Some(&true))
    };
    let mutable_blocks = mutable
        .as_ref()
        .map(|_| (0..heap.blocks() as Node).filter(|&node| is_mutable(node)).count() as u64);
    let first = bactrian_graph::duplicates(
        heap.graph(),
        heap.components(),
        |node| keys.get(node).filter(|_| !is_mutable(node)),
        |_, _| true,
    );
    let mut is_static = keys.into_static();
    is_static.resize(first.len(), true);
    let sharing = Equals {
        graph: heap.graph(),
        components: heap.components(),
        first: &first,
        weights,
        stays: &is_static,
    }
    .share();
    let mut answer = Duplicates {
        blocks: 0,
        bytes: 0,
        saved_blocks: 0,
        saved: sharing.saved.iter().sum::<u64>().saturating_mul(WORD),
        left_out,
        mutable: mutable_blocks,
        immediates_known: snapshot.columns().immediates,
        contents_known: snapshot.columns().equals,
        classes: classes(heap, &sharing),
        sites: Vec::new(),
        sites_exact: false,
        sampled_blocks: 0,
        structures: structures(heap, &first, &sharing, most),
        structure_count: sharing.tops.iter().filter(|&&tops| tops > 0).count() as u64,
    };
    answer.saved_blocks = answer.classes.iter().map(|class| class.blocks).sum();
    for (node, (&component, is_static)) in heap.components().of.iter().zip(&is_static).enumerate() {
        if component != bactrian_graph::NONE && !is_static {
            answer.blocks += 1;
            answer.bytes += u64::from(weights[node]) * WORD;
        }
    }
    sites::find(heap, &first, &sharing, &is_static, &mut answer);
    answer
}

fn classes(heap: &Heap, sharing: &Sharing) -> Vec<DuplicateClass> {
    let (class_of, weights) = (heap.class_of(), heap.weights());
    let mut totals = vec![(0_u64, 0_u64); heap.classes().len()];
    for &node in sharing.several.iter().filter(|&&node| sharing.fate[node as usize] != Fate::Stays)
    {
        if let Some((blocks, words)) = totals.get_mut(class_of[node as usize] as usize) {
            *blocks += 1;
            *words += u64::from(weights[node as usize]);
        }
    }
    let rows = heap.classes().iter().zip(totals).filter(|(_, (blocks, _))| *blocks > 0);
    let mut rows: Vec<_> = rows
        .map(|(class, (blocks, words))| DuplicateClass {
            label: Label {
                name: class.name.clone(),
                file: class.place.clone(),
                ..Label::default()
            },
            kind: class.kind,
            blocks,
            saved: words * WORD,
        })
        .collect();
    rows.sort_rows_by(|a, b| b.saved.cmp(&a.saved).then_with(|| a.label.cmp(&b.label)));
    rows
}

fn structures(
    heap: &Heap,
    first: &[Node],
    sharing: &Sharing,
    most: usize,
) -> Vec<DuplicateStructure> {
    let mut chosen: Vec<Node> =
        (0..first.len() as Node).filter(|&node| sharing.tops[node as usize] > 0).collect();
    let key = |&node: &Node| (u64::MAX - sharing.saved[node as usize], node);
    if most < chosen.len() {
        chosen.select_nth_unstable_by_key(most, key);
        chosen.truncate(most);
    }
    chosen.sort_unstable_by_key(key);
    // For each structure, the block that stays and some that would go.
    let mut places = vec![u32::MAX; first.len()];
    for (place, &node) in (0..).zip(&chosen) {
        places[node as usize] = place;
    }
    let mut examples = vec![Vec::new(); chosen.len()];
    for &node in &sharing.several {
        let place = places[first[node as usize] as usize] as usize;
        if let Some(examples) = examples.get_mut(place)
            && sharing.fate[node as usize] != Fate::Below
            && examples.len() < EXAMPLES
        {
            examples.push(node);
        }
    }
    let structures = chosen.into_iter().zip(examples).map(|(node, nodes)| {
        let (tops, saved) = (sharing.tops[node as usize], sharing.saved[node as usize] * WORD);
        let address = |&node: &Node| heap.address(node).map(|address| format!("{address:#x}"));
        let shown = nodes.first().copied().unwrap_or(node);
        let what = heap.describe(shown);
        DuplicateStructure {
            value: value(heap, shown, &TOLD).unwrap_or_else(|| what.clone()),
            what,
            copies: u64::from(tops) + 1,
            each: saved / u64::from(tops).max(1),
            saved,
            examples: nodes.iter().filter_map(address).collect(),
            nodes,
        }
    });
    structures.collect()
}
