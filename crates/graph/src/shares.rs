//! Fair shares: what is shared is divided among those who point to it.

use crate::memory::zeroes;
use crate::{Components, Graph, NONE, Node};

/// The fair share of every node: its own weight and, for each of its edges, the share of the target divided by
/// the number of edges to it. What several point to is so divided among them, and the shares of the root's
/// targets, divided likewise, add up to the weight of all that is reached.
///
/// Nodes that reach each other are one thing: edges among them do not count, and each of them is given the share
/// of them all. Edges from what is not reached do not count either; its share is 0. Weights that are missing are 0.
/// Components must be those of the graph from the root; if they are of another length, all shares are 0, and if they
/// are those of another graph, shares are some numbers.
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
    // By component, what it gives along each edge to it. Targets have lower numbers, so theirs is known.
    let mut given: Vec<f64> = zeroes(components.count as usize);
    for component in 0..components.count {
        let mut share = 0.0;
        for &node in members.of(component) {
            share += f64::from(weights.get(node as usize).copied().unwrap_or(0));
            for &target in view.successors(node) {
                let to = of[target as usize];
                // What a reached node points to is reached, unless the components are those of another graph.
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

/// The edges to each component from others that are reached.
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

/// Nothing points to the root's component, and it gives nothing.
fn divisor(incoming: u32) -> f64 {
    f64::from(incoming.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an index file that was written by hand may say.
    #[test]
    fn components_of_another_graph_give_numbers_and_no_panic() {
        let graph = Graph::new(vec![0, 1, 1].into(), vec![1].into()).expect("a sound graph");
        for of in [[1, 0], [0, NONE], [0, 1], [1, 1]] {
            let components = Components { of: of.to_vec().into(), count: 2 };
            assert_eq!(fair_shares(&graph, &components, 0, &[1, 1]).len(), 2, "{of:?}");
        }
    }
}
