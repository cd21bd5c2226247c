//! Algorithms on graphs of a hundred million nodes, on a small machine. This crate does not know what nodes and
//! edges mean; in heaps they are blocks and pointers.
//!
//! **Purpose.** Questions of who holds what: [`dominators`] (what is held by one node alone), [`components`]
//! (nodes that hold each other), [`fair_shares`] (shared nodes divided among their holders), [`reach`] (all
//! that groups of nodes hold), [`shortest`] paths, [`duplicates`] (equal nodes), [`reduce`] (the whole graph in
//! one picture), [`neighbourhood`] (the surroundings of one node).
//!
//! **The caller owes** a single root. If there are many, add one node with edges to all of them, as the first
//! or the last node. Columns mapped from a file ([`MappedFile`]) must not be written to while they are in use.
//!
//! **Promises.** No graph makes this crate panic, hang or recurse: time is linear in nodes and edges, or nearly
//! so (with a logarithm in [`dominators`]), whatever the shape. Memory, in addition to the graph, is some 24
//! bytes per node in [`dominators`] for a heap of three pointers per node, and up to 40 elsewhere. Results do
//! not depend on the machine or on chance.
//!
//! **Left out:** graphs that change, and more than 2³² − 2 nodes or edges, which are errors.
//!
//! ```
//! use bactrian_graph::{Builder, NONE, Tree, components, dominators, fair_shares, shortest};
//!
//! // 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3, 3 -> 4
//! let mut builder = Builder::with_capacity(5, 5);
//! for targets in [&[1, 2][..], &[3], &[3], &[4], &[]] {
//!     targets.iter().for_each(|&target| builder.target(target));
//!     builder.end_node();
//! }
//! let graph = builder.finish()?;
//! let weights = [0, 1, 1, 10, 20];
//!
//! let found = dominators(&graph, 0, &weights);
//! assert_eq!(*found.parent, [NONE, 0, 0, 0, 3]);
//! assert_eq!(*found.retained, [32, 1, 1, 30, 20]);
//! assert_eq!(Tree::of(&found.parent).children(0), [1, 2, 3]);
//!
//! let together = components(&graph, 0);
//! assert_eq!(fair_shares(&graph, &together, 0, &weights), [32.0, 16.0, 16.0, 30.0, 20.0]);
//! assert_eq!(shortest(&graph, 0), [NONE, 0, 0, 1, 3]);
//! # Ok::<(), bactrian_graph::GraphError>(())
//! ```

mod bits;
mod buckets;
mod builder;
mod column;
mod components;
mod dominators;
mod duplicates;
mod error;
mod graph;
mod memory;
mod neighbourhood;
mod reach;
mod reduce;
mod shares;
mod shortest;
mod tree;

pub use bits::Bits;
pub use builder::Builder;
pub use column::{Column, MappedFile};
pub use components::{Components, components};
pub use dominators::{Dominators, dominators};
pub use duplicates::duplicates;
pub use error::{GraphError, Result};
pub use graph::Graph;
pub use neighbourhood::{Neighbour, Neighbourhood, Within, neighbourhood};
pub use reach::reach;
pub use reduce::{Limits, Reduced, Set, SetEdge, SetKind, Standing, reduce};
pub use shares::fair_shares;
pub use shortest::shortest;
pub use tree::{Tree, inherit, is_forest};

/// The number of a node, from 0.
pub type Node = u32;

/// Not a node: the value of a missing parent, predecessor or component.
pub const NONE: Node = Node::MAX;

/// The maximum number of nodes.
pub const MAX_NODES: usize = NONE as usize - 1;

/// The maximum number of edges.
pub const MAX_EDGES: usize = u32::MAX as usize - 1;

#[cfg(test)]
mod tests {
    use crate::{Builder, Graph, Node};

    /// A graph with these successors, all of which must be nodes.
    pub fn graph(successors: &[&[Node]]) -> Graph {
        let mut builder = Builder::with_capacity(successors.len(), 0);
        for targets in successors {
            targets.iter().for_each(|&target| builder.target(target));
            builder.end_node();
        }
        builder.finish().expect("all targets are nodes")
    }
}
