//! Collections by type: their number, sizes, fill, and cost per element.
//!
//! Only types distinguish a collection from its elements, so a type table is required. A collection consists
//! of its own blocks: the cells of a list; the record, buckets and bucket cells of a hash table; the nodes of
//! a map or set; and so on; never of its elements. Values that are not blocks, such as empty lists and maps,
//! are invisible. A list that shares its tail with another counts as a list of its own, but shared cells
//! count once.

mod parts;

use std::cmp::Reverse;

use bactrian_graph::Node;
use bactrian_types::Collection;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, WORD};
use crate::sorted_rows::SortRows;
use parts::Parts;

/// The collections of a heap: lists, tables, maps and so on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Collections {
    /// Size in bytes of all blocks of the heap, which shares refer to.
    pub total: u64,
    /// By type, the largest first.
    pub rows: Vec<CollectionRow>,
}

/// Collections of one type. Sizes are those of their own blocks, without their contents.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectionRow {
    /// The type.
    pub name: String,
    /// The kind of collection.
    pub collection: &'static str,
    /// Number of collections.
    pub count: u64,
    /// Number of elements in all of them; for buffers, words.
    pub elements: u64,
    /// Average number of elements.
    pub mean: f64,
    /// Number of elements of the largest.
    pub largest: u64,
    /// The largest, for `bactrian heap show`.
    pub largest_node: Option<Node>,
    /// Number of empty ones; null if an empty one is not a block.
    pub empty: Option<u64>,
    /// Number of those with one element.
    pub single: u64,
    /// For hash tables, the share of buckets in use; for lazy values, the share that was forced. Null for others.
    pub fill: Option<f64>,
    /// Words per element besides the element itself; null if there are no elements.
    pub overhead: Option<f64>,
    /// Size in bytes.
    pub bytes: u64,
    /// Share of the heap.
    pub share: f64,
}

/// What is counted for the collections of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    pub count: u64,
    pub elements: u64,
    pub largest: Option<(u64, Node)>,
    pub empty: u64,
    pub single: u64,
    pub words: u64,
    /// Slots for elements, and those in use.
    pub places: u64,
    pub used: u64,
}

impl Count {
    /// Adds a collection of `elements` elements, of which `own` are not counted yet.
    pub fn add(&mut self, node: Node, elements: u64, own: u64) {
        self.count += 1;
        self.elements += own;
        self.empty += u64::from(elements == 0);
        self.single += u64::from(elements == 1);
        if self.largest.is_none_or(|(most, _)| elements > most) {
            self.largest = Some((elements, node));
        }
    }
}

/// Finds all collections; None if the heap was opened without types.
pub fn collections(heap: &Heap) -> Option<Collections> {
    heap.coverage()?;
    let parts = Parts::find(heap);
    let total: u64 = heap.weights().iter().map(|&weight| u64::from(weight)).sum();
    let mut rows: Vec<CollectionRow> = Vec::new();
    for (class, count) in heap.classes().iter().zip(&parts.counts) {
        let Some((collection, count)) = count else { continue };
        if count.count == 0 {
            continue;
        }
        let payload = count.elements.saturating_mul(payload(*collection));
        let overhead = count.words.saturating_sub(payload) as f64 / count.elements as f64;
        let is_counted = !matches!(collection, Collection::Lazy | Collection::Buffer);
        rows.push(CollectionRow {
            name: class.name.clone(),
            collection: name(*collection),
            count: count.count,
            elements: count.elements,
            mean: count.elements as f64 / count.count as f64,
            largest: count.largest.map_or(0, |(most, _)| most),
            largest_node: count.largest.map(|(_, node)| node),
            empty: can_be_empty(*collection).then_some(count.empty),
            single: count.single,
            fill: (count.places > 0).then(|| count.used as f64 / count.places as f64),
            overhead: (count.elements > 0 && is_counted).then_some(overhead),
            bytes: count.words.saturating_mul(WORD),
            share: count.words as f64 / (total as f64).max(1.0),
        });
    }
    rows.sort_rows_by(|a, b| (Reverse(a.bytes), &a.name).cmp(&(Reverse(b.bytes), &b.name)));
    Some(Collections { total: total.saturating_mul(WORD), rows })
}

/// The words that an element itself needs.
fn payload(collection: Collection) -> u64 {
    match collection {
        Collection::Hashtbl | Collection::Map => 2,
        _ => 1,
    }
}

/// Whether an empty collection is a block.
fn can_be_empty(collection: Collection) -> bool {
    match collection {
        Collection::List | Collection::Map | Collection::Set | Collection::Seq => false,
        Collection::Array
        | Collection::Hashtbl
        | Collection::Queue
        | Collection::Stack
        | Collection::Buffer
        | Collection::Lazy => true,
    }
}

fn name(collection: Collection) -> &'static str {
    match collection {
        Collection::List => "list",
        Collection::Array => "array",
        Collection::Hashtbl => "hashtbl",
        Collection::Map => "map",
        Collection::Set => "set",
        Collection::Queue => "queue",
        Collection::Stack => "stack",
        Collection::Buffer => "buffer",
        Collection::Lazy => "lazy",
        Collection::Seq => "seq",
    }
}
