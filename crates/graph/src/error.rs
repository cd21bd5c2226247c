//! What can be wrong with a graph.

use std::fmt;

use crate::Node;

/// Why numbers are not a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nodes are numbered with 32 bits, and one number means "none".
    TooManyNodes(usize),
    /// Places in the list of targets are numbered with 32 bits.
    TooManyEdges(usize),
    /// The places where nodes' targets begin do not fit the list of targets.
    Offsets {
        /// Which of them.
        index: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// A pointer to a node that does not exist.
    Target {
        /// Its place in the list of targets.
        index: usize,
        /// The number that stands there.
        target: Node,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A part of a mapped file is not a column of numbers.
    Column {
        /// Where the part begins.
        offset: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The result of making a graph.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooManyNodes(nodes) => {
                write!(f, "a graph has at most {} nodes; this has {nodes}", crate::MAX_NODES)
            }
            Error::TooManyEdges(edges) => {
                write!(f, "a graph has at most {} edges; this has {edges}", crate::MAX_EDGES)
            }
            Error::Offsets { index, reason } => {
                write!(f, "where the targets of node {index} begin: {reason}")
            }
            Error::Target { index, target, nodes } => {
                write!(f, "edge {index} goes to node {target}, but there are {nodes} nodes")
            }
            Error::Column { offset, reason } => {
                write!(f, "the column at byte {offset} of the file {reason}")
            }
        }
    }
}

impl std::error::Error for Error {}
