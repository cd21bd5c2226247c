//! Sums shown in tables: what holders hold, and class totals. They are small, but need passes over the whole
//! graph. They are saved, so that a table that was shown before is available at once.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::thread;

use bactrian_graph::{Dominators, NONE, Node};

use super::Heap;
use super::index::{Index, IndexSection};

/// The most blocks visited one by one for a holder's reachable size, before falling back to passes for many
/// holders at once.
const FEW: usize = 1 << 14;

/// The sizes of a holder, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HolderSizes {
    /// Blocks to which the holder or its descendants in the tree of holders point.
    pub shallow: u64,
    /// Everything reachable from it; None if not computed.
    pub reached: Option<u64>,
    /// Its retained size: everything reachable only through it.
    pub retained: u64,
    /// Its fair share.
    pub share: f64,
}

/// The totals of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotal {
    /// The number of blocks.
    pub blocks: u64,
    /// Their words, with headers.
    pub words: u64,
    /// Their retained size: the sum over the blocks that no other block of the class dominates.
    pub retained: u64,
}

/// The sums computed so far.
#[derive(Default)]
pub(super) struct Numbers {
    pub held: Mutex<Option<HeldNumbers>>,
    pub classes: OnceLock<Vec<ClassTotal>>,
    pub tags: OnceLock<Vec<ClassTotal>>,
}

/// The sizes of all holders, in node order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HeldNumbers {
    pub held: Vec<HolderSizes>,
    pub unreached: u64,
}

impl Numbers {
    /// The number of unreachable blocks, if known. Does not wait for a running computation, which may take
    /// long: callers only want to mention the number.
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
    /// The sizes of holders, in the order of [`Heap::holders`]. The reachable size is computed for the
    /// holders in `wanted`, and may be known for others.
    pub fn held(&self, wanted: &[Node]) -> Vec<HolderSizes> {
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

    /// The number of unreachable blocks; an intact snapshot has none.
    pub fn unreached(&self) -> u64 {
        self.numbers.unreached().unwrap_or_else(|| self.count_unreached(self.dominators()))
    }

    pub(super) fn count_unreached(&self, dominators: &Dominators) -> u64 {
        let parents = dominators.parent.iter().take(self.blocks());
        parents.filter(|parent| **parent == NONE).count() as u64
    }

    fn first_numbers(&self) -> HeldNumbers {
        // These are independent, single-threaded passes over the whole graph. Threads instead of rayon: a
        // waiting rayon worker runs other jobs, which could request the same computation.
        let (dominators, shares) = thread::scope(|scope| {
            let shares = thread::Builder::new().spawn_scoped(scope, || self.shares());
            let dominators = self.dominators();
            // Where processes are limited, there may be no other thread.
            let shares = shares.ok().and_then(|shares| shares.join().ok());
            (dominators, shares.unwrap_or_else(|| self.shares()))
        });
        let root = self.root();
        let held = self.holders().iter().map(|holder| {
            let node = holder.node as usize;
            let retained = dominators.retained.get(node).copied().unwrap_or(0);
            HolderSizes {
                shallow: self.shallow(holder.node),
                reached: (holder.node == root).then_some(retained),
                retained,
                share: shares.get(node).copied().unwrap_or(0.0),
            }
        });
        let held = held.collect();
        HeldNumbers { held, unreached: self.count_unreached(dominators) }
    }

    /// The words of the blocks to which a holder or its descendants point, each counted once.
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

    /// The words reachable from a node, if there are only few blocks.
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

    /// The totals of each class, in the order of [`Heap::classes`].
    pub fn class_totals(&self) -> &[ClassTotal] {
        let count = self.classes().len();
        self.numbers.classes.get_or_init(|| {
            let load = |index: &Index| self.load_totals(index, IndexSection::ClassTotals, count);
            let class_of = self.class_of();
            let class = |node: Node| class_of.get(node as usize).copied().unwrap_or(u32::MAX);
            self.kept_or(load, || self.totals_by(count, class))
        })
    }

    /// The totals of each tag from 0 to 255; unreadable blocks have no tag.
    pub fn tag_totals(&self) -> &[ClassTotal] {
        self.numbers.tags.get_or_init(|| {
            let load = |index: &Index| self.load_totals(index, IndexSection::TagTotals, 256);
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

    /// The totals of each of `count` groups. Nodes with a higher group number are in no group.
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

    /// Visits the blocks of each of `count` groups that no other block of the same group dominates. Nodes
    /// with a higher group number are in no group.
    pub(crate) fn each_topmost(
        &self,
        count: usize,
        group: impl Fn(Node) -> u32,
        mut visit: impl FnMut(usize, Node),
    ) {
        let blocks = self.blocks() as Node;
        let tree = self.dominator_tree();
        let mut on_the_way = vec![0_u32; count];
        // The path of nodes whose children are being visited, with the index of the next child.
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
                // Most nodes have no children and need not be pushed.
                if tree.children(child).is_empty() {
                    continue;
                }
                on_the_way[at] += 1;
            }
            way.push((child, 0));
        }
    }
}
