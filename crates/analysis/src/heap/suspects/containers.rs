//! Finds large blocks that are almost empty.

use bactrian_graph::Node;
use bactrian_snapshot::FieldValue;
use bactrian_types::Collection;

use super::{Look, Severity, Suspect, SuspectKind, WORTH_WORDS};
use crate::heap::ClassKind;
use crate::heap::show::predecessors;
use crate::units::show_count;

/// A block is almost empty if at most this fraction of its fields are pointers.
const FILLED: f64 = 0.1;
/// The number of blocks examined: the largest.
const CLOSELY: usize = 50;

/// What is wrong with a large block.
enum Fault {
    /// It is the bucket array of a hash table with this many used buckets.
    Table { table: Node, used: u64 },
    /// Only this many fields are pointers.
    Mostly { used: u64 },
    /// All fields point to the same block.
    SameBlock(Node),
    /// All fields are this immediate.
    SameNumber(i64),
}

impl Look<'_> {
    pub(super) fn empty_containers(&self) -> Vec<Suspect> {
        let graph = self.heap.graph();
        let weights = self.heap.weights();
        let is_large = |node: &Node| {
            let words = u64::from(weights[*node as usize]);
            words > WORTH_WORDS && self.is_worth(words)
        };
        let mut large: Vec<Node> = (0..self.heap.blocks() as Node).filter(is_large).collect();
        large.retain(|&node| {
            let words = u64::from(weights[node as usize]) - 1;
            let targets = graph.successors(node);
            let is_empty = (targets.len() as f64) <= FILLED * words as f64;
            let is_same =
                targets.len() as u64 == words && targets.iter().all(|to| *to == targets[0]);
            self.heap.kind(node) == ClassKind::Structured && (is_empty || is_same)
        });
        large.sort_by_key(|&node| (std::cmp::Reverse(weights[node as usize]), node));
        large.truncate(CLOSELY);
        large.into_iter().filter_map(|node| Some(self.container(node, self.fault(node)?))).collect()
    }

    fn fault(&self, node: Node) -> Option<Fault> {
        let targets = self.heap.graph().successors(node);
        let words = u64::from(self.heap.weights()[node as usize]) - 1;
        let used = targets.len() as u64;
        if used == words {
            return targets.first().map(|&to| Fault::SameBlock(to));
        }
        // Without types: a Hashtbl.t has the fields size, data, seed and initial size. One or two are
        // pointers, and the length of the data is a power of two.
        let table = predecessors(self.heap, node).into_iter().find(|&before| {
            if let Some((_, of)) = self.heap.type_class(before) {
                return of.collection == Some(Collection::Hashtbl);
            }
            let block = self.heap.block(before);
            let is_record = block.is_some_and(|block| block.tag == 0 && block.words == 4);
            is_record && self.heap.graph().successors(before).len() <= 2
        });
        if let Some(table) = table.filter(|_| words.is_power_of_two()) {
            return Some(Fault::Table { table, used });
        }
        if used > 0 {
            return Some(Fault::Mostly { used });
        }
        // A block without pointers may be an array of numbers, which is empty only if all are equal.
        let fields = self.heap.fields(node);
        let mut numbers = fields.iter().map(|field| match field.value {
            FieldValue::Immediate(number) => number,
            _ => None,
        });
        let first = numbers.next()??;
        numbers.all(|number| number == Some(first)).then_some(Fault::SameNumber(first))
    }

    fn container(&self, node: Node, fault: Fault) -> Suspect {
        let words = u64::from(self.heap.weights()[node as usize]);
        let fields = show_count((words - 1) as f64);
        let size = self.size(words);
        let (kind, block) = (SuspectKind::EmptyContainer, self.named(node));
        let (kind, look_at, sentence) = match fault {
            Fault::Table { table, used } => {
                let what = match used {
                    0 => "none is used".to_owned(),
                    used => format!("{} are used", show_count(used as f64)),
                };
                let sentence = format!(
                    "The hash table {} has {fields} buckets, of which {what}; they take {size}",
                    self.named(table)
                );
                (SuspectKind::EmptyTable, table, sentence)
            }
            Fault::Mostly { used } => {
                let used = show_count(used as f64);
                let sentence = format!(
                    "Of the {fields} fields of {block} only {used} point to something; it takes {size}"
                );
                (kind, node, sentence)
            }
            Fault::SameBlock(to) => {
                let sentence = format!(
                    "All {fields} fields of {block} point to {}; it takes {size}",
                    self.named(to)
                );
                (kind, node, sentence)
            }
            Fault::SameNumber(number) => {
                let sentence =
                    format!("All {fields} fields of {block} are {number}; it takes {size}");
                (kind, node, sentence)
            }
        };
        let root =
            self.root_above(node).map(|root| format!(", held by {}", self.heap.describe(root)));
        let sentence = format!("{sentence}{}", root.unwrap_or_default());
        self.suspect(kind, Severity::Likely, words, ("paths", format!("@{look_at}")), sentence)
    }
}
