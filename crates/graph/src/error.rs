//! Errors in the making of graphs.

use std::fmt;

use crate::Node;

/// Why numbers do not form a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// More than [`crate::MAX_NODES`] nodes: nodes have 32-bit numbers, one of which means "none".
    TooManyNodes(usize),
    /// More than [`crate::MAX_EDGES`] edges: indices into the list of targets have 32 bits.
    TooManyEdges(usize),
    /// The offsets do not fit the list of targets.
    Offsets {
        /// The index of the wrong offset.
        index: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An edge to a node that does not exist.
    Target {
        /// The index of the edge in the list of targets.
        index: usize,
        /// The number found there.
        target: Node,
        /// How many nodes the graph has.
        nodes: usize,
    },
    /// A part of a mapped file is not a column of numbers.
    Column {
        /// The byte offset at which the part begins.
        offset: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The result of making a graph.
pub type Result<T> = std::result::Result<T, GraphError>;

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::TooManyNodes(nodes) => {
                write!(f, "a graph has at most {} nodes; this has {nodes}", crate::MAX_NODES)
            }
            GraphError::TooManyEdges(edges) => {
                write!(f, "a graph has at most {} edges; this has {edges}", crate::MAX_EDGES)
            }
            GraphError::Offsets { index, reason } => {
                write!(f, "where the targets of node {index} begin: {reason}")
            }
            GraphError::Target { index, target, nodes } => {
                write!(f, "edge {index} goes to node {target}, but there are {nodes} nodes")
            }
            GraphError::Column { offset, reason } => {
                write!(f, "the column at byte {offset} of the file {reason}")
            }
        }
    }
}

impl std::error::Error for GraphError {}
