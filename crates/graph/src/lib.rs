//! Algorithms on graphs of a hundred million nodes, on a small machine. What nodes and edges mean is not known
//! here: in heaps they are blocks and pointers.
//!
//! For: the questions of who holds what. [`dominators`] (what only one holds), [`components`] (who hold each other),
//! [`fair_shares`] (what is shared, divided), [`reach`] (all that many hold), [`shortest`] paths, [`duplicates`]
//! (what is there twice), [`reduce`] (the whole in one picture), [`neighbourhood`] (what is around one).
//!
//! The caller owes: one root. Where there are many, one node with edges to them all; it is the last or the first,
//! as the caller likes. Columns that are mapped from a file ([`MappedFile`]) must not be written to while they are
//! in use.
//!
//! Promises: no graph makes this crate panic, hang or recurse: time is linear in nodes and edges, or nearly so
//! (a logarithm in [`dominators`]), whatever the shape. Memory besides the graph is some 24 bytes per node in
//! [`dominators`] for a heap of three pointers per node, and up to 40 elsewhere. Results do not depend on the
//! machine or on chance.
//!
//! Left out: graphs that change; more than 2³² − 2 nodes or edges, which are errors.
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
//! # Ok::<(), bactrian_graph::Error>(())
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
pub use error::{Error, Result};
pub use graph::Graph;
pub use neighbourhood::{Neighbour, Neighbourhood, Within, neighbourhood};
pub use reach::reach;
pub use reduce::{Limits, Reduced, Set, SetEdge, SetKind, Standing, reduce};
pub use shares::fair_shares;
pub use shortest::shortest;
pub use tree::{Tree, inherit};

/// The number of a node.
pub type Node = u32;

/// No node.
pub const NONE: Node = Node::MAX;

/// The most nodes a graph can have.
pub const MAX_NODES: usize = NONE as usize - 1;

/// The most edges a graph can have.
pub const MAX_EDGES: usize = u32::MAX as usize - 1;

#[cfg(test)]
mod tests {
    use crate::{Builder, Graph, Node};

    /// A graph of what stands there, which must be one.
    pub fn graph(successors: &[&[Node]]) -> Graph {
        let mut builder = Builder::with_capacity(successors.len(), 0);
        for targets in successors {
            targets.iter().for_each(|&target| builder.target(target));
            builder.end_node();
        }
        builder.finish().expect("all targets are nodes")
    }
}
