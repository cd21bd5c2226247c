//! Fair shares: a shared node is divided among the nodes that point to it.

use crate::memory::zeroes;
use crate::{Components, Graph, NONE, Node};

/// The fair share of every node: its own weight plus, for each of its edges, the share of the target divided by
/// the target's number of incoming edges. So shared nodes are divided among their holders, and the shares of
/// the root's targets, divided likewise, add up to the weight of everything reachable.
///
/// Nodes that reach each other count as one: edges among them are ignored, and each of them gets the share of
/// the whole component. Edges from unreachable nodes are ignored too; an unreachable node's share is 0. Missing
/// weights are 0. The components must be those of this graph from this root. If their length differs, all
/// shares are 0; if they belong to another graph, shares are meaningless numbers.
pub fn fair_shares(
    graph: &Graph,
    components: &Components,
    root: Node,
    weights: &[u32],
) -> Vec<f64> {
    let view = graph.view();
    if !components.fit(graph) || components.of.get(root as usize).is_none_or(|&of| of == NONE) {
        return vec![0.0; view.nodes()];
    }
    let of: &[u32] = &components.of;
    let members = components.members();
    let incoming = incoming(graph, components);
    // For each component, what it gives along each incoming edge. Targets have lower numbers, so theirs is
    // known.
    let mut given: Vec<f64> = zeroes(components.count as usize);
    for component in 0..components.count {
        let mut share = 0.0;
        for &node in members.of(component) {
            share += f64::from(weights.get(node as usize).copied().unwrap_or(0));
            for &target in view.successors(node) {
                let to = of[target as usize];
                // The targets of a reachable node are reachable, unless the components belong to another graph.
                if to != component && to != NONE {
                    share += given[to as usize];
                }
            }
        }
        given[component as usize] = share / divisor(incoming[component as usize]);
    }
    drop(members);
    let share_of = |&of: &u32| match of {
        NONE => 0.0,
        of => given[of as usize] * divisor(incoming[of as usize]),
    };
    of.iter().map(share_of).collect()
}

/// The number of edges to each component from other reachable components.
fn incoming(graph: &Graph, components: &Components) -> Vec<u32> {
    let view = graph.view();
    let of: &[u32] = &components.of;
    let mut incoming: Vec<u32> = zeroes(components.count as usize);
    for node in 0..view.nodes() as Node {
        let from = of[node as usize];
        if from == NONE {
            continue;
        }
        for &target in view.successors(node) {
            let to = of[target as usize];
            if to != from && to != NONE {
                incoming[to as usize] += 1;
            }
        }
    }
    incoming
}

/// The root's component has no incoming edges and gives nothing.
fn divisor(incoming: u32) -> f64 {
    f64::from(incoming.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Components as a hand-written index file may contain them.
    #[test]
    fn components_of_another_graph_give_numbers_and_no_panic() {
        let graph = Graph::new(vec![0, 1, 1].into(), vec![1].into()).expect("a sound graph");
        for of in [[1, 0], [0, NONE], [0, 1], [1, 1]] {
            let components = Components { of: of.to_vec().into(), count: 2 };
            assert_eq!(fair_shares(&graph, &components, 0, &[1, 1]).len(), 2, "{of:?}");
        }
    }
}
