//! Resolves a field name to fields of a type's blocks.

use std::collections::{BTreeSet, HashMap};

use bactrian_graph::Node;
use bactrian_snapshot::BlockId;

use super::Heap;

/// The most names listed in an error message.
const MOST_NAMES: usize = 20;

/// A field as users name it: `name`, `.name`, `Node.left` of a constructor, or its index.
pub(super) struct FieldNames<'a> {
    heap: &'a Heap,
    wanted: &'a str,
    /// Whether a field is meant, by class, constructor and index.
    known: HashMap<(u32, Option<&'a str>, u64), bool>,
    /// The names of all fields that were tested.
    all: BTreeSet<String>,
}

impl<'a> FieldNames<'a> {
    pub fn new(heap: &'a Heap, wanted: &'a str) -> FieldNames<'a> {
        let wanted = wanted.trim_start_matches('.');
        FieldNames { heap, wanted, known: HashMap::new(), all: BTreeSet::new() }
    }

    /// Whether this field of a block is meant.
    pub fn is_wanted(&mut self, node: Node, field: u64) -> bool {
        let constructor = self.heap.typing().and_then(|typing| typing.constructor(BlockId(node)));
        let class = self.heap.class_of()[node as usize];
        *self.known.entry((class, constructor, field)).or_insert_with(|| {
            let title = self.heap.field_title(node, field).unwrap_or_else(|| field.to_string());
            let title = title.trim_start_matches('.');
            let name = title.rsplit('.').next().unwrap_or(title);
            self.all.insert(title.to_owned());
            self.wanted == title || self.wanted == name || self.wanted.parse() == Ok(field)
        })
    }

    /// Whether any tested field was meant.
    pub fn is_met(&self) -> bool {
        self.known.values().any(|wanted| *wanted)
    }

    /// The names of all tested fields.
    pub fn met(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(String::as_str).take(MOST_NAMES).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
