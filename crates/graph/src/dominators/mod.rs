//! Dominators: a node is dominated by another if every path from the root to it goes through that other. The last
//! such node before it is its immediate dominator; these make a tree. What would go if a node went is what it
//! dominates: its retained size.
//!
//! # The way
//! Semi-NCA (Georgiadis, Tarjan and Werneck), on graphs that are too large for the usual arrays:
//!
//! 1. `search` numbers the nodes in the order of one depth-first search. From then on nodes are known by these
//!    numbers: who comes before has a lower one, and all that is near in the graph is near in memory. Edges are
//!    judged on the fly. A *forward* edge, to something below that was visited already, tells at once what there is
//!    to tell: a semidominator that is at least so high. Only edges *back* and *across*, which go to lower numbers,
//!    must be looked at from their targets.
//! 2. `sideways` puts just those down, by target: there is no list of all predecessors. A node that has only its
//!    parent, which is most of them, costs nothing from here on.
//! 3. `semidominators` goes through the nodes with such edges, the last first. The semidominator of a node is the
//!    highest node from which a path leads to it through nodes with higher numbers only.
//! 4. `nearest` finds the immediate dominator: the nearest that parent and semidominator have in common in the
//!    tree of dominators, as far as it is known then.
//! 5. Retained sizes are summed up from the last node to the first: dominators have lower numbers.
//!
//! # What it takes
//! Words of 4 bytes per node, besides the graph: five in step 1; four and those of sideways edges in steps 2 to 4,
//! which are at most (edges − nodes); five in the end, results included. Where arrays change their meaning, it is
//! said there.
//!
//! # A trap
//! Step 4 by walking up the tree, as in the paper, takes quadratic time on a list and a hash table over the same
//! records: every record hangs from the common root, but its parent is deep in the list. This is ordinary in
//! OCaml. The jumps in `nearest` make the walk logarithmic whatever the graph is.

mod nearest;
mod search;
mod semidominators;
mod sideways;

use crate::memory::zeroes;
use crate::{Column, Graph, NONE, Node};

use search::Search;
use sideways::Sideways;

/// The tree of dominators and what each node retains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dominators {
    /// The immediate dominator of each node; [`NONE`] for the root and what is not reached.
    pub parent: Column<Node>,
    /// The sum of weights of all that each node dominates, with its own; 0 for what is not reached.
    pub retained: Column<u64>,
}

/// The dominators of all that is reached from `root`, and what they retain. Nothing is reached from a root that is
/// not a node; weights that are missing are 0.
pub fn dominators(graph: &Graph, root: Node, weights: &[u32]) -> Dominators {
    let view = graph.view();
    let Search { number, parent, mut semi, incoming } = search::search(view, root);
    let mut sideways = Sideways::of(view, &number, &parent, &semi, incoming);
    let (ancestor, label) = semidominators::find(&mut semi, parent, &mut sideways);
    let dominator = nearest::find(semi, &sideways, ancestor, label);
    drop(sideways);
    by_node(number, dominator, weights)
}

/// From the numbers of the search back to nodes; sums up what they retain.
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
