//! The graph itself, as compressed adjacency: all targets in one list, and where each node's targets begin.

use crate::buckets::sum_up;
use crate::memory::{prefetch, zeroes};
use crate::{Column, GraphError, MAX_EDGES, MAX_NODES, Node, Result};

/// How many edges in advance the offset of a target is prefetched (`FAR`), and then the entry there (`NEAR`).
const FAR: usize = 32;
const NEAR: usize = 12;

/// An immutable directed graph. Nodes are numbered from 0; the edges of a node are ordered and may occur more
/// than once.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where in `targets` each node's targets begin, and where the last node's end. Ascending.
    offsets: Column<u32>,
    /// All are nodes of this graph.
    targets: Column<Node>,
}

impl Graph {
    /// Makes a graph of two columns and checks them: for each node the index in `targets` where its own begin,
    /// and one more index where the last node's end.
    ///
    /// # Errors
    /// Too many nodes or edges, offsets that do not ascend from 0 to the number of targets, or targets that are
    /// not nodes.
    pub fn new(offsets: Column<u32>, targets: Column<Node>) -> Result<Graph> {
        let wrong = |index, reason| GraphError::Offsets { index, reason };
        let nodes = offsets.len().checked_sub(1).ok_or(wrong(0, "it is not said"))?;
        check_sizes(nodes, targets.len())?;
        if offsets[0] != 0 {
            return Err(wrong(0, "not at the beginning of the list"));
        }
        if let Some(index) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(wrong(index + 1, "before those of the node before"));
        }
        if offsets[nodes] as usize != targets.len() {
            return Err(wrong(nodes, "not at the end of the list"));
        }
        if let Some(index) = targets.iter().position(|&target| target as usize >= nodes) {
            return Err(GraphError::Target { index, target: targets[index], nodes });
        }
        Ok(Graph { offsets, targets })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The number of edges.
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The targets of a node's edges, in order. Empty if there is no such node.
    pub fn successors(&self, node: Node) -> &[Node] {
        self.view().successors(node)
    }

    /// The first column: where in [`Graph::targets`] each node's targets begin, and where the last node's end.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The second column: the targets of all nodes.
    pub fn targets(&self) -> &[Node] {
        &self.targets
    }

    /// The graph with all edges reversed. Predecessors of a node are in ascending order.
    pub fn reversed(&self) -> Graph {
        let view = self.view();
        // As in `by_key`: counts, then ends, then starts.
        let mut offsets: Vec<u32> = zeroes(view.nodes() + 1);
        for &target in view.targets {
            offsets[target as usize] += 1;
        }
        sum_up(&mut offsets);
        let mut targets: Vec<Node> = zeroes(view.targets.len());
        for node in (0..view.nodes() as Node).rev() {
            let (start, end) = (view.offsets[node as usize], view.offsets[node as usize + 1]);
            for edge in (start as usize..end as usize).rev() {
                if let Some(soon) = edge.checked_sub(FAR) {
                    prefetch(&offsets, view.targets[soon]);
                }
                if let Some(soon) = edge.checked_sub(NEAR) {
                    prefetch(&targets, offsets[view.targets[soon] as usize]);
                }
                let place = &mut offsets[view.targets[edge] as usize];
                *place -= 1;
                targets[*place as usize] = node;
            }
        }
        Graph::trusted(offsets, targets)
    }

    /// A graph of columns that were just made and need no check.
    pub(crate) fn trusted(offsets: Vec<u32>, targets: Vec<Node>) -> Graph {
        Graph { offsets: offsets.into(), targets: targets.into() }
    }

    /// Both columns as slices, for inner loops, since dereferencing a column takes a moment.
    pub(crate) fn view(&self) -> View<'_> {
        View { offsets: &self.offsets, targets: &self.targets }
    }
}

/// A graph as two slices.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub offsets: &'a [u32],
    pub targets: &'a [Node],
}

impl<'a> View<'a> {
    pub fn nodes(self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline]
    pub fn successors(self, node: Node) -> &'a [Node] {
        let index = node as usize;
        match (self.offsets.get(index), self.offsets.get(index + 1)) {
            (Some(&start), Some(&end)) => {
                self.targets.get(start as usize..end as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

pub(crate) fn check_sizes(nodes: usize, edges: usize) -> Result<()> {
    if nodes > MAX_NODES {
        return Err(GraphError::TooManyNodes(nodes));
    }
    if edges > MAX_EDGES {
        return Err(GraphError::TooManyEdges(edges));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(offsets: &[u32], targets: &[Node]) -> Result<Graph> {
        Graph::new(offsets.to_vec().into(), targets.to_vec().into())
    }

    #[test]
    fn columns_that_are_no_graph_are_refused() {
        let said = |offsets: &[u32], targets: &[Node]| match graph(offsets, targets) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(&[0, 1, 1], &[1]), "");
        assert_eq!(said(&[0], &[]), "");
        for (offsets, targets, wrong) in [
            (&[][..], &[][..], "node 0 begin: it is not said"),
            (&[1, 1], &[0], "node 0 begin: not at the beginning"),
            (&[0, 2, 1], &[0], "node 2 begin: before"),
            (&[0, 1], &[0, 0], "node 1 begin: not at the end"),
            (&[0, 1, 2], &[0, 2], "edge 1 goes to node 2, but there are 2 nodes"),
        ] {
            assert!(said(offsets, targets).contains(wrong), "{offsets:?}");
        }
    }

    #[test]
    fn reversal_turns_every_edge() -> Result<()> {
        let graph = graph(&[0, 2, 5, 5], &[1, 2, 1, 2, 2])?;
        let back = graph.reversed();
        assert_eq!((back.nodes(), back.edges()), (3, 5));
        assert_eq!(back.successors(0), [0; 0]);
        assert_eq!(back.successors(1), [0, 1]);
        assert_eq!(back.successors(2), [0, 1, 1]);
        assert_eq!(back.successors(3), [0; 0]);
        let again = back.reversed();
        assert_eq!((again.offsets(), again.targets()), (graph.offsets(), graph.targets()));
        Ok(())
    }
}
