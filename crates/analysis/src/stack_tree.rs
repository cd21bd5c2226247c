//! The tree of all stacks: one node for each distinct path of labels from the outermost frame inwards.
//!
//! A stack is a node, and a node is a number. Nodes are created in the order in which stacks first appear, so
//! that nodes used together are adjacent. The children of a node are in a short linked list, because most
//! nodes have few; those of a crowded parent are found by hashing, so that no file can make the lists long.

use std::collections::HashMap;

use bactrian_trace::{Alloc, FrameId, Frames};

use crate::labels::{LabelId, Labels};
use crate::stack_walk::{Along, StackWalks};

/// A distinct stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

impl StackId {
    /// The empty stack.
    pub const ROOT: StackId = StackId(0);

    /// Its index in arrays with an element for each stack.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The most distinct stacks: about 1 GB, and as much again for each measure.
const MAX_STACKS: usize = 64 << 20;
/// The limit is this number plus the size of the file in bytes. Real traces have at most one stack per three
/// bytes; a hostile one could have a hundred per byte.
const FREE_STACKS: usize = 1 << 20;
/// The longest list of children; further children are hashed.
const MAX_CHAIN: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: StackId,
    label: LabelId,
    /// `ROOT` stands for none in both.
    first_child: StackId,
    next_sibling: StackId,
}

/// How to treat recursive calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recursion {
    /// Every call is a step of the stack.
    Keep,
    /// Directly nested calls of the same function are merged.
    Fold,
}

/// All distinct stacks. Parents come before their children.
#[derive(Debug)]
pub struct StackTree {
    nodes: Vec<Node>,
    crowded: HashMap<(StackId, LabelId), StackId>,
    capacity: usize,
    cut: u64,
}

impl Default for StackTree {
    fn default() -> StackTree {
        StackTree::with_capacity_limit(MAX_STACKS)
    }
}

impl StackTree {
    /// A tree for the stacks of a file of this size.
    pub(crate) fn for_file_of(bytes: usize) -> StackTree {
        StackTree::with_capacity_limit(bytes.saturating_add(FREE_STACKS).min(MAX_STACKS))
    }

    /// Likewise, with at most this many stacks.
    pub(crate) fn with_room_for(self, stacks: usize) -> StackTree {
        StackTree { capacity: self.capacity.min(stacks), ..self }
    }

    fn with_capacity_limit(capacity: usize) -> StackTree {
        let root = Node {
            parent: StackId::ROOT,
            label: LabelId::from_index(0),
            first_child: StackId::ROOT,
            next_sibling: StackId::ROOT,
        };
        StackTree { nodes: vec![root], crowded: HashMap::new(), capacity, cut: 0 }
    }

    /// The number of distinct stacks, including the empty one.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always false: the empty stack exists.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// How often a frame was dropped because the tree was full; its stack then counts for the part without
    /// it.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// All stacks except the empty one, parents before children.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = StackId> + use<> {
        (1..self.nodes.len() as u32).map(StackId)
    }

    /// The stack with this index, if there is one.
    pub fn id(&self, place: usize) -> Option<StackId> {
        (place < self.nodes.len()).then_some(StackId(place as u32))
    }

    /// The stack without its innermost label.
    pub fn parent(&self, stack: StackId) -> StackId {
        self.nodes[stack.index()].parent
    }

    /// The innermost label. Meaningless for the empty stack.
    pub fn label(&self, stack: StackId) -> LabelId {
        self.nodes[stack.index()].label
    }

    /// The labels of a stack, innermost first.
    pub fn labels_innermost_first(&self, mut stack: StackId) -> impl Iterator<Item = LabelId> + '_ {
        std::iter::from_fn(move || {
            let node = &self.nodes[stack.index()];
            (stack != StackId::ROOT).then(|| {
                stack = node.parent;
                node.label
            })
        })
    }

    /// The stack `parent` extended by `label`; `parent` itself if that is new and the tree is full.
    #[inline]
    pub(crate) fn child(&mut self, parent: StackId, label: LabelId) -> StackId {
        let mut at = self.nodes[parent.index()].first_child;
        let mut length = 0;
        let mut last = StackId::ROOT;
        while at != StackId::ROOT {
            let node = &self.nodes[at.index()];
            if node.label == label {
                return at;
            }
            (last, at) = (at, node.next_sibling);
            length += 1;
        }
        if length < MAX_CHAIN {
            let new = self.push(parent, label);
            if new != parent {
                match last {
                    StackId::ROOT => self.nodes[parent.index()].first_child = new,
                    last => self.nodes[last.index()].next_sibling = new,
                }
            }
            return new;
        }
        if let Some(&found) = self.crowded.get(&(parent, label)) {
            return found;
        }
        let new = self.push(parent, label);
        if new != parent {
            self.crowded.insert((parent, label), new);
        }
        new
    }

    /// The stack `outer` extended by these labels.
    #[inline]
    pub(crate) fn inwards(
        &mut self,
        outer: StackId,
        labels: &[LabelId],
        recursion: Recursion,
    ) -> StackId {
        labels.iter().fold(outer, |at, &label| {
            let again = at != StackId::ROOT && self.label(at) == label;
            if again && recursion == Recursion::Fold { at } else { self.child(at, label) }
        })
    }

    #[inline]
    fn push(&mut self, parent: StackId, label: LabelId) -> StackId {
        if self.nodes.len() >= self.capacity {
            self.cut += 1;
            return parent;
        }
        let new = StackId(self.nodes.len() as u32);
        let none = StackId::ROOT;
        self.nodes.push(Node { parent, label, first_child: none, next_sibling: none });
        new
    }
}

/// Inserts the stacks of a trace into a tree, in order.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    walks: StackWalks<StackId>,
    grow: Grow,
}

#[derive(Debug)]
struct Grow {
    labels: Labels,
    recursion: Recursion,
    tree: StackTree,
}

impl Along for Grow {
    type Item = StackId;

    #[inline]
    fn enter(&mut self, outer: Option<StackId>, frame: FrameId, frames: &Frames) -> StackId {
        let Grow { labels, recursion, tree } = self;
        tree.inwards(outer.unwrap_or(StackId::ROOT), labels.of(frame, frames), *recursion)
    }
}

impl TreeBuilder {
    pub fn new(labels: Labels, recursion: Recursion, tree: StackTree) -> TreeBuilder {
        let grow = Grow { labels, recursion, tree };
        TreeBuilder { walks: StackWalks::default(), grow }
    }

    #[inline]
    pub fn leave_out(&mut self, alloc: &Alloc<'_>) {
        self.walks.leave_out(alloc);
    }

    #[inline]
    pub fn find(&mut self, alloc: &Alloc<'_>, frames: &Frames) -> StackId {
        self.walks.go_to(alloc, frames, &mut self.grow).last().copied().unwrap_or(StackId::ROOT)
    }

    pub fn finish(self) -> (StackTree, Labels) {
        (self.grow.tree, self.grow.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(tree: &mut StackTree, labels: &[usize]) -> StackId {
        let labels = labels.iter().map(|&label| LabelId::from_index(label));
        labels.fold(StackId::ROOT, |at, label| tree.child(at, label))
    }

    fn labels(tree: &StackTree, stack: StackId) -> Vec<usize> {
        let mut labels: Vec<_> = tree.labels_innermost_first(stack).map(LabelId::index).collect();
        labels.reverse();
        labels
    }

    #[test]
    fn equal_stacks_are_one_node() {
        let mut tree = StackTree::default();
        let first = path(&mut tree, &[1, 2, 3]);
        let second = path(&mut tree, &[1, 4]);
        assert_ne!(first, second);
        assert_eq!(path(&mut tree, &[1, 2, 3]), first);
        assert_eq!(labels(&tree, second), [1, 4]);
        assert_eq!(tree.len(), 5);
    }

    #[test]
    fn full_tree_cuts_stacks_and_counts_them() {
        let mut tree = StackTree::with_capacity_limit(3);
        let stack = path(&mut tree, &[1, 2, 3, 4]);
        assert_eq!(labels(&tree, stack), [1, 2]);
        assert_eq!(tree.cut(), 2);
    }

    #[test]
    fn crowded_parents_find_their_children() {
        let mut tree = StackTree::default();
        let all: Vec<_> = (0..90).flat_map(|a| (0..90).map(move |b| [a, b])).collect();
        let ids: Vec<_> = all.iter().map(|stack| path(&mut tree, stack)).collect();
        for (stack, id) in all.iter().zip(ids) {
            assert_eq!(path(&mut tree, stack), id);
            assert_eq!(labels(&tree, id), *stack);
        }
        assert_eq!(tree.len(), 1 + 90 + 90 * 90);
    }
}
