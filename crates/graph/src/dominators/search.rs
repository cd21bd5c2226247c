//! The depth-first search that numbers nodes and classifies edges.

use crate::Node;
use crate::graph::View;
use crate::memory::{prefetch, zeroes};

/// How many targets of a node have their data prefetched when the node is visited.
const AHEAD: usize = 8;

/// A node with more remaining targets than this is prefetched further ahead: the data of so many visits is in
/// no cache.
const LARGE: u32 = 256;

/// Prefetches what visits of the next targets of a large node will need. The cells of a hash table are spread
/// over memory, and each visit would wait for one load after the other: the cell, what it points to, and the
/// state of that. So each of these is prefetched a few targets after the one that it depends on.
#[inline(never)]
fn look_ahead(view: View<'_>, number: &[u32], incoming: &[u32], next: usize) {
    // Never further than `LARGE`.
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

/// How many targets of a small node are prefetched.
const FEW: usize = 4;

/// The result of the search. Nodes are numbered from 1 in the order of visits; the root is 1. All arrays but
/// `number` are indexed by these numbers; their entry 0 is meaningless.
pub struct Search {
    /// The search number of each node; 0 if it is unreachable.
    pub number: Vec<u32>,
    /// The node from which each node was first reached; 0 for the root.
    pub parent: Vec<u32>,
    /// The highest known predecessor: the parent, unless a forward edge leads here.
    pub semi: Vec<u32>,
    /// The number of incoming back and cross edges. Edges to the node itself and to the root do not count,
    /// because they change no dominator.
    pub incoming: Vec<u32>,
}

/// Visits everything reachable from the root.
///
/// There is no stack: `parent` leads back. The index of a node's next edge, needed only while the node is on
/// the current path, is kept in `semi`, which is needed only for finished nodes: a forward edge leads to a node
/// that is finished.
pub fn search(view: View<'_>, root: Node) -> Search {
    let nodes = view.nodes();
    let mut number: Vec<u32> = zeroes(nodes);
    // Pages of these arrays that are never touched take no memory.
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
