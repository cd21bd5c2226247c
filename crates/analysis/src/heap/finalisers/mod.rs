//! Finalisers that can never run, because their functions reach their own values.
//!
//! `Gc.finalise f v` keeps `f` alive and calls it when nothing else holds `v`. If `f` holds `v`, directly or
//! indirectly, that never happens: `v` and everything it retains stay forever. This is certain, whatever the
//! program does, as long as the blocks on the path do not change. `Gc.finalise_last` has no such
//! trap, because its function does not get the value. But if the function holds the value anyway, it never runs either.

mod reaching;

use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_snapshot::FinaliserKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::paths::{PathStep, Shape, told_path};
use super::{Heap, HolderKind, NodeLine, WORD};
use crate::sorted_rows::SortRows;
use reaching::{Search, reaches};

/// The most nodes visited by all searches for cycles together.
const MOST_SEARCHED: usize = 400_000_000;
/// The most path steps kept at once.
const MOST_STEPS: usize = 8_000_000;
/// The most values listed for a group.
const VALUES: usize = 5;

/// The finalisers of a heap, and those that can never run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finalisers {
    /// Number of finalisers of `Gc.finalise`.
    pub first: u64,
    /// Number of finalisers of `Gc.finalise_last`.
    pub last: u64,
    /// Number of finalisers that are about to be called.
    pub pending: u64,
    /// Number of finalisers that can never run.
    pub leaking: u64,
    /// Bytes held only by finalisers that can never run.
    pub bytes: u64,
    /// Finalisers that can never run, grouped by the path from function to value.
    pub groups: Vec<FinaliserGroup>,
}

/// Finalisers whose functions reach their values along the same path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FinaliserGroup {
    /// Number of finalisers.
    pub count: u64,
    /// Number of all finalisers with the same function.
    pub of: u64,
    /// A description of the function.
    pub function: String,
    /// A description of the value.
    pub value: String,
    /// Number of values that something else still holds: they leak when it drops them.
    pub in_use: u64,
    /// Bytes held only by finalisers and reached by these.
    pub bytes: u64,
    /// The shortest path from function to value of one of them. Empty if the search was given up.
    pub cycle: Vec<PathStep>,
    /// Some of the values, those with the largest retained size first.
    pub values: Vec<NodeLine>,
}

struct Leak {
    function: Node,
    value: Node,
}

/// Finds finalisers that can never run.
pub fn finalisers(heap: &Heap) -> Finalisers {
    let all = &heap.tables().finalisers;
    let count = |kind: FinaliserKind| all.iter().filter(|one| one.kind == kind).count() as u64;
    let watched = all.iter().filter(|one| one.kind != FinaliserKind::Pending);
    let pairs: Vec<(Node, Node)> =
        watched.filter_map(|one| Some((one.function?.block.0, one.value?.block.0))).collect();
    let mut answer = Finalisers {
        first: count(FinaliserKind::First),
        last: count(FinaliserKind::Last),
        pending: count(FinaliserKind::Pending),
        leaking: 0,
        bytes: 0,
        groups: Vec::new(),
    };
    if pairs.is_empty() {
        return answer;
    }
    let found = pairs.iter().zip(reaches(heap, &pairs)).filter(|(_, reaches)| *reaches);
    let leaks: Vec<Leak> = found.map(|(&(function, value), _)| Leak { function, value }).collect();
    answer.leaking = leaks.len() as u64;
    if leaks.is_empty() {
        return answer;
    }
    let mut functions: HashMap<u32, u64> = HashMap::new();
    for (function, _) in &pairs {
        *functions.entry(class(heap, *function)).or_default() += 1;
    }
    let mut leaked = Leaked::new(heap);
    let mut groups: Vec<_> = grouped(heap, &leaks)
        .into_iter()
        .map(|(leaks, cycle)| group(heap, &leaks, cycle, &mut leaked, &functions))
        .collect();
    groups.sort_rows_by_key(|group| std::cmp::Reverse((group.bytes, group.count)));
    let starts = leaks.iter().map(|leak| leak.function);
    answer.bytes = leaked.bytes(starts);
    answer.groups = groups;
    answer
}

fn class(heap: &Heap, node: Node) -> u32 {
    heap.class_of().get(node as usize).copied().unwrap_or(u32::MAX)
}

/// Leaks grouped by the path from function to value, with this path.
fn grouped<'a>(heap: &Heap, leaks: &'a [Leak]) -> Vec<(Vec<&'a Leak>, Vec<PathStep>)> {
    let mut search = Search::new(heap.graph().nodes());
    let mut left = MOST_SEARCHED;
    let mut known: HashMap<(u32, u32, Shape), usize> = HashMap::new();
    let mut groups: Vec<(Vec<&Leak>, Vec<PathStep>)> = Vec::new();
    let mut put = |leaks: &'a [Leak], paths: &[Vec<Node>]| {
        for (leak, (steps, shape)) in leaks.iter().zip(told_path(heap, paths)) {
            let ends = (class(heap, leak.function), class(heap, leak.value));
            let at = *known.entry((ends.0, ends.1, shape)).or_insert_with(|| {
                groups.push((Vec::new(), steps));
                groups.len() - 1
            });
            groups[at].0.push(leak);
        }
    };
    // Functions that all hold one list have paths as long as the list, so not all paths are kept at once.
    let (mut paths, mut steps, mut first) = (Vec::new(), 0, 0);
    for (at, leak) in leaks.iter().enumerate() {
        let (path, seen) = search.path(heap.graph(), leak.function, leak.value, left);
        left = left.saturating_sub(seen);
        let path = path.unwrap_or_default();
        steps += path.len();
        paths.push(path);
        if steps >= MOST_STEPS {
            put(&leaks[first..=at], &paths);
            paths.clear();
            (steps, first) = (0, at + 1);
        }
    }
    put(&leaks[first..], &paths);
    groups
}

fn group(
    heap: &Heap,
    leaks: &[&Leak],
    cycle: Vec<PathStep>,
    leaked: &mut Leaked<'_>,
    functions: &HashMap<u32, u64>,
) -> FinaliserGroup {
    let first = leaks.first().map_or((0, 0), |leak| (leak.function, leak.value));
    let is_used = |leak: &&&Leak| leaked.in_use.get(leak.value as usize) == Some(&true);
    let in_use = leaks.iter().filter(is_used).count() as u64;
    let mut values: Vec<Node> = leaks.iter().map(|leak| leak.value).collect();
    values.sort_by_key(|&value| (std::cmp::Reverse(heap.retained_words(value)), value));
    values.dedup();
    FinaliserGroup {
        count: leaks.len() as u64,
        of: functions.get(&class(heap, first.0)).copied().unwrap_or(0),
        function: heap.describe(first.0),
        value: heap.describe(first.1),
        in_use,
        bytes: leaked.bytes(leaks.iter().map(|leak| leak.function)),
        cycle,
        values: values.into_iter().take(VALUES).map(|value| heap.line(value)).collect(),
    }
}

/// Computes what is held by nothing but finalisers.
struct Leaked<'a> {
    heap: &'a Heap,
    /// What is reachable without finalisers.
    in_use: Vec<bool>,
    /// For each node, the number of the last sum that included it.
    counted: Vec<u32>,
    number: u32,
}

impl Leaked<'_> {
    fn new(heap: &Heap) -> Leaked<'_> {
        let is_finaliser = |node: Node| {
            heap.holders().get(node).is_some_and(|holder| holder.kind == HolderKind::Finaliser)
        };
        let mut in_use = vec![false; heap.graph().nodes()];
        let mut waiting = vec![heap.root()];
        while let Some(node) = waiting.pop() {
            if !is_finaliser(node) && !std::mem::replace(&mut in_use[node as usize], true) {
                waiting.extend_from_slice(heap.graph().successors(node));
            }
        }
        Leaked { heap, counted: vec![0; in_use.len()], in_use, number: 0 }
    }

    /// Bytes that are reachable from these blocks and not in use otherwise.
    fn bytes(&mut self, starts: impl Iterator<Item = Node>) -> u64 {
        self.number += 1;
        let mut waiting: Vec<Node> = starts.collect();
        let mut words = 0_u64;
        while let Some(node) = waiting.pop() {
            let counted = &mut self.counted[node as usize];
            if !self.in_use[node as usize] && *counted != self.number {
                *counted = self.number;
                words += u64::from(self.heap.weights()[node as usize]);
                waiting.extend_from_slice(self.heap.graph().successors(node));
            }
        }
        words.saturating_mul(WORD)
    }
}
