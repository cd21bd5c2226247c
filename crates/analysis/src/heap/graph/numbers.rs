//! Sums that tables show: what holders hold, and what classes have. They are few, cost passes over the whole graph,
//! and are kept, so that a table that was shown before is shown at once.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::thread;

use bactrian_graph::{Dominators, NONE, Node};

use super::Heap;
use super::index::{Index, Kind};

/// Blocks that are visited one by one to know what a holder reaches, before the passes for many at once.
const FEW: usize = 1 << 14;

/// What a holder holds, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Blocks that it, or what is below it in the tree, points to.
    pub shallow: u64,
    /// All that can be reached from it; none if that was not computed.
    pub reached: Option<u64>,
    /// What can be reached only through it.
    pub retained: u64,
    /// Its fair share.
    pub share: f64,
}

/// What a class of blocks has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotal {
    /// Its blocks.
    pub blocks: u64,
    /// Their words with headers.
    pub words: u64,
    /// What they retain: the sum over those that no block of the same class dominates.
    pub retained: u64,
}

/// What was computed so far.
#[derive(Default)]
pub(super) struct Numbers {
    pub held: Mutex<Option<HeldNumbers>>,
    pub classes: OnceLock<Vec<ClassTotal>>,
    pub tags: OnceLock<Vec<ClassTotal>>,
}

/// What each holder holds, in the order of their nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HeldNumbers {
    pub held: Vec<Held>,
    pub unreached: u64,
}

impl Numbers {
    /// How many blocks nothing holds, if that is known. Nobody waits for it while it is computed: that may take long, and others
    /// only want to mention it.
    pub fn unreached(&self) -> Option<u64> {
        match self.held.try_lock() {
            Ok(held) => held.as_ref().map(|held| held.unreached),
            Err(TryLockError::Poisoned(held)) => {
                held.into_inner().as_ref().map(|held| held.unreached)
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Heap {
    /// What holders hold, in the order of [`Heap::holders`]. What is reached is computed for those that `wanted`
    /// names, and known of some others.
    pub fn held(&self, wanted: &[Node]) -> Vec<Held> {
        let mut numbers = self.numbers.held.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = numbers.get_or_insert_with(|| {
            self.kept_or(|index| self.load_held(index), || self.first_numbers())
        });
        let first = self.blocks() as Node;
        let at = |node: Node| node.checked_sub(first).map(|at| at as usize);
        let mut missing: Vec<Node> = Vec::new();
        for &node in wanted {
            let held = at(node).and_then(|at| numbers.held.get_mut(at));
            let Some(held) = held.filter(|held| held.reached.is_none()) else { continue };
            held.reached = self.reached_by_few(node);
            self.is_new.store(true, Ordering::Relaxed);
            missing.extend(held.reached.is_none().then_some(node));
        }
        if !missing.is_empty() {
            let groups: Vec<&[Node]> = missing.iter().map(std::slice::from_ref).collect();
            let words =
                bactrian_graph::reach(self.graph(), self.components(), &groups, self.weights());
            for (&node, words) in missing.iter().zip(words) {
                let held = at(node).and_then(|at| numbers.held.get_mut(at));
                held.into_iter().for_each(|held| held.reached = Some(words));
            }
        }
        numbers.held.clone()
    }

    /// Blocks that nothing holds: there are none in a sound snapshot.
    pub fn unreached(&self) -> u64 {
        self.numbers.unreached().unwrap_or_else(|| self.count_unreached(self.dominators()))
    }

    pub(super) fn count_unreached(&self, dominators: &Dominators) -> u64 {
        let parents = dominators.parent.iter().take(self.blocks());
        parents.filter(|parent| **parent == NONE).count() as u64
    }

    fn first_numbers(&self) -> HeldNumbers {
        // Neither needs the other, and both are passes over the whole graph on one processor. Not with rayon: who waits
        // there does other work, and that could ask for the same.
        let (dominators, shares) = thread::scope(|scope| {
            let shares = scope.spawn(|| self.shares());
            (self.dominators(), shares.join().unwrap_or_else(|_| self.shares()))
        });
        let root = self.root();
        let held = self.holders().iter().map(|holder| {
            let node = holder.node as usize;
            let retained = dominators.retained.get(node).copied().unwrap_or(0);
            Held {
                shallow: self.shallow(holder.node),
                reached: (holder.node == root).then_some(retained),
                retained,
                share: shares.get(node).copied().unwrap_or(0.0),
            }
        });
        let held = held.collect();
        HeldNumbers { held, unreached: self.count_unreached(dominators) }
    }

    /// Words of the blocks that a holder, or one below it, points to, each counted once.
    pub(in crate::heap) fn shallow(&self, holder: Node) -> u64 {
        let (blocks, weights) = (self.blocks() as Node, self.weights());
        let mut seen = HashSet::new();
        let mut waiting = vec![holder];
        let mut words = 0;
        while let Some(node) = waiting.pop() {
            for &target in self.graph().successors(node) {
                if target >= blocks {
                    waiting.push(target);
                } else if seen.insert(target) {
                    words += weights.get(target as usize).copied().map_or(0, u64::from);
                }
            }
        }
        words
    }

    /// Words that can be reached from a node, if they are few.
    fn reached_by_few(&self, node: Node) -> Option<u64> {
        let mut seen = HashSet::from([node]);
        let mut waiting = vec![node];
        let mut words = 0;
        while let Some(node) = waiting.pop() {
            words += self.weights().get(node as usize).copied().map_or(0, u64::from);
            let targets = self.graph().successors(node);
            if seen.len() + waiting.len() + targets.len() > FEW {
                return None;
            }
            waiting.extend(targets.iter().filter(|target| seen.insert(**target)));
        }
        Some(words)
    }

    /// What each class has, in the order of [`Heap::classes`].
    pub fn class_totals(&self) -> &[ClassTotal] {
        let count = self.classes().len();
        self.numbers.classes.get_or_init(|| {
            let load = |index: &Index| self.load_totals(index, Kind::ClassTotals, count);
            let class_of = self.class_of();
            let class = |node: Node| class_of.get(node as usize).copied().unwrap_or(u32::MAX);
            self.kept_or(load, || self.totals_by(count, class))
        })
    }

    /// What each tag has, from 0 to 255; what could not be read has none.
    pub fn tag_totals(&self) -> &[ClassTotal] {
        self.numbers.tags.get_or_init(|| {
            let load = |index: &Index| self.load_totals(index, Kind::TagTotals, 256);
            let tags = self.shapes().iter().map(|shape| shape.tag.map_or(u32::MAX, u32::from));
            let tags: Vec<u32> = tags.collect();
            let shape_of = self.shape_of();
            let tag = |node: Node| {
                let shape = shape_of.get(node as usize);
                shape.and_then(|shape| tags.get(*shape as usize)).copied().unwrap_or(u32::MAX)
            };
            self.kept_or(load, || self.totals_by(256, tag))
        })
    }

    /// What each of `count` groups of blocks has. A node whose group is too high a number is in none.
    pub(crate) fn totals_by(&self, count: usize, group: impl Fn(Node) -> u32) -> Vec<ClassTotal> {
        let mut totals = vec![ClassTotal::default(); count];
        let blocks = self.blocks() as Node;
        for (node, &weight) in (0..blocks).zip(self.weights()) {
            if let Some(total) = totals.get_mut(group(node) as usize) {
                total.blocks += 1;
                total.words += u64::from(weight);
            }
        }
        let retained: &[u64] = &self.dominators().retained;
        self.each_topmost(count, group, |at, node| {
            let words = retained.get(node as usize).copied().unwrap_or(0);
            totals[at].retained = totals[at].retained.saturating_add(words);
        });
        totals
    }

    /// Visits those blocks of each of `count` groups that no other of the same group dominates. A node whose group is too
    /// high a number is in none.
    pub(crate) fn each_topmost(
        &self,
        count: usize,
        group: impl Fn(Node) -> u32,
        mut visit: impl FnMut(usize, Node),
    ) {
        let blocks = self.blocks() as Node;
        let tree = self.dominator_tree();
        let mut on_the_way = vec![0_u32; count];
        // Nodes whose children are visited, with the place of the next child.
        let mut way: Vec<(Node, u32)> = vec![(self.root(), 0)];
        while let Some((node, next)) = way.last_mut() {
            let node = *node;
            let Some(&child) = tree.children(node).get(*next as usize) else {
                way.pop();
                if node < blocks
                    && let Some(here) = on_the_way.get_mut(group(node) as usize)
                {
                    *here -= 1;
                }
                continue;
            };
            *next += 1;
            if child < blocks
                && let Some(at) = Some(group(child) as usize).filter(|&at| at < count)
            {
                if on_the_way[at] == 0 {
                    visit(at, child);
                }
                // Most have no children, and need not be on the way.
                if tree.children(child).is_empty() {
                    continue;
                }
                on_the_way[at] += 1;
            }
            way.push((child, 0));
        }
    }
}
