//! Builds a graph node by node.

use crate::graph::check_sizes;
use crate::{Graph, GraphError, MAX_EDGES, Node, Result};

/// Builds a graph: for each node in order, add its targets and then call [`Builder::end_node`].
#[derive(Debug)]
pub struct Builder {
    offsets: Vec<u32>,
    targets: Vec<Node>,
    /// Also counts the edges beyond [`MAX_EDGES`], which are not stored.
    edges: usize,
    /// The greatest target and the edge it belongs to, so that [`Builder::finish`] need not scan all targets.
    greatest: Option<(Node, usize)>,
}

impl Builder {
    /// An empty graph with room for this many nodes and edges. It may grow beyond that.
    pub fn with_capacity(nodes: usize, edges: usize) -> Builder {
        let mut offsets = Vec::with_capacity(nodes.saturating_add(1));
        offsets.push(0);
        Builder { offsets, targets: Vec::with_capacity(edges), edges: 0, greatest: None }
    }

    /// Adds an edge to the current node. The target may be a later node.
    #[inline]
    pub fn target(&mut self, node: Node) {
        if self.greatest.is_none_or(|(greatest, _)| greatest < node) {
            self.greatest = Some((node, self.edges));
        }
        self.edges += 1;
        if self.edges <= MAX_EDGES {
            self.targets.push(node);
        }
    }

    /// Ends the current node; the next one begins.
    #[inline]
    pub fn end_node(&mut self) {
        self.offsets.push(self.targets.len() as u32);
    }

    /// How many nodes have been ended.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// Too many nodes or edges, a target that is not a node, or targets after the last [`Builder::end_node`].
    pub fn finish(self) -> Result<Graph> {
        let nodes = self.nodes();
        check_sizes(nodes, self.edges)?;
        if let Some((target, index)) = self.greatest.filter(|&(target, _)| target as usize >= nodes)
        {
            return Err(GraphError::Target { index, target, nodes });
        }
        if self.offsets[nodes] as usize != self.targets.len() {
            return Err(GraphError::Offsets { index: nodes, reason: "the last node is not ended" });
        }
        Graph::new(self.offsets.into(), self.targets.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_belong_to_the_node_that_is_ended_next() -> Result<()> {
        let mut builder = Builder::with_capacity(2, 2);
        builder.end_node();
        builder.target(2);
        builder.target(0);
        builder.end_node();
        builder.end_node();
        let graph = builder.finish()?;
        assert_eq!((graph.nodes(), graph.edges()), (3, 2));
        assert_eq!(graph.successors(0), [0; 0]);
        assert_eq!(graph.successors(1), [2, 0]);
        Ok(())
    }

    #[test]
    fn unknown_targets_and_open_ends_are_errors() {
        let mut builder = Builder::with_capacity(0, 0);
        builder.target(0);
        builder.target(1);
        builder.end_node();
        let unknown = GraphError::Target { index: 1, target: 1, nodes: 1 };
        assert_eq!(builder.finish().err(), Some(unknown));
        let mut builder = Builder::with_capacity(0, 0);
        builder.end_node();
        builder.target(0);
        let open = GraphError::Offsets { index: 1, reason: "the last node is not ended" };
        assert_eq!(builder.finish().err(), Some(open));
    }

    #[test]
    fn empty_builder_makes_an_empty_graph() -> Result<()> {
        let graph = Builder::with_capacity(0, 0).finish()?;
        assert_eq!((graph.nodes(), graph.edges()), (0, 0));
        Ok(())
    }
}
