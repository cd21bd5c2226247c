//! The single blocks of a class: the largest, the oldest, those with a given field value; or all of them
//! grouped by that value.

use std::cmp::Reverse;
use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_snapshot::{BlockId, FieldValue};
use schemars::JsonSchema;
use serde::Serialize;

use super::age::age_of;
use super::field_names::FieldNames;
use super::value::{immediate, value};
use super::{Heap, NotFound, ValueLimits, WORD};
use crate::parallel;
use crate::sorted_rows::SortRows;
use crate::units::Time;

/// How much of a block's value is shown.
pub(super) const TOLD: ValueLimits = ValueLimits { depth: 2, items: 4 };

/// The requested blocks.
#[derive(Clone, Debug, Default)]
pub struct BlocksShape {
    /// Their class numbers.
    pub classes: Vec<u32>,
    /// Conditions on their fields.
    pub conditions: Vec<Condition>,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The field's name.
    pub field: String,
    /// Its value as displayed, or a string without quotes.
    pub value: String,
    /// Whether the value only has to contain `value`.
    pub is_part: bool,
}

impl Condition {
    /// Parses `FIELD=VALUE` or `FIELD~PART`; None if it is neither.
    pub fn parse(text: &str) -> Option<Condition> {
        let at = text.find(['=', '~'])?;
        let (field, value) = (text[..at].to_owned(), text[at + 1..].to_owned());
        (!field.is_empty()).then(|| Condition {
            field,
            value,
            is_part: text[at..].starts_with('~'),
        })
    }

    fn holds(&self, told: &str) -> bool {
        let bare = told.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match self.is_part {
            true => told.contains(&self.value),
            false => told == self.value || bare == Some(&*self.value),
        }
    }
}

/// A block of a class. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlockRow {
    /// Its number, for `bactrian heap show @NUMBER`.
    pub node: Node,
    /// Its value, as far as the snapshot keeps it; otherwise its class.
    pub value: String,
    /// Shallow size.
    pub shallow: u64,
    /// Retained size: what would be freed without it.
    pub retained: u64,
    /// Age in seconds; null if it was not sampled.
    pub age: Option<Time>,
}

/// Blocks whose field has the same value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlockGroup {
    /// The value.
    pub value: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Shallow size of the blocks.
    pub shallow: u64,
    /// Retained size: what would be freed without them.
    pub retained: u64,
    /// One of them.
    pub node: Node,
}

impl BlockGroup {
    /// Whether the value is a string whose contents the snapshot does not have.
    pub fn is_of_string(&self) -> bool {
        self.value.starts_with(STRING)
    }
}

/// The prefix of a value that stands for a string without contents.
const STRING: &str = "the string of";

/// The blocks that satisfy the conditions.
///
/// # Errors
/// If they have no such field.
pub fn blocks(heap: &Heap, shape: &BlocksShape) -> Result<Vec<Node>, NotFound> {
    let mut wanted = of_classes(heap, &shape.classes);
    for condition in &shape.conditions {
        let values = FieldTexts::read(heap, &wanted, &condition.field)?;
        wanted.retain(|node| values.text(*node).is_some_and(|told| condition.holds(told)));
    }
    Ok(wanted)
}

/// Groups blocks by the value of a field, the most frequent value first.
///
/// # Errors
/// If they have no such field.
pub fn block_groups(heap: &Heap, nodes: &[Node], field: &str) -> Result<Vec<BlockGroup>, NotFound> {
    let values = FieldTexts::read(heap, nodes, field)?;
    let totals = heap
        .totals_by(values.texts.len(), |node| values.of.get(&node).copied().unwrap_or(u32::MAX));
    let mut groups: Vec<BlockGroup> = values
        .texts
        .into_iter()
        .zip(totals)
        .map(|((value, node), total)| BlockGroup {
            value,
            blocks: total.blocks,
            shallow: total.words.saturating_mul(WORD),
            retained: total.retained.saturating_mul(WORD),
            node,
        })
        .collect();
    groups.sort_rows_by(|a, b| {
        (Reverse(a.blocks), Reverse(a.retained), &a.value).cmp(&(
            Reverse(b.blocks),
            Reverse(b.retained),
            &b.value,
        ))
    });
    Ok(groups)
}

/// Duplicate strings and numbers among some blocks, which must be sorted: those that take most memory first.
pub fn copies(heap: &Heap, nodes: &[Node], most: usize) -> Vec<BlockGroup> {
    let is_one = |node: Node| nodes.binary_search(&node).is_ok();
    let read = |index: usize| {
        let Ok(group) = heap.snapshot().group(index) else { return Vec::new() };
        let equals = group.equals().unwrap_or_default().into_iter();
        equals.filter(|one| is_one(one.block.0)).map(|one| (one.first.0, one.block.0)).collect()
    };
    // Keyed by the first of the equal blocks, which may be of another type and then does not count.
    let mut groups: HashMap<Node, BlockGroup> = HashMap::new();
    let mut add = |first: Node, node: Node| {
        let group = groups.entry(first).or_insert_with(|| BlockGroup {
            value: String::new(),
            blocks: 0,
            shallow: 0,
            retained: 0,
            node,
        });
        group.blocks += 1;
        group.shallow += heap.own_words(node).saturating_mul(WORD);
        group.retained += heap.retained_words(node).saturating_mul(WORD);
    };
    let mut firsts = Vec::new();
    each_group(heap, nodes, read, |found| {
        for (first, node) in found.into_iter().filter(|(first, node)| first != node) {
            firsts.push(first);
            add(first, node);
        }
    });
    firsts.sort_unstable();
    firsts.dedup();
    for first in firsts.into_iter().filter(|first| is_one(*first)) {
        add(first, first);
    }
    let mut groups: Vec<BlockGroup> = groups.into_values().filter(|it| it.blocks > 1).collect();
    groups.sort_rows_by_key(|group| (Reverse(group.shallow), group.node));
    groups.truncate(most);
    for group in &mut groups {
        group.value = value(heap, group.node, &TOLD).unwrap_or_else(|| heap.describe(group.node));
    }
    groups
}

impl Heap {
    /// A block as a row of a table.
    pub fn block_row(&self, node: Node) -> BlockRow {
        BlockRow {
            node,
            value: value(self, node, &TOLD).unwrap_or_else(|| self.describe(node)),
            shallow: self.own_words(node).saturating_mul(WORD),
            retained: self.retained_words(node).saturating_mul(WORD),
            age: self.block_age(node),
        }
    }

    /// Its own size, in words.
    pub fn own_words(&self, node: Node) -> u64 {
        self.weights().get(node as usize).copied().map_or(0, u64::from)
    }

    /// The age of a block, if it was sampled.
    pub fn block_age(&self, node: Node) -> Option<Time> {
        age_of(self, &self.sample(node)?)
    }
}

fn of_classes(heap: &Heap, classes: &[u32]) -> Vec<Node> {
    let mut is_one = vec![false; heap.classes().len()];
    for &class in classes {
        is_one.get_mut(class as usize).into_iter().for_each(|is| *is = true);
    }
    let all = (0..).zip(heap.class_of()).take(heap.blocks());
    let wanted = all.filter(|(_, class)| is_one.get(**class as usize) == Some(&true));
    wanted.map(|(node, _)| node).collect()
}

/// The values of a field of some blocks, as text.
struct FieldTexts {
    /// Each distinct text, with a block that has it.
    texts: Vec<(String, Node)>,
    /// For each block, the index of its text.
    of: HashMap<Node, u32>,
}

impl FieldTexts {
    /// Reads a field of sorted blocks. Each group of the snapshot is read once for the blocks, and once for
    /// the strings that they point to.
    fn read(heap: &Heap, nodes: &[Node], field: &str) -> Result<FieldTexts, NotFound> {
        let mut names = FieldNames::new(heap, field);
        let mut found: Vec<(Node, u64, FieldValue)> = Vec::new();
        let is_one = |node: Node| nodes.binary_search(&node).is_ok();
        each_group(
            heap,
            nodes,
            |index| fields_of_group(heap, index, &is_one),
            |fields| {
                found
                    .extend(fields.into_iter().filter(|(node, at, _)| names.is_wanted(*node, *at)));
            },
        );
        if !names.is_met() && !nodes.is_empty() {
            let has = names.met();
            return Err(NotFound::new(format!(
                "these blocks have no field `{field}`; they have \
                {has}"
            )));
        }
        let mut targets: Vec<Node> = found
            .iter()
            .filter_map(|(_, _, value)| match value {
                FieldValue::Pointer(to) => Some(to.block.0),
                _ => None,
            })
            .collect();
        targets.sort_unstable();
        targets.dedup();
        let strings = strings(heap, &targets);
        let mut texts = FieldTexts { texts: Vec::new(), of: HashMap::new() };
        let mut known: HashMap<String, u32> = HashMap::new();
        for (node, at, value) in found {
            let text = match value {
                FieldValue::Immediate(number) => immediate(heap.field_class(node, at), number),
                FieldValue::Outside => "<a pointer out of the heap>".to_owned(),
                FieldValue::Missing => "<missing>".to_owned(),
                FieldValue::Pointer(to) => match strings.get(&to.block.0) {
                    Some(text) => text.clone(),
                    None => format!("@{} {}", to.block.0, heap.class(to.block.0).title()),
                },
            };
            let next = texts.texts.len() as u32;
            let place = *known.entry(text.clone()).or_insert(next);
            if place == next {
                texts.texts.push((text, node));
            }
            texts.of.insert(node, place);
        }
        Ok(texts)
    }

    fn text(&self, node: Node) -> Option<&str> {
        let place = *self.of.get(&node)?;
        self.texts.get(place as usize).map(|(text, _)| text.as_str())
    }
}

/// Reads each group that contains one of these sorted nodes.
fn each_group<T: Send>(
    heap: &Heap,
    nodes: &[Node],
    read: impl Fn(usize) -> Vec<T> + Sync + Send,
    mut then: impl FnMut(Vec<T>),
) {
    let of = |node: &Node| heap.snapshot().group_of(BlockId(*node));
    let mut groups: Vec<usize> = nodes.iter().filter_map(of).collect();
    groups.dedup();
    parallel::map_then(&groups, |&index| read(index), |_, found| then(found));
}

/// The fields of the wanted blocks of a group; unreadable ones are missing.
fn fields_of_group(
    heap: &Heap,
    index: usize,
    is_one: &(dyn Fn(Node) -> bool + Sync),
) -> Vec<(Node, u64, FieldValue)> {
    let Ok(group) = heap.snapshot().group(index) else { return Vec::new() };
    let Ok(fields) = group.fields() else { return Vec::new() };
    let fields = fields.iter().map_while(Result::ok);
    let wanted = fields.filter(|field| is_one(field.block.0));
    wanted.map(|field| (field.block.0, field.index, field.value)).collect()
}

/// The contents of the strings among some sorted nodes: quoted, with the length if they are truncated.
/// Equality of strings is known even if none of their bytes were kept.
fn strings(heap: &Heap, nodes: &[Node]) -> HashMap<Node, String> {
    let mut found = HashMap::new();
    let is_one = |block: BlockId| nodes.binary_search(&block.0).is_ok();
    let read = |index: usize| {
        let Ok(group) = heap.snapshot().group(index) else { return Vec::new() };
        let equals = group.equals().unwrap_or_default().into_iter();
        let first: HashMap<BlockId, BlockId> = equals.map(|one| (one.block, one.first)).collect();
        let strings = group.strings().unwrap_or_default().into_iter();
        let wanted = strings.filter(|text| is_one(text.block));
        let with_first = wanted.map(|text| (*first.get(&text.block).unwrap_or(&text.block), text));
        with_first.collect()
    };
    each_group(heap, nodes, read, |texts| {
        for (first, text) in texts {
            let told = match &text.prefix {
                Some(kept) if kept.len() as u64 == text.bytes => {
                    format!("\"{}\"", kept.escape_ascii())
                }
                Some(kept) => format!("\"{}\"... of {} bytes", kept.escape_ascii(), text.bytes),
                None => format!("{STRING} {} bytes @{}", text.bytes, first.0),
            };
            found.insert(text.block.0, told);
        }
    });
    found
}
