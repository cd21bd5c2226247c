//! Shortest paths to all blocks of a class, merged as a tree of shapes.
//!
//! Each block has one shortest path, in the tree of a breadth-first search from the roots. Two blocks have
//! the same shape if their predecessors do, they are held through the same field, and they are of the same
//! class. A class that is on the path already is not added again: repetitions, as in lists, trees and
//! formulas, are one row. Finalisers with one function are one root.
//!
//! Every listed path ends at the class, however few levels were requested: the levels in between are omitted.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashMap;

use bactrian_graph::{NONE, Node};
use schemars::JsonSchema;
use serde::Serialize;

use super::bytes;
use super::steps::{Labels, Step};
use crate::heap::{Heap, Holder, NodeLine};

/// The most shapes that are distinguished; further shapes are merged into those above them.
const MOST_SHAPES: usize = 1 << 20;
/// The most levels listed.
const MOST_LEVELS: usize = 60;

/// The requested part of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathsShape {
    /// The number of levels.
    pub depth: usize,
    /// The most rows below each row; 0 for all.
    pub limit: usize,
    /// Omit rows that lead to less than this fraction of the class's bytes.
    pub min_share: f64,
    /// The most rows in total.
    pub most_rows: usize,
    /// Also list the blocks of one row: the row that contains this node.
    pub members_of: Option<Node>,
}

/// Paths from roots to the blocks of a class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassPaths {
    /// Number of blocks of the class.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of blocks that no root reaches.
    pub unreached: u64,
    /// The paths as a tree, beginning with the roots.
    pub rows: Vec<ShapeRow>,
    /// Rows that are left out.
    pub left_out: ShapesLeftOut,
    /// The blocks of one row, if requested and found.
    pub members: Option<ShapeMembers>,
}

/// The nodes that are shown as one row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShapeMembers {
    /// Number of nodes.
    pub count: u64,
    /// Those with the largest retained size, at most as many as rows at one place.
    pub rows: Vec<NodeLine>,
}

/// Nodes with the same path from a root.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShapeRow {
    /// The edge from the row above: `field 1`, `an element`, `stack`, `data`; empty after a root. `5 steps further` if some steps
    /// are left out.
    pub step: String,
    /// Their class, or the name of the root.
    pub what: String,
    /// One of them.
    pub node: Node,
    /// Number of nodes.
    pub nodes: u64,
    /// Whether some of them hold others of them, directly or not.
    pub repeats: bool,
    /// Number of them that are blocks of the class.
    pub here: u64,
    /// Number of blocks of the class that they lead to, including themselves.
    pub blocks: u64,
    /// Size of those blocks in bytes.
    pub bytes: u64,
    /// Continuations of the paths, the largest first.
    pub rows: Vec<ShapeRow>,
    /// Rows that are left out.
    pub left_out: ShapesLeftOut,
}

/// Rows that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShapesLeftOut {
    /// Number of rows.
    pub rows: u64,
    /// Size of the blocks of the class that they lead to.
    pub bytes: u64,
}

/// Finds shortest paths to all blocks of some classes.
pub fn class_paths(heap: &Heap, classes: &[u32], question: &PathsShape) -> ClassPaths {
    let before = heap.shortest();
    let mut is_class = vec![false; heap.classes().len()];
    for &class in classes {
        is_class.get_mut(class as usize).into_iter().for_each(|is| *is = true);
    }
    let is_target = |node: Node| {
        let class = heap.class_of().get(node as usize);
        class.is_some_and(|class| is_class.get(*class as usize) == Some(&true))
    };
    let targets = || (0..heap.blocks() as Node).filter(|&node| is_target(node));
    let mut is_wanted = vec![false; before.len()];
    for target in targets() {
        let mut at = target;
        while let Some(wanted) = is_wanted.get_mut(at as usize)
            && !std::mem::replace(wanted, true)
        {
            at = before[at as usize];
        }
    }
    let labels = Labels::read(heap, before, &is_wanted);
    drop(is_wanted);
    let mut merging = Merging::new(heap, before, &labels);
    let (mut blocks, mut all_bytes, mut unreached) = (0, 0, 0);
    for target in targets() {
        blocks += 1;
        all_bytes += bytes(heap, target);
        match merging.shape_of(target) {
            Some(shape) => {
                let shape = &mut merging.shapes[shape as usize];
                shape.here += 1;
                shape.blocks += 1;
                shape.bytes += bytes(heap, target);
            }
            None => unreached += 1,
        }
    }
    merging.sum_up();
    let members = question.members_of.and_then(|node| merging.members(node, question.limit));
    let telling = Telling::new(heap, &merging.shapes, question, all_bytes);
    let (rows, left_out) = telling.rows(0, 0);
    ClassPaths { blocks, bytes: all_bytes, unreached, rows, left_out, members }
}

struct Shape {
    above: u32,
    /// The number of its ancestors.
    depth: u32,
    step: Step,
    /// An example of the nodes that hold them.
    from: Node,
    class: u32,
    node: Node,
    nodes: u64,
    repeats: bool,
    here: u64,
    blocks: u64,
    bytes: u64,
}

struct Merging<'a> {
    heap: &'a Heap,
    before: &'a [Node],
    labels: &'a Labels,
    /// The first is that of the root of all. Each comes after its parent.
    shapes: Vec<Shape>,
    known: HashMap<(u32, Step, u32), u32>,
    of: Vec<u32>,
    way: Vec<Node>,
}

impl<'a> Merging<'a> {
    fn new(heap: &'a Heap, before: &'a [Node], labels: &'a Labels) -> Merging<'a> {
        let mut of = vec![u32::MAX; before.len()];
        let root = heap.root();
        of.get_mut(root as usize).into_iter().for_each(|shape| *shape = 0);
        let top = Shape {
            above: 0,
            depth: 0,
            step: Step::Root,
            from: NONE,
            class: u32::MAX,
            node: root,
            nodes: 1,
            repeats: false,
            here: 0,
            blocks: 0,
            bytes: 0,
        };
        let shapes = vec![top];
        Merging { heap, before, labels, shapes, known: HashMap::new(), of, way: Vec::new() }
    }

    /// The shape of a node; None if it is unreachable.
    fn shape_of(&mut self, node: Node) -> Option<u32> {
        let mut at = node;
        while *self.of.get(at as usize)? == u32::MAX {
            self.way.push(at);
            at = self.before[at as usize];
            if at == NONE {
                self.way.clear();
                return None;
            }
        }
        let mut shape = self.of[at as usize];
        while let Some(node) = self.way.pop() {
            shape = self.below(shape, at, node);
            self.of[node as usize] = shape;
            self.shapes[shape as usize].nodes += 1;
            at = node;
        }
        Some(shape)
    }

    /// The shape of a node that is held by a node of this shape.
    fn below(&mut self, above: u32, from: Node, node: Node) -> u32 {
        if self.heap.holders().get(node).is_some_and(Holder::is_one_finaliser) {
            return above;
        }
        let step = self.labels.step(self.heap, from, node);
        let first = self.heap.blocks() as Node;
        let class = match node.checked_sub(first) {
            // Each root is a class of its own.
            Some(holder) => u32::MAX - holder,
            None => self.heap.class_of()[node as usize],
        };
        if let Some(&known) = self.known.get(&(above, step, class)) {
            return known;
        }
        let found = self.repeated(above, class).unwrap_or_else(|| {
            let (here, blocks, bytes) = (0, 0, 0);
            let depth = self.shapes[above as usize].depth + 1;
            self.shapes.push(Shape {
                above,
                depth,
                step,
                from,
                class,
                node,
                nodes: 0,
                repeats: false,
                here,
                blocks,
                bytes,
            });
            (self.shapes.len() - 1) as u32
        });
        self.known.insert((above, step, class), found);
        found
    }

    /// The ancestor with the same class, if there is one. Shapes that are too deep, and those beyond the
    /// limit, are merged into their parent, so that paths stay short.
    fn repeated(&mut self, above: u32, class: u32) -> Option<u32> {
        let mut at = above;
        while at != 0 {
            let shape = &mut self.shapes[at as usize];
            if shape.class == class {
                shape.repeats = true;
                return Some(at);
            }
            at = shape.above;
        }
        let is_too_deep = self.shapes[above as usize].depth as usize > MOST_LEVELS;
        (is_too_deep || self.shapes.len() >= MOST_SHAPES).then_some(above)
    }

    /// The nodes with the same shape as this one; None if no path leads through it.
    fn members(&self, node: Node, limit: usize) -> Option<ShapeMembers> {
        let shape = *self.of.get(node as usize)?;
        if shape == u32::MAX || shape == 0 {
            return None;
        }
        let alike = (0..).zip(&self.of).filter(|&(_, &of)| of == shape).map(|(node, _)| node);
        let mut nodes: Vec<Node> = alike.collect();
        let count = nodes.len() as u64;
        let most = if limit == 0 { nodes.len() } else { limit.min(nodes.len()) };
        nodes.sort_unstable_by_key(|&node| (Reverse(self.heap.retained_words(node)), node));
        let rows = nodes[..most].iter().map(|&node| self.heap.line(node)).collect();
        Some(ShapeMembers { count, rows })
    }

    fn sum_up(&mut self) {
        for at in (1..self.shapes.len()).rev() {
            let Shape { above, blocks, bytes, .. } = self.shapes[at];
            let above = &mut self.shapes[above as usize];
            above.blocks += blocks;
            above.bytes += bytes;
        }
    }
}

struct Telling<'a> {
    /// How many more rows may be listed.
    room: Cell<usize>,
    heap: &'a Heap,
    shapes: &'a [Shape],
    question: &'a PathsShape,
    below: Vec<Vec<u32>>,
    least: f64,
}

impl<'a> Telling<'a> {
    fn new(
        heap: &'a Heap,
        shapes: &'a [Shape],
        question: &'a PathsShape,
        all_bytes: u64,
    ) -> Telling<'a> {
        let mut below = vec![Vec::new(); shapes.len()];
        for (at, shape) in (0..).zip(shapes).skip(1) {
            below[shape.above as usize].push(at);
        }
        let (room, least) = (Cell::new(question.most_rows), question.min_share * all_bytes as f64);
        Telling { heap, shapes, question, below, least, room }
    }

    /// The rows below a shape. [`MOST_LEVELS`] bounds the recursion.
    fn rows(&self, above: u32, level: usize) -> (Vec<ShapeRow>, ShapesLeftOut) {
        let mut below = self.below[above as usize].clone();
        below.retain(|&at| self.shapes[at as usize].blocks > 0);
        below.sort_by_key(|&at| (Reverse(self.shapes[at as usize].bytes), at));
        let large =
            below.partition_point(|&at| self.shapes[at as usize].bytes as f64 >= self.least);
        let most = if self.question.limit == 0 { usize::MAX } else { self.question.limit };
        let most = most.min(self.room.get());
        // A row that is not of the class itself needs at least one row below it.
        let least = usize::from(self.shapes[above as usize].here == 0);
        if level >= self.question.depth.min(MOST_LEVELS) {
            return self.further_down(&below, least.min(most));
        }
        let rest = below.split_off(large.max(least).min(most).min(below.len()));
        self.room.set(self.room.get() - below.len());
        let rows = below.into_iter().map(|at| self.row(at, level)).collect();
        (rows, self.left_out(&rest))
    }

    fn left_out(&self, rest: &[u32]) -> ShapesLeftOut {
        let bytes = rest.iter().map(|&at| self.shapes[at as usize].bytes).sum();
        ShapesLeftOut { rows: rest.len() as u64, bytes }
    }

    /// The row of the class itself to which the largest of these shapes leads, if one row is wanted: there
    /// are too many levels to list all.
    fn further_down(&self, below: &[u32], wanted: usize) -> (Vec<ShapeRow>, ShapesLeftOut) {
        let mut left_out = self.left_out(below);
        let (Some(&first), 1) = (below.first(), wanted) else { return (Vec::new(), left_out) };
        let (mut at, mut steps) = (first, 1);
        while self.shapes[at as usize].here == 0 {
            let next = self.below[at as usize].iter().copied();
            let size = |&at: &u32| (self.shapes[at as usize].bytes, Reverse(at));
            let Some(largest) = next.max_by_key(size) else { break };
            (at, steps) = (largest, steps + 1);
        }
        let mut row = self.row(at, MOST_LEVELS);
        if steps > 1 {
            row.step = format!("{steps} steps further");
        }
        left_out.bytes = left_out.bytes.saturating_sub(row.bytes);
        left_out.rows -= u64::from(steps == 1);
        if left_out.bytes == 0 {
            left_out.rows = 0;
        }
        self.room.set(self.room.get() - 1);
        (vec![row], left_out)
    }

    fn row(&self, at: u32, level: usize) -> ShapeRow {
        let shape = &self.shapes[at as usize];
        let (rows, left_out) = self.rows(at, level + 1);
        let what = match self.heap.holders().get(shape.node) {
            Some(_) => self.heap.describe(shape.node),
            None => self.heap.class(shape.node).title(),
        };
        ShapeRow {
            step: shape.step.shape_text(self.heap, shape.from),
            what,
            node: shape.node,
            nodes: shape.nodes,
            repeats: shape.repeats,
            here: shape.here,
            blocks: shape.blocks,
            bytes: shape.bytes,
            rows,
            left_out,
        }
    }
}
