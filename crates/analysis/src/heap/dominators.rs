//! The tree of dominators, opened from above: what would be free if a block, or all blocks of a class, were not there.
//!
//! By class, each level shows what is held by the level above, all blocks of a class in one row. A block that is held by
//! one of its own class counts to the same row: a list or a tree is one row and not a million levels. What is held by
//! several roots together has no root above it, and stands beside them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bactrian_graph::Node;
use serde::Serialize;

use super::{Class, Found, Heap, WORD};

/// Levels that are told at most, whatever is asked for.
pub const MOST_LEVELS: usize = 60;

/// How much of the tree is told.
#[derive(Clone, Debug, PartialEq)]
pub struct DominatorsQuestion {
    /// Where to begin; the root of all if nothing is said.
    pub of: Option<Found>,
    /// Each block by itself, instead of all blocks of a class together.
    pub by_block: bool,
    /// Levels.
    pub depth: usize,
    /// Rows at each place; 0 for all.
    pub limit: usize,
    /// Leave out rows that dominate less than this part of the heap.
    pub min_share: f64,
}

/// A part of the tree of dominators. Sizes are in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct DominatorTree {
    /// All blocks that can be reached.
    pub total: u64,
    /// The topmost rows: one, or as many classes as were asked for.
    pub rows: Vec<DominatorRow>,
    /// Topmost rows that are not told.
    pub left_out: DominatorsLeftOut,
}

/// Blocks that are held by the row above, with what they hold.
#[derive(Clone, Debug, Serialize)]
pub struct DominatorRow {
    /// The class, or what the block or root is.
    pub what: String,
    /// The number of the node, if the row is one block or root: for `bactrian heap show '#NUMBER'`.
    pub node: Option<Node>,
    /// How many blocks.
    pub objects: u64,
    /// Their bytes.
    pub shallow: u64,
    /// What would be free without them, themselves included.
    pub dominated: u64,
    /// The part of all that is.
    pub share: f64,
    /// What they hold, largest first.
    pub rows: Vec<DominatorRow>,
    /// What they hold that is not told: too small, too many or too deep.
    pub left_out: DominatorsLeftOut,
}

/// Rows that are not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DominatorsLeftOut {
    /// How many.
    pub rows: u64,
    /// What they dominate.
    pub dominated: u64,
}

/// Opens the tree of dominators.
pub fn dominators(heap: &Heap, question: &DominatorsQuestion) -> DominatorTree {
    let opening = Opening { heap, question, total: heap.reached_words() };
    let below = match &question.of {
        None => Below { nodes: vec![heap.root()], ..Below::default() },
        Some(Found::Node(node)) => Below { nodes: vec![*node], ..Below::default() },
        Some(Found::Classes(classes)) => opening.of_classes(classes),
    };
    let (groups, left_out) = opening.largest(below, 0.0);
    let rows = groups.into_iter().map(|group| opening.row(group, 1)).collect();
    DominatorTree { total: opening.total.saturating_mul(WORD), rows, left_out }
}

/// What makes one row.
struct Group {
    key: Key,
    /// Of a class: blocks that are held by the row above. Each may dominate others of the class.
    tops: Vec<Node>,
    /// In words.
    dominated: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Node(Node),
    Class(u32),
}

/// What a row holds: nodes that make a row each, and classes.
#[derive(Default)]
struct Below {
    nodes: Vec<Node>,
    classes: BTreeMap<u32, Group>,
}

struct Opening<'a> {
    heap: &'a Heap,
    question: &'a DominatorsQuestion,
    /// Words.
    total: u64,
}

impl Opening<'_> {
    /// Puts a node among those that are held.
    fn put(&self, below: &mut Below, node: Node, class: u32) {
        if node as usize >= self.heap.blocks() || self.question.by_block {
            below.nodes.push(node);
        } else {
            let new = || Group { key: Key::Class(class), tops: Vec::new(), dominated: 0 };
            let group = below.classes.entry(class).or_insert_with(new);
            group.tops.push(node);
            group.dominated = group.dominated.saturating_add(self.heap.dominated_words(node));
        }
    }

    /// The blocks of these classes that no block of the same class dominates.
    fn of_classes(&self, classes: &[u32]) -> Below {
        let mut below = Below::default();
        let class_of = self.heap.class_of();
        for &class in classes {
            let mut above = Above::new(self.heap, class);
            let of_class = class_of.iter().take(self.heap.blocks()).enumerate();
            for (node, _) in of_class.filter(|(_, of)| **of == class) {
                if !above.has_another(node as Node) {
                    self.put(&mut below, node as Node, class);
                }
            }
        }
        below
    }

    /// The rows to be told, largest first, and what is left out.
    fn largest(&self, below: Below, min_share: f64) -> (Vec<Group>, DominatorsLeftOut) {
        let Below { mut nodes, classes } = below;
        let mut left_out = DominatorsLeftOut::default();
        let leave = |left_out: &mut DominatorsLeftOut, words: u64| {
            left_out.rows += 1;
            left_out.dominated = left_out.dominated.saturating_add(words.saturating_mul(WORD));
        };
        // There may be millions of them: only those that are told are put in order.
        let least = min_share * self.total as f64;
        nodes.retain(|&node| {
            let words = self.heap.dominated_words(node);
            let is_told = words as f64 >= least;
            (!is_told).then(|| leave(&mut left_out, words));
            is_told
        });
        let most = if self.question.limit == 0 { usize::MAX } else { self.question.limit };
        if most < nodes.len() {
            let order = |node: &Node| (Reverse(self.heap.dominated_words(*node)), *node);
            nodes.select_nth_unstable_by_key(most, order);
            nodes
                .drain(most..)
                .for_each(|node| leave(&mut left_out, self.heap.dominated_words(node)));
        }
        let single = |node: Node| Group {
            key: Key::Node(node),
            tops: Vec::new(),
            dominated: self.heap.dominated_words(node),
        };
        let mut groups: Vec<Group> = nodes.into_iter().map(single).collect();
        groups.extend(classes.into_values());
        groups.sort_by_key(|group| (Reverse(group.dominated), group.key));
        let large = groups.partition_point(|group| group.dominated as f64 >= least);
        let rest = groups.split_off(large.min(most));
        rest.iter().for_each(|group| leave(&mut left_out, group.dominated));
        (groups, left_out)
    }

    /// A row with those below it. Levels are bounded by [`MOST_LEVELS`].
    fn row(&self, group: Group, level: usize) -> DominatorRow {
        let (key, dominated) = (group.key, group.dominated);
        let (objects, shallow, below) = self.open(group);
        let is_deepest = level >= self.question.depth.min(MOST_LEVELS);
        let (told, left_out) =
            self.largest(below, if is_deepest { f64::MAX } else { self.question.min_share });
        DominatorRow {
            what: match key {
                Key::Node(node) => self.heap.describe(node),
                Key::Class(class) => {
                    self.heap.classes().get(class as usize).map_or(String::new(), Class::title)
                }
            },
            node: match key {
                Key::Node(node) => Some(node),
                Key::Class(_) => None,
            },
            objects,
            shallow: shallow.saturating_mul(WORD),
            dominated: dominated.saturating_mul(WORD),
            share: dominated as f64 / (self.total as f64).max(1.0),
            rows: told.into_iter().map(|group| self.row(group, level + 1)).collect(),
            left_out,
        }
    }

    /// How many blocks a row has, their words, and what they hold.
    fn open(&self, group: Group) -> (u64, u64, Below) {
        let (class_of, weights) = (self.heap.class_of(), self.heap.weights());
        let tree = self.heap.dominated();
        let (mut objects, mut words) = (0, 0);
        let mut below = Below::default();
        let mut waiting = group.tops;
        if let Key::Node(node) = group.key {
            waiting.push(node);
        }
        while let Some(node) = waiting.pop() {
            objects += u64::from((node as usize) < self.heap.blocks());
            words += u64::from(weights.get(node as usize).copied().unwrap_or(0));
            for &child in tree.children(node) {
                let class = class_of.get(child as usize).copied().unwrap_or(u32::MAX);
                match group.key == Key::Class(class) {
                    true => waiting.push(child),
                    false => self.put(&mut below, child, class),
                }
            }
        }
        (objects, words, below)
    }
}

/// Tells of nodes whether a block of a class is among their dominators.
struct Above<'a> {
    class_of: &'a [u32],
    parent: &'a [Node],
    class: u32,
    /// What is known of nodes that were passed.
    known: Vec<Option<bool>>,
    way: Vec<Node>,
}

impl Above<'_> {
    fn new(heap: &Heap, class: u32) -> Above<'_> {
        let parent = &*heap.dominators().parent;
        let known = vec![None; parent.len()];
        Above { class_of: heap.class_of(), parent, class, known, way: Vec::new() }
    }

    fn has_another(&mut self, node: Node) -> bool {
        let mut at = node;
        let found = loop {
            at = match self.parent.get(at as usize) {
                Some(&above) if (above as usize) < self.known.len() => above,
                _ => break false,
            };
            if self.class_of.get(at as usize) == Some(&self.class) {
                break true;
            }
            match self.known[at as usize] {
                Some(found) => break found,
                None => self.way.push(at),
            }
        };
        self.way.drain(..).for_each(|node| self.known[node as usize] = Some(found));
        found
    }
}
