//! Finds memory held in ways that are easily overlooked: by stacks, continuations and ephemerons, and outside
//! the heap.

use std::cmp::Reverse;

use bactrian_graph::Node;
use bactrian_snapshot::{FiberOwner, WeakSlot};

use super::{Look, Severity, Suspect, SuspectKind};
use crate::heap::{HolderKind, WORD};
use crate::parallel;
use crate::units::{show_bytes, show_count};

/// The fraction of the heap from which the retained size of stacks or continuations is reported.
const HELD: f64 = 0.05;
/// A stack line is named if its frames retain this fraction of what the stack retains.
const MUCH_OF_IT: f64 = 0.1;
/// Ephemerons are reported if they and their data are this fraction of the heap, or if most are dead.
const EPHEMERONS: f64 = 0.05;
/// The number of dead ephemerons worth reporting; with fewer, tables were merely not cleaned yet.
const DEAD: u64 = 1_000;
/// The size of memory outside the heap, as a fraction of the heap, from which it is reported.
const OUTSIDE: f64 = 0.1;
/// And the size in bytes: every program has some channels of 64 kB.
const LEAST_OUTSIDE: u64 = 1_000_000;
/// Blocks count as few if each holds at least this many bytes outside, like a page.
const LARGE_OUTSIDE: u64 = 4_096;

impl Look<'_> {
    /// Threads whose stacks alone retain much.
    pub(super) fn stacks(&self) -> Vec<Suspect> {
        let threads =
            self.heap.holders().iter().filter(|h| h.kind == HolderKind::Stack && h.level == 2);
        let suspect = |thread: Node| {
            let words = self.heap.retained_words(thread);
            if self.share(words) < HELD || !self.is_worth(words) {
                return None;
            }
            let sentence = format!(
                "{} are held only by {}; {}. They are freed when the function returns or drops \
                 them",
                self.size(words),
                self.heap.describe(thread),
                self.largest_frame(thread, words),
            );
            let next = ("dominators", format!("@{thread}"));
            Some(self.suspect(SuspectKind::Stack, Severity::Possible, words, next, sentence))
        };
        threads.filter_map(|thread| suspect(thread.node)).collect()
    }

    /// The stack line that retains most, out of `all` words.
    fn largest_frame(&self, thread: Node, all: u64) -> String {
        let frames = self.heap.graph().successors(thread).iter();
        let sizes = frames.map(|&frame| (self.heap.retained_words(frame), Reverse(frame)));
        match sizes.max() {
            Some((words, Reverse(frame))) if words as f64 >= MUCH_OF_IT * all as f64 => {
                let frame = self.heap.describe(frame);
                format!("{} of it by {frame}", show_bytes(words.saturating_mul(WORD) as f64))
            }
            _ => "several frames share it".to_owned(),
        }
    }

    /// Suspended continuations that together retain much.
    pub(super) fn continuations(&self) -> Vec<Suspect> {
        let nodes: Vec<Node> =
            self.heap.tables().continuations.iter().map(|one| one.block.0).collect();
        let words = self.retained_by_all(&nodes);
        let largest = nodes.iter().copied().max_by_key(|&node| self.heap.retained_words(node));
        let Some(largest) = largest.filter(|_| self.share(words) >= HELD && self.is_worth(words))
        else {
            return Vec::new();
        };
        let frame = self.heap.tables().continuations.iter().find(|one| one.block.0 == largest);
        let frame = frame.and_then(|one| {
            let tables = self.heap.tables();
            let frames = tables.frames_from(one.first_frame, one.frames);
            frames.iter().find_map(|frame| self.heap.location(&frame.location))
        });
        let place = frame.map_or(String::new(), |frame| format!(", suspended in {frame}"));
        let suspended = self.heap.tables().fiber_stacks().iter();
        let suspended = suspended.filter(|one| matches!(one.owner, FiberOwner::Continuation(_)));
        let stacks = match suspended.fold(0_u64, |sum, one| sum.saturating_add(one.bytes)) {
            0 => String::new(),
            bytes => format!(", {} of it their stacks", show_bytes(bytes as f64)),
        };
        let sentence = format!(
            "{} suspended continuations alone hold {}{stacks}; the largest is {}{place}, with {}",
            show_count(nodes.len() as f64),
            self.size(words),
            self.named(largest),
            self.size(self.heap.retained_words(largest)),
        );
        let next = ("paths", format!("@{largest}"));
        vec![self.suspect(SuspectKind::Continuation, Severity::Possible, words, next, sentence)]
    }

    /// The words that some nodes dominate, each counted once: nodes below another of them are skipped.
    fn retained_by_all(&self, nodes: &[Node]) -> u64 {
        if nodes.is_empty() {
            return 0;
        }
        let mut is_one = vec![false; self.heap.blocks()];
        for &node in nodes {
            is_one.get_mut(node as usize).into_iter().for_each(|is| *is = true);
        }
        let group = |node: Node| u32::from(is_one.get(node as usize) != Some(&true));
        let mut words = 0_u64;
        self.heap.each_topmost(1, group, |_, node| {
            words = words.saturating_add(self.heap.retained_words(node));
        });
        words
    }

    /// Ephemerons and weak arrays that take much memory, or whose keys are mostly dead.
    pub(super) fn ephemerons(&self) -> Vec<Suspect> {
        let all = &self.heap.tables().ephemerons;
        let Some(first) = all.first() else { return Vec::new() };
        let nodes: Vec<Node> = all.iter().map(|one| one.block.0).collect();
        let words = self.retained_by_all(&nodes);
        let is_dead = |slot: &WeakSlot| matches!(slot, WeakSlot::Dead | WeakSlot::Empty);
        let dead = all.iter().filter(|one| !one.keys.is_empty() && one.keys.iter().all(is_dead));
        let dead = dead.count() as u64;
        let is_much = self.share(words) >= EPHEMERONS && self.is_worth(words);
        if !is_much && (dead < DEAD || dead * 2 < all.len() as u64) {
            return Vec::new();
        }
        let largest = nodes.iter().copied().max_by_key(|&node| self.heap.retained_words(node));
        let largest = largest.unwrap_or(first.block.0);
        let sentence = format!(
            "{} ephemerons and weak arrays alone hold {}; all keys of {} of them are dead or empty. The largest is {}",
            show_count(all.len() as f64),
            self.size(words),
            show_count(dead as f64),
            self.named(largest),
        );
        let next = ("paths", format!("@{largest}"));
        vec![self.suspect(SuspectKind::Ephemerons, Severity::Possible, words, next, sentence)]
    }

    /// Memory outside the heap held by few small blocks.
    pub(super) fn external(&self) -> Vec<Suspect> {
        let all = self.heap.census().count.external_bytes;
        if all < LEAST_OUTSIDE || (all / WORD) as f64 <= OUTSIDE * self.total as f64 {
            return Vec::new();
        }
        let snapshot = self.heap.snapshot();
        let groups: Vec<usize> = (0..snapshot.groups().len()).collect();
        let large: Vec<Vec<(Node, u64)>> = parallel::map(&groups, |&index| {
            let customs = snapshot.group(index).and_then(|group| group.customs());
            let customs = customs.unwrap_or_default().into_iter();
            let large = customs.filter(|custom| custom.external_bytes >= LARGE_OUTSIDE);
            large.map(|custom| (custom.block.0, custom.external_bytes)).collect()
        });
        let large = large.concat();
        let bytes = large.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let largest = large.iter().copied().max_by_key(|(node, bytes)| (*bytes, u32::MAX - node));
        let Some((largest, _)) = largest else { return Vec::new() };
        let root = self.root_above(largest);
        let root = root.map(|root| format!(", held by {}", self.heap.describe(root)));
        let own: u64 =
            large.iter().map(|(node, _)| self.heap.weights()[*node as usize]).map(u64::from).sum();
        let sentence = format!(
            "{} custom blocks of {} together hold {} outside the heap, which is not in its size; the largest is {}{}",
            show_count(large.len() as f64),
            show_bytes((own * WORD) as f64),
            show_bytes(bytes as f64),
            self.named(largest),
            root.unwrap_or_default(),
        );
        let next = ("paths", format!("@{largest}"));
        let kind = SuspectKind::External;
        vec![self.suspect(kind, Severity::Possible, bytes / WORD, next, sentence)]
    }
}
