//! Finds single blocks and roots that retain much, and long chains.

use bactrian_graph::{NONE, Node};

use super::{Look, Severity, Suspect, SuspectKind, made_there};
use crate::heap::{Holder, HolderKind};
use crate::units::show_count;

/// The fraction of the heap from which an owner is reported: then nothing else matters as much.
const MUCH: f64 = 0.2;
/// A block is passed over if one that it dominates has this fraction of its retained size: that block is the
/// one that accumulates.
const PASSED_ON: f64 = 0.8;
/// The length from which a function that is not tail-recursive may overflow the stack on a chain: at 100 bytes per call,
/// this many calls fill the 8 MB that systems mostly give to OCaml 4. (OCaml 5 has a limit of its own, which is higher.)
const LONG: u32 = 80_000;

/// Whether other findings report what a root retains.
fn is_told_elsewhere(holder: &Holder) -> bool {
    matches!(holder.kind, HolderKind::Stack | HolderKind::Finaliser)
}

impl Look<'_> {
    /// Where much memory accumulates: going down from the roots, the last block that has almost all of it.
    pub(super) fn owners(&self) -> Vec<Suspect> {
        let tree = self.heap.dominator_tree();
        let class_of = self.heap.class_of();
        let words = |node: Node| self.heap.retained_words(node);
        let mut found = Vec::new();
        let mut waiting = vec![self.heap.root()];
        while let Some(top) = waiting.pop() {
            let mut at = top;
            let level = |node: Node| self.heap.holders().get(node).map(|holder| holder.level);
            loop {
                let largest = tree.children(at).iter().copied().max_by_key(|&child| words(child));
                // A list is reported at its head, not at the cell that most of it lies below.
                let passes = largest.filter(|&child| {
                    words(child) as f64 >= PASSED_ON * words(top) as f64
                        && (class_of.get(at as usize) != class_of.get(child as usize)
                            || level(child).is_some())
                });
                match passes {
                    Some(child) => at = child,
                    None => break,
                }
            }
            // Kinds of roots own nothing themselves, but what is below them may.
            if level(at).is_some_and(|level| level <= 1) {
                let large = tree.children(at).iter().copied();
                waiting.extend(large.filter(|&child| self.share(words(child)) >= MUCH));
            } else if self.heap.holders().get(at).is_some_and(is_told_elsewhere) {
                continue;
            } else if self.share(words(at)) >= MUCH && self.is_worth(words(at)) {
                found.push(self.owner(at));
            }
        }
        found
    }

    fn owner(&self, node: Node) -> Suspect {
        let words = self.heap.retained_words(node);
        let mut sentence = format!("{} alone holds {}", self.named(node), self.size(words));
        let held_by = (self.root_above(node) != Some(node)).then(|| self.held_by(node)).flatten();
        if let Some(holder) = &held_by {
            sentence.push_str(&format!(", and is held by {holder}"));
        }
        let below = self.below(node);
        if let Some(captured) = self.captured(&below, words) {
            sentence.push_str(&format!(". {captured}"));
        }
        let made_at = self.made_at(&below);
        if let Some(place) = &made_at {
            sentence.push_str(&made_there(place));
        }
        if let Some(growth) = self.grows(&below, words) {
            sentence.push_str(&format!(". {growth}"));
        }
        let (class, blocks, of_class) = self.largest_class(&below);
        if let Some(class) = self.heap.classes().get(class as usize)
            && blocks > 1
        {
            sentence.push_str(&format!(
                ". The largest part, {:.0} %, are {} blocks of {}",
                100.0 * of_class as f64 / (words as f64).max(1.0),
                show_count(blocks as f64),
                class.title(),
            ));
        }
        let next = ("dominators", format!("@{node}"));
        let found = self.suspect(SuspectKind::Owner, Severity::Possible, words, next, sentence);
        Suspect { made_at, held_by, ..found }
    }

    /// The nearest root among a node's dominators; None if only several roots together dominate it.
    pub(super) fn root_above(&self, node: Node) -> Option<Node> {
        let parent = &*self.heap.dominators().parent;
        let mut at = node;
        while self.heap.holders().get(at).is_none() {
            at = parent.get(at as usize).copied().filter(|&above| above != NONE)?;
        }
        self.heap.holders().get(at).filter(|holder| holder.level > 1).map(|holder| holder.node)
    }

    /// The longest chain of blocks of one class, each of which dominates the next.
    pub(super) fn chains(&self) -> Vec<Suspect> {
        let parent = &*self.heap.dominators().parent;
        let class_of = self.heap.class_of();
        let blocks = self.heap.blocks();
        let mut length = vec![0_u32; blocks];
        let mut way: Vec<Node> = Vec::new();
        let mut longest = (0, 0);
        for node in 0..blocks as Node {
            // Up to a block with a known length or the start of a chain, then back down.
            let mut at = node;
            while length[at as usize] == 0 {
                way.push(at);
                let above = parent.get(at as usize).copied().unwrap_or(NONE);
                let is_same =
                    (above as usize) < blocks && class_of[above as usize] == class_of[at as usize];
                if !is_same {
                    break;
                }
                at = above;
            }
            let mut so_far = length[at as usize];
            while let Some(node) = way.pop() {
                so_far += 1;
                length[node as usize] = so_far;
            }
            longest = longest.max((length[node as usize], node));
        }
        let (count, last) = longest;
        if count < LONG {
            return Vec::new();
        }
        drop(length);
        let mut head = last;
        for _ in 1..count {
            head = parent[head as usize];
        }
        let words = self.heap.retained_words(head);
        let sentence = format!(
            "{} blocks of {} are a chain, each held by the one before; it begins at {} and holds {}. Functions that \
             follow it and are not tail-recursive may overflow the stack",
            show_count(f64::from(count)),
            self.heap.class(last).title(),
            self.named(head),
            self.size(words),
        );
        let next = ("paths", format!("@{head}"));
        vec![self.suspect(SuspectKind::Chain, Severity::Possible, words, next, sentence)]
    }
}
