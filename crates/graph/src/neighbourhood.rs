//! The surroundings of a node, along edges in either direction.

use std::cmp::Reverse;

use crate::bits::Bits;
use crate::{Graph, Node};

/// Limits of a neighbourhood.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// The maximum distance in edges.
    pub steps: u32,
    /// The maximum number of nodes, the centre included.
    pub most: usize,
}

/// The nodes around a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Nearest first, beginning with the centre; among nodes at equal distance the largest first.
    pub near: Vec<Neighbour>,
    /// Nodes within the distance that exceeded the maximum number.
    pub left_out: Vec<Node>,
}

/// A node near the centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The number of the node.
    pub node: Node,
    /// Its distance in edges.
    pub distance: u32,
}

/// The nodes around `centre`. A step follows an edge in either direction: `backward` is `forward` with all
/// edges reversed. If there are too many nodes, the nearest are kept, and among equally near ones those for
/// which `size` is largest. So the kept nodes are always connected to the centre.
pub fn neighbourhood(
    forward: &Graph,
    backward: &Graph,
    centre: Node,
    within: Within,
    size: impl Fn(Node) -> u64,
) -> Neighbourhood {
    let mut found = Neighbourhood::default();
    let nodes = forward.nodes().max(backward.nodes());
    if centre as usize >= nodes {
        return found;
    }
    let (forward, backward) = (forward.view(), backward.view());
    let order = |&node: &Node| (Reverse(size(node)), node);
    let mut is_seen = Bits::new(nodes);
    is_seen.set(centre as usize);
    let (mut ring, mut next) = (vec![centre], Vec::new());
    for distance in 0..=within.steps {
        let room = (within.most - found.near.len()).min(ring.len());
        // Nodes that do not fit need not be sorted.
        if room > 0 && room < ring.len() {
            ring.select_nth_unstable_by_key(room, order);
        }
        let (near, left_out) = ring.split_at_mut(room);
        near.sort_unstable_by_key(order);
        found.near.extend(near.iter().map(|&node| Neighbour { node, distance }));
        found.left_out.extend_from_slice(left_out);
        if ring.is_empty() || distance == within.steps {
            break;
        }
        for &node in &ring {
            for &other in forward.successors(node).iter().chain(backward.successors(node)) {
                if !is_seen.has(other as usize) {
                    is_seen.set(other as usize);
                    next.push(other);
                }
            }
        }
        ring.clear();
        std::mem::swap(&mut ring, &mut next);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::graph;

    #[test]
    fn the_nearest_are_kept_and_then_the_largest() {
        // 0 -> 1 -> 2 -> 3, 4 -> 1, 1 -> 5
        let forward = graph(&[&[1], &[2, 5], &[3], &[], &[1], &[]]);
        let backward = forward.reversed();
        let near = |steps, most| {
            let within = Within { steps, most };
            let found = neighbourhood(&forward, &backward, 2, within, u64::from);
            let near: Vec<_> = found.near.iter().map(|near| (near.node, near.distance)).collect();
            (near, found.left_out)
        };
        assert_eq!(near(0, 9), (vec![(2, 0)], vec![]));
        assert_eq!(near(1, 9), (vec![(2, 0), (3, 1), (1, 1)], vec![]));
        let (kept, mut left_out) = near(7, 4);
        left_out.sort_unstable();
        assert_eq!(kept, [(2, 0), (3, 1), (1, 1), (5, 2)]);
        assert_eq!(left_out, [0, 4]);
        assert_eq!(near(1, 0).0, []);
        let nowhere = neighbourhood(&forward, &backward, 6, Within { steps: 1, most: 1 }, |_| 0);
        assert_eq!(nowhere, Neighbourhood::default());
    }
}
