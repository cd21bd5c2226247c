//! The neighbourhood of a block: the blocks and roots that it points to and that point to it, their
//! neighbours, and so on, with the fields between them.

use std::collections::{BTreeMap, HashMap};

use bactrian_graph::{Node, Within, neighbourhood};
use schemars::JsonSchema;
use serde::Serialize;

use super::paths::steps::{Step, fields_between};
use super::{Heap, WORD};

/// The most fields listed for the pointers from one block to another.
const FIELDS: usize = 8;

/// The requested neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AroundShape {
    /// The block or root in the centre.
    pub centre: Node,
    /// The largest distance in pointers, in either direction.
    pub steps: u32,
    /// The most blocks and roots listed, including the centre, which is always listed.
    pub most: usize,
}

/// The neighbourhood of a block. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Around {
    /// The maximum distance from the centre, in pointers.
    pub steps: u32,
    /// Number of blocks and roots within that distance, including the centre.
    pub near: u64,
    /// Number of them that are listed.
    pub told: u64,
    /// The centre first, then the others by distance, those that retain most first. Finally one node for the rest, if there is
    /// any: all blocks of the heap that are not listed.
    pub nodes: Vec<AroundNode>,
    /// Pointers between the nodes, including those from and to the rest.
    pub edges: Vec<AroundEdge>,
}

/// A block or root, or the rest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AroundNode {
    /// Its role.
    pub kind: AroundKind,
    /// Its number; null for the rest.
    pub node: Option<Node>,
    /// Its address; null if it is not a block.
    pub address: Option<String>,
    /// A description: class, or name of the root.
    pub what: String,
    /// Distance from the centre in pointers; null for the rest.
    pub distance: Option<u32>,
    /// Number of blocks: 1 for a block, 0 for a root, all that are left for the rest.
    pub blocks: u64,
    /// Shallow size.
    pub shallow: u64,
    /// Retained size: what would be freed without it, including itself; null for the rest.
    pub retained: Option<u64>,
    /// Share of the retained size in all reachable blocks; for the rest, its share of all blocks.
    pub share: f64,
}

/// Role of a node in the neighbourhood of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AroundKind {
    /// The block that was asked for.
    Centre,
    /// Another block.
    Block,
    /// A root.
    Holder,
    /// All blocks that are not listed.
    Rest,
}

/// Pointers from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AroundEdge {
    /// Index of the node that points.
    pub from: usize,
    /// Index of the node that is pointed to; the same if a block points to itself.
    pub to: usize,
    /// Number of pointers.
    pub pointers: u64,
    /// Fields with these pointers, at most eight: their names if types are known, otherwise their numbers from 0; or `stack`,
    /// `data`, `unknown`. Empty for pointers from roots, and from or to the rest.
    pub fields: Vec<String>,
}

/// Finds the neighbourhood of a block or root.
pub fn around(heap: &Heap, question: &AroundShape) -> Around {
    let within = Within { steps: question.steps, most: question.most.max(1) };
    let retained = |node: Node| heap.retained_words(node);
    let (graph, back) = (heap.graph(), heap.reversed());
    let found = neighbourhood(graph, back, question.centre, within, retained);
    let near = (found.near.len() + found.left_out.len()) as u64;
    let told: Vec<Node> = found.near.iter().map(|near| near.node).collect();
    let mut nodes: Vec<_> =
        found.near.iter().map(|near| tell(heap, near.node, near.distance)).collect();
    let mut edges = edges(heap, &told);
    if let Some(rest) = rest(heap, &nodes) {
        nodes.push(rest);
    } else {
        // The only unlisted nodes are roots.
        edges.retain(|edge| edge.from < told.len() && edge.to < told.len());
    }
    Around { steps: question.steps, near, told: told.len() as u64, nodes, edges }
}

fn tell(heap: &Heap, node: Node, distance: u32) -> AroundNode {
    let is_block = (node as usize) < heap.blocks();
    let words = u64::from(heap.weights().get(node as usize).copied().unwrap_or(0));
    let retained = heap.retained_words(node);
    AroundNode {
        kind: match (distance, is_block) {
            (0, _) => AroundKind::Centre,
            (_, true) => AroundKind::Block,
            (_, false) => AroundKind::Holder,
        },
        node: Some(node),
        address: heap.address(node).map(|address| format!("{address:#x}")),
        what: heap.describe(node),
        distance: Some(distance),
        blocks: u64::from(is_block),
        shallow: words.saturating_mul(WORD),
        retained: Some(retained.saturating_mul(WORD)),
        share: retained as f64 / (heap.reached_words() as f64).max(1.0),
    }
}

/// All unlisted blocks as one node; None if there are none.
fn rest(heap: &Heap, told: &[AroundNode]) -> Option<AroundNode> {
    let words = heap.weights().iter().map(|&words| u64::from(words)).sum::<u64>();
    let all = words.saturating_mul(WORD);
    let shallow = all.saturating_sub(told.iter().map(|node| node.shallow).sum());
    let blocks = heap.blocks() as u64 - told.iter().map(|node| node.blocks).sum::<u64>();
    (blocks > 0).then(|| AroundNode {
        kind: AroundKind::Rest,
        node: None,
        address: None,
        what: "the rest".to_owned(),
        distance: None,
        blocks,
        shallow,
        retained: None,
        share: shallow as f64 / (all as f64).max(1.0),
    })
}

/// Pointers between listed nodes, and between them and all others, which have the index after the last listed
/// node.
fn edges(heap: &Heap, told: &[Node]) -> Vec<AroundEdge> {
    let rest = told.len();
    let place: HashMap<Node, usize> =
        told.iter().enumerate().map(|(place, &node)| (node, place)).collect();
    let place_of = |node: &Node| place.get(node).copied().unwrap_or(rest);
    let mut edges: BTreeMap<(usize, usize), AroundEdge> = BTreeMap::new();
    let mut count = |from: usize, to: usize| {
        let none = AroundEdge { from, to, pointers: 0, fields: Vec::new() };
        edges.entry((from, to)).or_insert(none).pointers += 1;
    };
    for (from, &node) in told.iter().enumerate() {
        heap.graph().successors(node).iter().for_each(|to| count(from, place_of(to)));
        let others = heap.reversed().successors(node).iter().map(place_of);
        others.filter(|&other| other == rest).for_each(|other| count(other, from));
    }
    let mut in_order = told.to_vec();
    in_order.sort_unstable();
    let mut by_field: HashMap<(usize, usize), u64> = HashMap::new();
    for (from, step, to) in fields_between(heap, &in_order) {
        let ends = (place_of(&from), place_of(&to));
        *by_field.entry(ends).or_default() += 1;
        if let Some(edge) = edges.get_mut(&ends).filter(|edge| edge.fields.len() < FIELDS) {
            edge.fields.extend(field(heap, from, step));
        }
    }
    // Continuation stacks and the data of ephemerons are not fields.
    for (ends, edge) in &mut edges {
        let is_beside = edge.pointers > by_field.get(ends).copied().unwrap_or(0);
        if is_beside && edge.fields.len() < FIELDS && edge.from < rest && edge.to < rest {
            let from = told[edge.from];
            edge.fields.extend(field(heap, from, Step::beside_fields(heap, from)));
        }
    }
    edges.into_values().collect()
}

fn field(heap: &Heap, from: Node, step: Step) -> Option<String> {
    match step {
        Step::Root => None,
        Step::Field(field) | Step::Element(field) => {
            Some(heap.field_title(from, field).unwrap_or_else(|| field.to_string()))
        }
        Step::Stack => Some("stack".to_owned()),
        Step::Data => Some("data".to_owned()),
        Step::Unknown => Some("unknown".to_owned()),
    }
}
