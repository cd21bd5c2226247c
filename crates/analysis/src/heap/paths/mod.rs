//! Why something is alive: shortest paths from roots.
//!
//! To one block ([`paths`]): the shortest path from each root that reaches it, with similar paths in one row.
//! To all blocks of a class ([`class_paths`]): one shortest path to each block, merged as a tree.

mod shapes;
pub(super) mod steps;

use std::collections::HashMap;

use bactrian_graph::{NONE, Node};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, WORD};

pub use shapes::{ClassPaths, PathsShape, ShapeMembers, ShapeRow, ShapesLeftOut, class_paths};
use steps::{Step, steps};

/// The most paths examined: more roots than anybody reads about.
const MOST_PATHS: usize = 10_000;
/// The most steps of all these paths together.
const MOST_STEPS: usize = 4_000_000;
/// The most steps listed for a path, where repeated steps count as one.
const MOST_TOLD: usize = 200;

/// Paths from roots to one block.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Paths {
    /// The block.
    pub target: super::NodeLine,
    /// Number of roots found to reach it.
    pub roots: u64,
    /// Whether there may be more such roots.
    pub more: bool,
    /// Paths grouped by shape, the shortest first.
    pub rows: Vec<PathRow>,
}

/// Paths of one shape.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathRow {
    /// Number of paths.
    pub count: u64,
    /// Number of blocks on the shortest path, including the target.
    pub length: u64,
    /// Steps of the shortest path, beginning with the root.
    pub steps: Vec<PathStep>,
}

/// A node on a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathStep {
    /// Its number.
    pub node: Node,
    /// The edge from the node before: `field 1` or `.name`, `element 17`, `stack`, `data`; empty after a root.
    pub step: String,
    /// A description: class, or name of the root.
    pub what: String,
    /// Where it was allocated, if it was sampled.
    pub site: Option<String>,
    /// How many times this step is repeated: nodes of one class, each held by the one before in the same way.
    pub times: u64,
}

/// Consecutive steps of one kind.
#[derive(Clone, Copy, Debug)]
struct Run {
    node: Node,
    /// The node before the first of them.
    from: Node,
    step: Step,
    class: u32,
    times: u64,
}

/// What similar paths have in common; for roots, the root itself.
pub(super) type Shape = Vec<(Step, u32)>;

/// Finds the shortest path from each root to a block.
pub fn paths(heap: &Heap, target: Node) -> Paths {
    let (found, more) = from_roots(heap, target);
    let mut shapes: HashMap<Shape, usize> = HashMap::new();
    let mut rows: Vec<PathRow> = Vec::new();
    let roots = found.len() as u64;
    for (path, runs) in found.iter().zip(runs(heap, &found)) {
        let shape = runs.iter().map(|run| (run.step.shape(), run.class)).collect();
        let at = *shapes.entry(shape).or_insert_with(|| {
            let blocks = path.iter().filter(|&&node| (node as usize) < heap.blocks()).count();
            rows.push(PathRow { count: 0, length: blocks as u64, steps: told(heap, &runs) });
            rows.len() - 1
        });
        rows[at].count += 1;
    }
    Paths { target: heap.line(target), roots, more, rows }
}

/// The shortest path from each root, the shortest first, and whether there may be more.
fn from_roots(heap: &Heap, target: Node) -> (Vec<Vec<Node>>, bool) {
    let back = heap.reversed();
    let mut next = vec![NONE; back.nodes()];
    let mut paths = Vec::new();
    let mut steps_left = MOST_STEPS;
    let (mut ring, mut outer) = (vec![target], Vec::new());
    while !ring.is_empty() {
        for &node in &ring {
            if heap.holders().get(node).is_some() {
                let mut path = vec![node];
                while let Some(&last) = path.last()
                    && last != target
                {
                    path.push(next[last as usize]);
                }
                steps_left = steps_left.saturating_sub(path.len());
                paths.push(path);
                if paths.len() >= MOST_PATHS || steps_left == 0 {
                    return (paths, true);
                }
                continue;
            }
            for &before in back.successors(node) {
                if next[before as usize] == NONE && before != target {
                    next[before as usize] = node;
                    outer.push(before);
                }
            }
        }
        ring.clear();
        std::mem::swap(&mut ring, &mut outer);
    }
    (paths, false)
}

/// The paths with repeated steps merged.
fn runs(heap: &Heap, paths: &[Vec<Node>]) -> Vec<Vec<Run>> {
    let pairs: Vec<(Node, Node)> =
        paths.iter().flat_map(|path| path.windows(2).map(|pair| (pair[0], pair[1]))).collect();
    let mut steps = steps(heap, &pairs).into_iter();
    let (class_of, first) = (heap.class_of(), heap.blocks() as Node);
    let runs_of = |path: &Vec<Node>| {
        let mut runs: Vec<Run> = Vec::new();
        for (at, &node) in path.iter().enumerate() {
            let step = if at == 0 { Step::Root } else { steps.next().unwrap_or(Step::Unknown) };
            let is_block = (node as usize) < heap.blocks();
            // Each root is a class of its own, but finalisers with one function are alike.
            let class = match heap.holders().get(node) {
                None => class_of.get(node as usize).copied().unwrap_or(0),
                Some(one) if one.is_one_finaliser() => u32::MAX - (one.parent - first),
                Some(_) => u32::MAX - (node - first),
            };
            match runs.last_mut() {
                Some(last)
                    if is_block
                        && (last.class, last.step.shape()) == (class, step.shape())
                        && at + 1 < path.len() =>
                {
                    last.times += 1;
                }
                _ => {
                    let from = at.checked_sub(1).map_or(NONE, |before| path[before]);
                    runs.push(Run { node, from, step, class, times: 1 });
                }
            }
        }
        runs
    };
    paths.iter().map(runs_of).collect()
}

/// Steps for people; of very long paths the first and the last.
fn told(heap: &Heap, runs: &[Run]) -> Vec<PathStep> {
    let tell = |run: &Run| PathStep {
        node: run.node,
        step: run.step.text(heap, run.from),
        what: heap.describe(run.node),
        site: heap.site(run.node).and_then(|site| heap.location(&site)),
        times: run.times,
    };
    match runs.len().checked_sub(MOST_TOLD) {
        None | Some(0) => runs.iter().map(tell).collect(),
        Some(left) => {
            let half = MOST_TOLD / 2;
            let between = runs[half..half + left].iter().map(|run| run.times).sum();
            let gap = PathStep {
                node: runs[half].node,
                step: String::new(),
                what: "others".to_owned(),
                site: None,
                times: between,
            };
            let (head, tail) = (&runs[..half], &runs[half + left..]);
            head.iter().map(tell).chain([gap]).chain(tail.iter().map(tell)).collect()
        }
    }
}

/// A path between two blocks for people, with its shape.
pub(super) fn told_path(heap: &Heap, paths: &[Vec<Node>]) -> Vec<(Vec<PathStep>, Shape)> {
    let all = runs(heap, paths);
    let shape = |runs: &[Run]| runs.iter().map(|run| (run.step.shape(), run.class)).collect();
    all.iter().map(|runs| (told(heap, runs), shape(runs))).collect()
}

/// The bytes of a node.
fn bytes(heap: &Heap, node: Node) -> u64 {
    u64::from(heap.weights().get(node as usize).copied().unwrap_or(0)) * WORD
}
