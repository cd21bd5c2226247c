//! The depth-first search, which numbers nodes and judges edges.

use crate::Node;
use crate::graph::View;
use crate::memory::{prefetch, zeroes};

/// Of so many targets of a node, what is known is fetched when the node is visited.
const AHEAD: usize = 8;

/// Of a node with more targets than that left, more is fetched, and earlier: what so many visits need is in no cache.
const LARGE: u32 = 256;

/// Fetches what visits of the next targets of a large node will need. A hash table has its cells anywhere in memory, and
/// each visit would wait for one thing after the other: the cell, what it points to, what is known of that. So each of
/// these is asked for some targets after the one that it depends on.
#[inline(never)]
fn look_ahead(view: View<'_>, number: &[u32], incoming: &[u32], next: usize) {
    // Nowhere further than `LARGE`.
    let ahead = |far: usize| view.targets[next + far];
    let fetch_node = |node: Node| {
        prefetch(number, node);
        prefetch(view.offsets, node);
    };
    fetch_node(ahead(15));
    prefetch(view.targets, view.offsets[ahead(9) as usize]);
    let below = |far: usize| view.successors(ahead(far)).iter().take(FEW);
    below(5).for_each(|&soon| fetch_node(soon));
    for &soon in below(3) {
        match number[soon as usize] {
            0 => prefetch(view.targets, view.offsets[soon as usize]),
            known => prefetch(incoming, known),
        }
    }
    // The next cell of the same bucket.
    for &soon in below(1).filter(|&&soon| number[soon as usize] == 0) {
        view.successors(soon).iter().take(FEW).for_each(|&later| fetch_node(later));
    }
}

/// Targets of a small node.
const FEW: usize = 4;

/// What the search found. Nodes are numbered from 1, in the order of visits; the root is 1. Arrays but the first
/// go by these numbers, and what they have for 0 means nothing.
pub struct Search {
    /// The number of each node, 0 if it was not reached.
    pub number: Vec<u32>,
    /// From where each was reached first; 0 for the root.
    pub parent: Vec<u32>,
    /// The highest known node with an edge to it: its parent, if no forward edge leads to it.
    pub semi: Vec<u32>,
    /// How many edges back and across lead to it. Edges to itself and to the root do not count: they change no
    /// dominator.
    pub incoming: Vec<u32>,
}

/// Visits all that is reached from the root.
///
/// There is no stack: the way back goes by `parent`. The place of the next edge, which is needed of nodes on the
/// way only, is kept in `semi`, which is needed of others only: a forward edge leads to a node that is done.
pub fn search(view: View<'_>, root: Node) -> Search {
    let nodes = view.nodes();
    let mut number: Vec<u32> = zeroes(nodes);
    // Pages of these that are never touched take no memory.
    let mut node_of: Vec<u32> = zeroes(nodes + 1);
    let mut parent: Vec<u32> = zeroes(nodes + 1);
    let mut semi: Vec<u32> = zeroes(nodes + 1);
    let mut incoming: Vec<u32> = zeroes(nodes + 1);
    let mut last = 0;
    if let Some(first) = number.get_mut(root as usize) {
        *first = 1;
        last = 1;
        node_of[1] = root;
        semi[1] = view.offsets[root as usize];
    }
    let mut here = last;
    'visits: while here != 0 {
        let end = view.offsets[node_of[here as usize] as usize + 1];
        let mut next = semi[here as usize];
        while next < end {
            let target = view.targets[next as usize] as usize;
            next += 1;
            if end - next > LARGE {
                look_ahead(view, &number, &incoming, next as usize);
            }
            let known = number[target];
            if known == 0 {
                last += 1;
                number[target] = last;
                parent[last as usize] = here;
                let (start, end) = (view.offsets[target], view.offsets[target + 1]);
                if start == end {
                    semi[last as usize] = here;
                    continue;
                }
                semi[here as usize] = next;
                node_of[last as usize] = target as Node;
                semi[last as usize] = start;
                here = last;
                for &soon in view.targets[start as usize..end as usize].iter().take(AHEAD) {
                    prefetch(&number, soon);
                    prefetch(view.offsets, soon);
                }
                continue 'visits;
            } else if known > here {
                let semi = &mut semi[known as usize];
                *semi = here.min(*semi);
            } else if known != here && known != 1 {
                incoming[known as usize] += 1;
            }
        }
        let above = parent[here as usize];
        semi[here as usize] = above;
        here = above;
    }
    let reached = last as usize + 1;
    for array in [&mut parent, &mut semi, &mut incoming] {
        array.truncate(reached);
        array.shrink_to_fit();
    }
    Search { number, parent, semi, incoming }
}
