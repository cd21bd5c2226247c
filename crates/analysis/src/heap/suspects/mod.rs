//! What is probably wrong with a heap, in sentences with evidence, worst first.
//!
//! Each finding states how certain it is: certain faults come before what only looks like one. No finding
//! knows the program's purpose; a cache that is meant to be large is reported as well.

mod containers;
mod copies;
mod holders;
mod owners;
mod parameters;
mod story;

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::Serialize;

use super::{FinaliserGroup, Heap, HeapDiff, WORD, finalisers};
use crate::live::numbers::show_nanos;
use crate::sorted_rows::SortRows;
use crate::units::{show_bytes, show_count};

/// The fraction of the heap below which nothing is reported, except what is certain.
const WORTH: f64 = 0.01;
/// The number of words below which nothing is reported: a small heap has small faults.
const WORTH_WORDS: u64 = 2_048;
/// The most findings of one kind; the rest is not counted anywhere.
const OF_A_KIND: usize = 3;

/// A finding: something that is likely wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Suspect {
    /// The kind of finding.
    pub kind: SuspectKind,
    /// How certain it is.
    pub severity: Severity,
    /// What was found, with its numbers.
    pub sentence: String,
    /// The bytes concerned.
    pub bytes: u64,
    /// Their share of the heap.
    pub share: f64,
    /// The verb of `bactrian heap` that shows more, and its argument.
    pub next: (&'static str, String),
    /// Where most of it was allocated, if it was sampled.
    pub made_at: Option<String>,
    /// For one block: the path from the nearest root.
    pub held_by: Option<String>,
    /// For growth: the size in each snapshot, in bytes.
    pub series: Vec<u64>,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SuspectKind {
    /// Finalisers whose functions hold their own values.
    FinaliserCycle,
    /// A class that grows from snapshot to snapshot.
    Growth,
    /// One block or root that retains a lot.
    Owner,
    /// A hash table whose buckets are almost all empty.
    EmptyTable,
    /// Another large block that is almost empty.
    EmptyContainer,
    /// A stack that alone retains a lot.
    Stack,
    /// Suspended continuations that alone retain a lot.
    Continuation,
    /// Many ephemerons, or many dead ones.
    Ephemerons,
    /// Memory outside the heap held by small blocks.
    External,
    /// A long chain of blocks, such as a list.
    Chain,
    /// The same contents in many blocks.
    Copies,
    /// Parameters of the collector that do not fit what it counts.
    GcParameters,
}

/// How certain a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A bug, whatever the program does.
    Certain,
    /// A bug in most programs.
    Likely,
    /// May be intended.
    Possible,
}

/// Finds all kinds of faults, worst first. `growth` is the change up to this heap, if there are earlier ones.
pub fn suspects(heap: &Heap, growth: Option<&HeapDiff>) -> Vec<Suspect> {
    let look = Look { heap, total: heap.reached_words() };
    let mut found = Vec::new();
    let kinds = [
        look.finaliser_cycles(),
        growth.map_or_else(Vec::new, |growth| look.growth(growth)),
        look.owners(),
        look.empty_containers(),
        look.stacks(),
        look.continuations(),
        look.ephemerons(),
        look.external(),
        look.chains(),
        look.copies(),
        look.gc_parameters(),
    ];
    for mut of_kind in kinds {
        of_kind.sort_rows_by_key(|suspect| std::cmp::Reverse(suspect.bytes));
        of_kind.truncate(OF_A_KIND);
        found.extend(of_kind);
    }
    found.sort_rows_by_key(|suspect| (suspect.severity, std::cmp::Reverse(suspect.bytes)));
    found
}

/// The part of a sentence that names the allocation site.
fn made_there(place: &str) -> String {
    format!(". Most of it was made in {place}")
}

/// The heap under examination.
struct Look<'a> {
    heap: &'a Heap,
    /// The number of reachable words.
    total: u64,
}

impl Look<'_> {
    fn share(&self, words: u64) -> f64 {
        words as f64 / (self.total as f64).max(1.0)
    }

    /// Whether this many words are worth reporting.
    fn is_worth(&self, words: u64) -> bool {
        words >= WORTH_WORDS && self.share(words) >= WORTH
    }

    fn suspect(
        &self,
        kind: SuspectKind,
        severity: Severity,
        words: u64,
        next: (&'static str, String),
        sentence: String,
    ) -> Suspect {
        let (bytes, share) = (words.saturating_mul(WORD), self.share(words));
        let (made_at, held_by, series) = (None, None, Vec::new());
        Suspect { kind, severity, sentence, bytes, share, next, made_at, held_by, series }
    }

    /// `600 MB, 43 % of the heap`.
    fn size(&self, words: u64) -> String {
        let bytes = show_bytes(words.saturating_mul(WORD) as f64);
        format!("{bytes}, {:.0} % of the heap", 100.0 * self.share(words))
    }

    fn named(&self, node: Node) -> String {
        format!("@{node} {}", self.heap.describe(node))
    }

    fn finaliser_cycles(&self) -> Vec<Suspect> {
        let found = finalisers(self.heap);
        let suspect = |group: &FinaliserGroup| {
            let words = group.bytes / WORD;
            let used = match group.in_use {
                0 => String::new(),
                count => format!("; {count} of the values are still in use and will leak later"),
            };
            // 0 if the search for the path was given up.
            let way = match group.cycle.len().saturating_sub(1) {
                0 => String::new(),
                1 => ", in 1 step".to_owned(),
                steps => format!(", in {steps} steps"),
            };
            let sentence = format!(
                "{} of {} finalisers with the function {} can never run: the function itself holds the value \
                 ({}){way}. {} are held by nothing else{used}",
                show_count(group.count as f64),
                show_count(group.of as f64),
                group.function,
                group.value,
                self.size(words),
            );
            let next = ("finalisers", String::new());
            self.suspect(SuspectKind::FinaliserCycle, Severity::Certain, words, next, sentence)
        };
        found.groups.iter().map(suspect).collect()
    }

    /// Classes that grew in every step, by a significant fraction of the heap.
    fn growth(&self, growth: &HeapDiff) -> Vec<Suspect> {
        let rows = growth.rows.iter().filter(|row| {
            // Two snapshots show growth, but not that it continues.
            row.grows_always && row.change > 0 && self.is_worth(row.change as u64 / WORD)
        });
        let suspect = |row: &super::ClassChange| {
            let ends = row.bytes.first().zip(row.bytes.last());
            let (first, last) = ends.map_or((0, 0), |(first, last)| (*first, *last));
            let rate = row.rate.filter(|rate| *rate > 0.0).map_or(String::new(), |rate| {
                let doubles = show_nanos(last as f64 / rate * 1e9);
                format!(", about {} per second: it doubles in {doubles}", show_bytes(rate))
            });
            let made_at = self.class_made_at(&row.class);
            let place = made_at.as_ref().map_or(String::new(), |at| made_there(at));
            let sentence = format!(
                "{} grew in every one of {} snapshots, from {} to {}{rate}{place}",
                row.class,
                row.bytes.len(),
                show_bytes(first as f64),
                show_bytes(last as f64),
            );
            let next = ("paths", row.class.split(" (").next().unwrap_or("").to_owned());
            let words = row.change as u64 / WORD;
            let found = self.suspect(SuspectKind::Growth, Severity::Likely, words, next, sentence);
            Suspect { made_at, series: row.bytes.clone(), ..found }
        };
        rows.map(suspect).collect()
    }
}
