//! What is reachable from each of many groups of nodes.
//!
//! One pass over the graph handles 64 groups: each component has a bit per group and passes its bits on along
//! its edges. Edges lead to lower components, so a component's bits are complete when its turn comes.

use crate::memory::zeroes;
use crate::{Components, Graph, NONE, Node};

/// The reachable size of each group: the summed weight of all nodes reachable from it, its own nodes included.
/// Nodes without a component (those not reachable from the root) do not count; missing weights are 0. If the
/// components do not fit the graph, all sums are 0.
pub fn reach(
    graph: &Graph,
    components: &Components,
    groups: &[&[Node]],
    weights: &[u32],
) -> Vec<u64> {
    let mut sums = vec![0; groups.len()];
    if groups.is_empty() || !components.fit(graph) {
        return sums;
    }
    let view = graph.view();
    let of: &[u32] = &components.of;
    let members = components.members();
    let mut bits = zeroes::<u64>(components.count as usize);
    for (groups, sums) in groups.chunks(64).zip(sums.chunks_mut(64)) {
        bits.fill(0);
        for (at, group) in groups.iter().enumerate() {
            for &node in group.iter() {
                let component = of.get(node as usize).copied().unwrap_or(NONE);
                if let Some(bits) = bits.get_mut(component as usize) {
                    *bits |= 1 << at;
                }
            }
        }
        for component in (0..components.count).rev() {
            let mine = bits[component as usize];
            if mine == 0 {
                continue;
            }
            let mut weight = 0;
            for &node in members.of(component) {
                weight += u64::from(weights.get(node as usize).copied().unwrap_or(0));
                for &target in view.successors(node) {
                    bits[of[target as usize] as usize] |= mine;
                }
            }
            let mut left = mine;
            while left != 0 {
                sums[left.trailing_zeros() as usize] += weight;
                left &= left - 1;
            }
        }
    }
    sums
}
