//! What is retained through each field of a type's blocks.
//!
//! Everything that a block of the type dominates is attributed to the nearest such block above it, and there
//! to the field that leads to it, so that nothing counts twice: a list of records does not count its tail
//! again in each cell. What a block dominates without a single field leading there is retained by several
//! fields together. What a field points to without being dominated by its block is shared: something else
//! holds it as well.

use std::cmp::Reverse;
use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_snapshot::{BlockId, FieldValue};
use bactrian_types::Typing;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, WORD};
use crate::parallel;
use crate::sorted_rows::SortRows;

/// Blocks with at most this many fields are reported by field; the fields of larger blocks are treated as
/// elements.
const FEW: u64 = 64;

/// What the blocks of a type retain, field by field. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fields {
    /// The types.
    pub names: Vec<String>,
    /// Number of blocks.
    pub blocks: u64,
    /// Shallow size.
    pub shallow: u64,
    /// Retained size, including the blocks themselves.
    pub retained: u64,
    /// What is retained only by several fields of a block together.
    pub together: u64,
    /// By field, the largest retained size first.
    pub rows: Vec<FieldRow>,
}

/// A field of a record or of a constructor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FieldRow {
    /// The constructor; null for records, and if it is not known.
    pub constructor: Option<String>,
    /// Its name, or its number from 0; `element` for fields of large blocks.
    pub field: String,
    /// Its type; null if unknown.
    pub type_name: Option<String>,
    /// Number of blocks in which it is a pointer.
    pub pointers: u64,
    /// Number of blocks in which it is an immediate.
    pub immediates: u64,
    /// Retained size: what would be freed without this field.
    pub retained: u64,
    /// Share of it in the retained size of the blocks.
    pub share: f64,
    /// Number of pointers to blocks that something else holds as well.
    pub shared: u64,
    /// Number of pointers to blocks of the same type, which count by themselves.
    pub same: u64,
}

/// A field before it has a name: the tag of its block, the block's size if it is small, and its index.
type Key = (u8, u64, u64);

#[derive(Clone, Debug, Default)]
struct Sums {
    /// An example block with this field.
    of: Node,
    pointers: u64,
    immediates: u64,
    shared: u64,
    same: u64,
    words: u64,
}

/// For blocks to which no field of the type points.
const NO_FIELD: u32 = u32::MAX;

/// Computes what the blocks of some classes retain.
pub fn fields(heap: &Heap, classes: &[u32]) -> Fields {
    let mut is_class = vec![false; heap.classes().len()];
    for &class in classes {
        is_class.get_mut(class as usize).into_iter().for_each(|is| *is = true);
    }
    let class_of = heap.class_of();
    let blocks = heap.blocks();
    let is_one = |node: Node| {
        let class = class_of.get(node as usize).filter(|_| (node as usize) < blocks);
        class.is_some_and(|class| is_class.get(*class as usize) == Some(&true))
    };
    let typing = heap.typing();
    let mut found = Found { typing, keys: HashMap::new(), sums: Vec::new(), leads: Vec::new() };
    found.read(heap, &is_one);
    let counted = found.count(heap, &is_one);
    found.told(heap, classes, &counted)
}

struct Found<'a> {
    typing: Option<&'a Typing>,
    keys: HashMap<(Key, Option<&'a str>), u32>,
    sums: Vec<Sums>,
    /// For each node, the field of its dominator that leads to it.
    leads: Vec<u32>,
}

/// Words of the blocks that are not retained through single fields.
#[derive(Default)]
struct Counted {
    blocks: u64,
    own: u64,
    together: u64,
}

impl Found<'_> {
    /// Reads the fields of all blocks of the type.
    fn read(&mut self, heap: &Heap, is_one: &(dyn Fn(Node) -> bool + Sync)) {
        let parents = &heap.dominators().parent;
        self.leads = vec![NO_FIELD; parents.len()];
        let snapshot = heap.snapshot();
        let groups: Vec<usize> = (0..snapshot.groups().len()).collect();
        let read = |&index: &usize| fields_of_group(heap, index, is_one);
        parallel::map_then(&groups, read, |_, fields| {
            for (node, key, value) in fields {
                let number = self.number(node, key);
                let sums = &mut self.sums[number as usize];
                let FieldValue::Pointer(to) = value else {
                    sums.immediates += u64::from(matches!(value, FieldValue::Immediate(_)));
                    continue;
                };
                let to = to.block.0;
                sums.pointers += 1;
                if is_one(to) {
                    sums.same += 1;
                } else if parents.get(to as usize) != Some(&node) {
                    sums.shared += 1;
                }
                // If two fields lead there, the first counts.
                if parents.get(to as usize) == Some(&node)
                    && let Some(lead) = self.leads.get_mut(to as usize)
                    && *lead == NO_FIELD
                {
                    *lead = number;
                }
            }
        });
    }

    /// The number of a field. Constructors with the same tag, as in extensible variants, are distinguished.
    fn number(&mut self, node: Node, key: Key) -> u32 {
        let constructor = self.typing.and_then(|typing| typing.constructor(BlockId(node)));
        let next = self.sums.len() as u32;
        let number = *self.keys.entry((key, constructor)).or_insert(next);
        if number == next {
            self.sums.push(Sums { of: node, ..Sums::default() });
        }
        number
    }

    /// Walks down the dominator tree and attributes each block to what leads to it from the nearest block of
    /// the type.
    fn count(&mut self, heap: &Heap, is_one: &dyn Fn(Node) -> bool) -> Counted {
        const OUTSIDE: u32 = u32::MAX - 1;
        let tree = heap.dominator_tree();
        let mut counted = Counted::default();
        let mut waiting = vec![(heap.root(), OUTSIDE)];
        while let Some((node, lead)) = waiting.pop() {
            let words = heap.weights().get(node as usize).copied().map_or(0, u64::from);
            let is_of_type = is_one(node);
            match lead {
                _ if is_of_type => {
                    counted.blocks += 1;
                    counted.own += words;
                }
                OUTSIDE => {}
                NO_FIELD => counted.together += words,
                field => {
                    let sums = self.sums.get_mut(field as usize);
                    sums.into_iter().for_each(|sums| sums.words += words);
                }
            }
            for &child in tree.children(node) {
                let lead = match is_of_type {
                    true => self.leads.get(child as usize).copied().unwrap_or(NO_FIELD),
                    false => lead,
                };
                waiting.push((child, lead));
            }
        }
        counted
    }

    fn told(self, heap: &Heap, classes: &[u32], counted: &Counted) -> Fields {
        let through: u64 = self.sums.iter().map(|sums| sums.words).sum();
        let all = through + counted.own + counted.together;
        let mut rows: Vec<(FieldRow, Key)> = Vec::new();
        for ((key, constructor), number) in self.keys {
            let sums = &self.sums[number as usize];
            let typing = self.typing;
            let name = typing.and_then(|typing| typing.field_name(BlockId(sums.of), key.2));
            let field = typing.and_then(|typing| typing.field(BlockId(sums.of), key.2));
            let class = field.and_then(|field| field.class);
            let type_name = class.and_then(|class| typing?.class(class));
            let row = FieldRow {
                constructor: constructor.map(str::to_owned),
                field: match name {
                    Some(name) => name.to_owned(),
                    None if key.1 > FEW => "element".to_owned(),
                    None => key.2.to_string(),
                },
                type_name: type_name.map(|class| class.name.clone()),
                pointers: sums.pointers,
                immediates: sums.immediates,
                retained: sums.words.saturating_mul(WORD),
                share: sums.words as f64 / (all as f64).max(1.0),
                shared: sums.shared,
                same: sums.same,
            };
            rows.push((row, key));
        }
        rows.sort_rows_by(|(a, of_a), (b, of_b)| {
            (Reverse(a.retained), of_a, &a.constructor).cmp(&(
                Reverse(b.retained),
                of_b,
                &b.constructor,
            ))
        });
        let names = classes.iter().filter_map(|&class| heap.classes().get(class as usize));
        Fields {
            names: names.map(super::Class::title).collect(),
            blocks: counted.blocks,
            shallow: counted.own.saturating_mul(WORD),
            retained: all.saturating_mul(WORD),
            together: counted.together.saturating_mul(WORD),
            rows: rows.into_iter().map(|(row, _)| row).collect(),
        }
    }
}

/// The fields of the wanted blocks of a group; unreadable ones are missing.
fn fields_of_group(
    heap: &Heap,
    index: usize,
    is_one: &(dyn Fn(Node) -> bool + Sync),
) -> Vec<(Node, Key, FieldValue)> {
    let mut found = Vec::new();
    let Ok(group) = heap.snapshot().group(index) else { return found };
    let first = group.facts().first.0;
    if !group.blocks().iter().any(|block| is_one(block.id.0)) {
        return found;
    }
    let Ok(fields) = group.fields() else { return found };
    for field in fields.iter() {
        let Ok(field) = field else { break };
        let node = field.block.0;
        let Some(block) = group.blocks().get((node - first) as usize).filter(|_| is_one(node))
        else {
            continue;
        };
        let is_large = block.words > FEW;
        let key = match is_large {
            true => (block.tag, FEW + 1, 0),
            false => (block.tag, 0, field.index),
        };
        found.push((node, key, field.value));
    }
    found
}
