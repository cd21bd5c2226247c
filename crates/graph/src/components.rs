//! Strongly connected components: sets of nodes that reach each other.
//!
//! This is Pearce's algorithm: one number per node, first its position in the order of visits and later its
//! component, and a stack of nodes whose component is still open. Positions are reused when a component is
//! closed. Components are counted down from the other end, so the two ranges never overlap.

use crate::buckets::by_key;
use crate::memory::{prefetch, zeroes};
use crate::{Column, Graph, NONE, Node};

/// The strongly connected components.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Components {
    /// The component of each node; [`NONE`] if the node is not reachable. Every edge leads to the same
    /// component or to one with a lower number.
    pub of: Column<u32>,
    /// The number of components.
    pub count: u32,
}

/// How many of a node's targets have their state prefetched when the node is visited.
const AHEAD: usize = 8;

/// A node on the path from the root to the current node.
struct Visit {
    node: Node,
    /// Index of its next edge in the list of targets.
    next: u32,
    /// The lowest position that is known to be reachable from it.
    least: u32,
}

/// The components of everything reachable from `root`. Nothing is reachable from a root that is not a node.
pub fn components(graph: &Graph, root: Node) -> Components {
    let view = graph.view();
    // 0: not visited. Counted up from 1: the position of a node that is on the path or open. Counted down from
    // `u32::MAX`: closed. A position plus a component is at most the number of nodes, so positions are always
    // below closed states.
    let mut state = zeroes::<u32>(view.nodes());
    let mut count = 0;
    let mut last = 0;
    let mut open: Vec<Node> = Vec::new();
    let mut way: Vec<Visit> = Vec::new();
    if let Some(first) = state.get_mut(root as usize) {
        last = 1;
        *first = last;
        way.push(Visit { node: root, next: view.offsets[root as usize], least: last });
    }
    'visits: while let Some(visit) = way.last_mut() {
        let node = visit.node;
        let end = view.offsets[node as usize + 1];
        while visit.next < end {
            let target = view.targets[visit.next as usize];
            visit.next += 1;
            let known = state[target as usize];
            if known == 0 {
                let (start, end) =
                    (view.offsets[target as usize], view.offsets[target as usize + 1]);
                if start == end {
                    state[target as usize] = !count;
                    count += 1;
                    continue;
                }
                last += 1;
                state[target as usize] = last;
                way.push(Visit { node: target, next: start, least: last });
                for &soon in view.targets[start as usize..end as usize].iter().take(AHEAD) {
                    prefetch(&state, soon);
                    prefetch(view.offsets, soon);
                }
                continue 'visits;
            }
            visit.least = visit.least.min(known);
        }
        let (place, least) = (state[node as usize], visit.least);
        way.pop();
        if let Some(before) = way.last_mut() {
            before.least = before.least.min(least);
        }
        if least < place {
            // It reaches an earlier node that is still open, and will be closed together with that one.
            state[node as usize] = least;
            open.push(node);
            continue;
        }
        while let Some(member) = open.pop_if(|member| state[*member as usize] >= place) {
            state[member as usize] = !count;
            last -= 1;
        }
        state[node as usize] = !count;
        last -= 1;
        count += 1;
    }
    for number in &mut state {
        *number = !*number;
    }
    Components { of: state.into(), count }
}

impl Components {
    /// Whether these can be components of `graph`: each node has an entry, which is a valid component or
    /// [`NONE`].
    pub(crate) fn fit(&self, graph: &Graph) -> bool {
        self.of.len() == graph.nodes() && self.of.iter().all(|&of| of < self.count || of == NONE)
    }

    /// The nodes of each component.
    pub(crate) fn members(&self) -> Members {
        let (starts, nodes) = by_key(&self.of, self.count as usize);
        Members { starts, nodes }
    }
}

/// The nodes of each component.
pub(crate) struct Members {
    starts: Vec<u32>,
    nodes: Vec<Node>,
}

impl Members {
    #[inline]
    pub fn of(&self, component: u32) -> &[Node] {
        let index = component as usize;
        &self.nodes[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::graph;

    #[test]
    fn cycles_are_one_component_and_edges_go_down() {
        // 0 -> 1 <-> 2 -> 3, 3 -> 3, 4 -> 0
        let graph = graph(&[&[1, 3], &[2], &[1, 3], &[3], &[0]]);
        let found = components(&graph, 0);
        assert_eq!(found, Components { of: vec![2, 1, 1, 0, NONE].into(), count: 3 });
        assert_eq!(found.members().of(1), [1, 2]);
        assert!(found.fit(&graph));
        assert_eq!(components(&graph, 4).count, 4);
    }

    #[test]
    fn a_missing_root_reaches_nothing() {
        let found = components(&graph(&[&[0]]), 1);
        assert_eq!(found, Components { of: vec![NONE].into(), count: 0 });
        assert_eq!(components(&graph(&[]), 0), Components::default());
    }
}
