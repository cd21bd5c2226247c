//! Trees given by each node's parent, inverted so that they can be descended.

use crate::buckets::by_key;
use crate::memory::{prefetch, zeroes};
use crate::{Graph, MAX_NODES, NONE, Node};

/// The children of every node.
#[derive(Clone, Debug)]
pub struct Tree {
    children: Graph,
}

impl Tree {
    /// The tree in which `parent[n]` is the parent of node `n`. A parent that is not a node ([`crate::NONE`],
    /// for one) is ignored.
    pub fn of(parent: &[Node]) -> Tree {
        let parent = &parent[..parent.len().min(MAX_NODES)];
        let (offsets, targets) = by_key(parent, parent.len());
        Tree { children: Graph::trusted(offsets, targets) }
    }

    /// The children of a node, ascending.
    pub fn children(&self, node: Node) -> &[Node] {
        self.children.successors(node)
    }

    /// The tree as a graph with edges from parents to children.
    pub fn graph(&self) -> &Graph {
        &self.children
    }
}

/// Whether each node's parent is a node or none, and there are no cycles.
pub fn is_forest(parents: &[Node]) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnTheWay,
        Done,
    }
    let mut states = vec![State::New; parents.len()];
    let mut way = Vec::new();
    for start in 0..parents.len() {
        let mut next = start;
        loop {
            match states.get(next) {
                Some(State::New) => {}
                Some(State::Done) => break,
                Some(State::OnTheWay) | None => return false,
            }
            states[next] = State::OnTheWay;
            way.push(next);
            if parents[next] == NONE {
                break;
            }
            next = parents[next] as usize;
        }
        for node in way.drain(..) {
            states[node] = State::Done;
        }
    }
    true
}

/// How many nodes in advance a parent's data is prefetched.
const AHEAD: usize = 16;

/// The value of nodes that are not below the root.
const OUTSIDE: u32 = NONE - 1;

/// Visits everything below `root`, parents before their children. Each node gets the number that `visit`
/// returned for its parent; children of the root get 0, and the root itself is not visited. The parents must
/// not form a cycle.
///
/// This needs no [`Tree`] and goes through memory in order, because parents are visited when a child is met
/// first. It is the fastest way to visit everything, and the slowest way to visit a few nodes.
pub fn inherit(parent: &[Node], root: Node, mut visit: impl FnMut(Node, u32) -> u32) {
    let mut given: Vec<u32> = zeroes(parent.len());
    given.fill(NONE);
    if let Some(first) = given.get_mut(root as usize) {
        *first = 0;
    }
    let mut way: Vec<Node> = Vec::new();
    for node in 0..parent.len().min(MAX_NODES) {
        if let Some(&soon) = parent.get(node + AHEAD) {
            prefetch(&given, soon);
        }
        let mut at = node as Node;
        while given.get(at as usize) == Some(&NONE) {
            way.push(at);
            at = parent[at as usize];
        }
        let mut above = given.get(at as usize).copied().unwrap_or(OUTSIDE);
        while let Some(node) = way.pop() {
            if above != OUTSIDE {
                above = visit(node, above);
            }
            given[node as usize] = above;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cyclic_parents_are_no_forest() {
        assert!(is_forest(&[]));
        assert!(is_forest(&[NONE, 0, 1, 1, NONE]));
        assert!(is_forest(&[1, 2, 3, NONE]));
        for wrong in [&[0][..], &[1, 0], &[NONE, 2, 1], &[1, 2, 3, 1], &[3, 0, 1, 2], &[7]] {
            assert!(!is_forest(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn numbers_are_inherited() {
        // 6 is above 2 and 5; 2 is above 0, 1 and 4. 3 and everything below it are outside.
        let mut seen = Vec::new();
        inherit(&[2, 2, 6, NONE, 2, 6, NONE, 3, 7, 77], 6, |node, above| {
            seen.push((node, above));
            10 * above + node + 1
        });
        assert_eq!(seen, [(2, 0), (0, 3), (1, 3), (4, 3), (5, 0)]);
        inherit(&[], 0, |_, above| above);
        inherit(&[NONE, 0], 2, |node, _| panic!("{node} is not below the root"));
    }

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
