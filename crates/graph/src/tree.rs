//! Trees that are known by each node's parent, turned round to be opened from above.

use crate::buckets::by_key;
use crate::{Graph, MAX_NODES, Node};

/// The children of every node.
#[derive(Clone, Debug)]
pub struct Tree {
    children: Graph,
}

impl Tree {
    /// The tree in which each node has the parent that stands at its place. What is not a node of the tree
    /// ([`crate::NONE`], for one) is nobody's parent.
    pub fn of(parent: &[Node]) -> Tree {
        let parent = &parent[..parent.len().min(MAX_NODES)];
        let (offsets, targets) = by_key(parent, parent.len());
        Tree { children: Graph::trusted(offsets, targets) }
    }

    /// The children of a node, in order of their numbers.
    pub fn children(&self, node: Node) -> &[Node] {
        self.children.successors(node)
    }

    /// The tree as a graph with edges from parents to children.
    pub fn graph(&self) -> &Graph {
        &self.children
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;

    #[test]
    fn children_are_in_order() {
        let tree = Tree::of(&[2, 2, NONE, 1, 2, 77]);
        assert_eq!(tree.children(2), [0, 1, 4]);
        assert_eq!(tree.children(1), [3]);
        assert_eq!(tree.children(0), [0; 0]);
        assert_eq!(tree.children(77), [0; 0]);
        assert_eq!(Tree::of(&[]).children(0), [0; 0]);
    }
}
