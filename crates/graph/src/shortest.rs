//! Shortest paths from the root, by breadth-first search.

use crate::memory::zeroes;
use crate::{Graph, NONE, Node};

/// For each node its predecessor on a shortest path from `root`; [`NONE`] for the root and for unreachable
/// nodes. Of several shortest paths the one found first, in order of edges, is taken.
pub fn shortest(graph: &Graph, root: Node) -> Vec<Node> {
    let view = graph.view();
    let mut before = zeroes(view.nodes());
    before.fill(NONE);
    if root as usize >= view.nodes() {
        return before;
    }
    let (mut ring, mut next) = (vec![root], Vec::new());
    while !ring.is_empty() {
        for &node in &ring {
            for &target in view.successors(node) {
                let before = &mut before[target as usize];
                if *before == NONE && target != root {
                    *before = node;
                    next.push(target);
                }
            }
        }
        ring.clear();
        std::mem::swap(&mut ring, &mut next);
    }
    before
}
