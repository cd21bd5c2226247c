//! Dominators. A node dominates another if every path from the root to the other goes through it. The last
//! dominator of a node before the node itself is its immediate dominator; immediate dominators form a tree. The
//! weight of all that a node dominates is its retained size: what would be freed without it.
//!
//! # The algorithm
//! Semi-NCA (Georgiadis, Tarjan and Werneck), for graphs that are too large for the usual arrays:
//!
//! 1. `search` numbers the nodes in the order of one depth-first search. From then on nodes are known by these
//!    numbers: ancestors have lower numbers, and nodes that are near in the graph are near in memory. Edges are
//!    classified on the fly. A *forward* edge, to a descendant that was visited already, immediately yields all
//!    it can: an upper bound on the target's semidominator. Only *back* and *cross* edges, which lead to lower
//!    numbers, must be examined from their targets.
//! 2. `sideways` stores only those edges, by target: there is no list of all predecessors. A node whose only
//!    incoming edge is the one from its parent, which is most of them, costs nothing from here on.
//! 3. `semidominators` processes the nodes with such edges, the last first. The semidominator of a node is the
//!    highest node (the one with the lowest number) from which a path leads to it through nodes with higher
//!    numbers only.
//! 4. `nearest` finds the immediate dominator: the nearest common ancestor of parent and semidominator in the
//!    part of the dominator tree that is already known.
//! 5. Retained sizes are summed up from the last node to the first, since dominators have lower numbers.
//!
//! # Memory
//! In words of 4 bytes per node, in addition to the graph: five in step 1; four plus the sideways edges, at
//! most (edges − nodes), in steps 2 to 4; five at the end, results included. Comments say where an array
//! changes its meaning.
//!
//! # A trap
//! Walking up the tree in step 4, as the paper does, takes quadratic time on a list and a hash table that hold
//! the same records: every record hangs from the common root, but its parent is deep in the list. This is
//! ordinary in OCaml. The jumps in `nearest` make the walk logarithmic for every graph.

mod nearest;
mod search;
mod semidominators;
mod sideways;

use crate::memory::zeroes;
use crate::{Column, Graph, NONE, Node};

use search::Search;
use sideways::Sideways;

/// The dominator tree and the retained size of each node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dominators {
    /// The immediate dominator of each node; [`NONE`] for the root and for unreachable nodes.
    pub parent: Column<Node>,
    /// The summed weight of all that each node dominates, itself included; 0 for unreachable nodes.
    pub retained: Column<u64>,
}

/// The dominators of everything reachable from `root`, and their retained sizes. Nothing is reachable from a
/// root that is not a node; missing weights count as 0.
pub fn dominators(graph: &Graph, root: Node, weights: &[u32]) -> Dominators {
    let view = graph.view();
    let Search { number, parent, mut semi, incoming } = search::search(view, root);
    let mut sideways = Sideways::of(view, &number, &parent, &semi, incoming);
    let (ancestor, label) = semidominators::find(&mut semi, parent, &mut sideways);
    let dominator = nearest::find(semi, &sideways, ancestor, label);
    drop(sideways);
    by_node(number, dominator, weights)
}

/// Translates search numbers back to nodes and sums up retained sizes.
fn by_node(number: Vec<u32>, dominator: Vec<u32>, weights: &[u32]) -> Dominators {
    let mut node_of: Vec<Node> = zeroes(dominator.len());
    for (node, &number) in number.iter().enumerate() {
        if number != 0 {
            node_of[number as usize] = node as Node;
        }
    }
    let nodes = number.len();
    drop(number);
    let mut parent: Vec<Node> = zeroes(nodes);
    parent.fill(NONE);
    node_of[0] = NONE;
    for (&node, &dominator) in node_of.iter().zip(&dominator).skip(1) {
        parent[node as usize] = node_of[dominator as usize];
    }
    drop(dominator);
    let mut retained = zeroes::<u64>(nodes);
    for &node in node_of.iter().skip(1).rev() {
        let own = weights.get(node as usize).copied().unwrap_or(0);
        let sum = retained[node as usize] + u64::from(own);
        retained[node as usize] = sum;
        if let Some(above) = retained.get_mut(parent[node as usize] as usize) {
            *above += sum;
        }
    }
    Dominators { parent: parent.into(), retained: retained.into() }
}
