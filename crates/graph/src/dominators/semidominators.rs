//! Semidominators of all nodes, from the last to the first.

use crate::memory::{prefetch, zeroes};

use super::sideways::Sideways;

/// How many sources in advance the data of a source is prefetched.
const AHEAD: usize = 16;

/// Makes `semi` the semidominator of every node. Leaves the parent of each node with a group in `sideways` in
/// the first entry of that group, because the array of parents is reused. Returns the two arrays that are no
/// longer needed.
pub fn find(semi: &mut [u32], parent: Vec<u32>, sideways: &mut Sideways) -> (Vec<u32>, Vec<u32>) {
    // Path compression: `ancestor` is some ancestor, at first the parent; `label` is the lowest semidominator
    // between the node and that ancestor, the ancestor excluded.
    let mut label = zeroes(semi.len());
    label.copy_from_slice(semi);
    let mut forest = Forest { ancestor: parent, label };
    let mut place = sideways.sources.len();
    for node in sideways.nodes.descending() {
        let mut least = semi[node];
        let number = node as u32;
        loop {
            place -= 1;
            let source = sideways.sources[place];
            // Nothing is above the root.
            if least != 1 {
                if let Some(soon) = place.checked_sub(AHEAD) {
                    prefetch(&forest.ancestor, sideways.sources[soon]);
                    prefetch(&forest.label, sideways.sources[soon]);
                }
                let found = if source < number { source } else { forest.least(source, number) };
                least = least.min(found);
            }
            if sideways.begins_at(place) {
                break;
            }
        }
        // Paths are compressed only for higher numbers, so this is still the parent.
        sideways.sources[place] = forest.ancestor[node];
        semi[node] = least;
        forest.label[node] = least;
    }
    (forest.ancestor, forest.label)
}

struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
}

impl Forest {
    /// The lowest semidominator between `from` and its first ancestor that is not after `limit`, that ancestor
    /// excluded.
    #[inline]
    fn least(&mut self, from: u32, limit: u32) -> u32 {
        if self.ancestor[from as usize] > limit {
            self.shorten(from, limit);
        }
        self.label[from as usize]
    }

    /// Makes the first ancestor that is not after `limit` the ancestor of all nodes on the path. On the way up,
    /// pointers are reversed, so that the way back needs no stack.
    fn shorten(&mut self, from: u32, limit: u32) {
        let (mut below, mut node) = (0, from);
        loop {
            let above = self.ancestor[node as usize];
            if above <= limit {
                break;
            }
            self.ancestor[node as usize] = below;
            below = node;
            node = above;
        }
        let top = self.ancestor[node as usize];
        let mut least = self.label[node as usize];
        while below != 0 {
            let node = below as usize;
            below = self.ancestor[node];
            self.ancestor[node] = top;
            least = least.min(self.label[node]);
            self.label[node] = least;
        }
    }
}
