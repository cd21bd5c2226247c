//! Back and cross edges, grouped by their targets.

use crate::bits::Bits;
use crate::buckets::sum_up;
use crate::graph::View;
use crate::memory::{prefetch, zeroes};

/// How many edges in advance the number of a target is prefetched (`FAR`), and then its position (`NEAR`).
const FAR: usize = 32;
const NEAR: usize = 12;

/// Groups of sources, one group for each node whose semidominator may differ from its parent, in the order of
/// the nodes. Nodes are search numbers.
pub struct Sideways {
    /// The groups, one after the other.
    pub sources: Vec<u32>,
    /// The nodes that have a group.
    pub nodes: Bits,
    /// The indices in `sources` where groups begin.
    starts: Bits,
}

impl Sideways {
    /// Collects the groups. The group of a node that has forward edges only consists of its parent: a source
    /// with a lower number contributes nothing but that number.
    pub fn of(
        view: View<'_>,
        number: &[u32],
        parent: &[u32],
        semi: &[u32],
        mut incoming: Vec<u32>,
    ) -> Sideways {
        let mut nodes = Bits::new(incoming.len());
        for (node, count) in incoming.iter_mut().enumerate() {
            if *count == 0 && semi[node] != parent[node] {
                *count = 1;
            }
            if *count != 0 {
                nodes.set(node);
            }
        }
        // Ends of the groups; filling the groups turns them into starts. There is at most one entry per edge.
        let mut places = incoming;
        let total = sum_up(&mut places) as usize;
        let mut sources = zeroes::<u32>(total);
        for (node, &from) in number.iter().enumerate() {
            if from == 0 {
                continue;
            }
            for edge in view.offsets[node] as usize..view.offsets[node + 1] as usize {
                if let Some(&soon) = view.targets.get(edge + FAR) {
                    prefetch(number, soon);
                }
                if let Some(&soon) = view.targets.get(edge + NEAR) {
                    prefetch(&places, number[soon as usize]);
                }
                let to = number[view.targets[edge] as usize];
                if to < from && to != 1 {
                    let place = &mut places[to as usize];
                    *place -= 1;
                    sources[*place as usize] = from;
                }
            }
        }
        let mut starts = Bits::new(total);
        for node in nodes.ascending() {
            let place = &mut places[node];
            // Sources are never 0, and all groups before this one are full, so this node has forward edges
            // only.
            if *place > 0 && sources[*place as usize - 1] == 0 {
                *place -= 1;
                sources[*place as usize] = parent[node];
            }
            starts.set(*place as usize);
        }
        Sideways { sources, nodes, starts }
    }

    /// Whether a group begins at this index.
    #[inline]
    pub fn begins_at(&self, place: usize) -> bool {
        self.starts.has(place)
    }
}
