//! What would remain if equal blocks were shared.
//!
//! Of each set of equal blocks one *stays*. The others go, but not independently: of a tree that exists twice, the root of
//! one copy is replaced, and the rest of that copy goes with it. So blocks are examined from the top. One that goes is a
//! *top* if a block that stays points to it; everything that goes because of a top is counted there.
//!
//! Equal blocks have the same height above the nodes that have no equals, and whatever points to a block has
//! a greater height. So if heights are processed in descending order, everything that points to a block is
//! decided before the block itself.

use bactrian_graph::{Components, Graph, NONE, Node};
use rayon::prelude::*;

/// A graph with its sets of equal nodes.
pub(super) struct Equals<'a> {
    pub graph: &'a Graph,
    pub components: &'a Components,
    /// For each node the representative of all nodes equal to it.
    pub first: &'a [Node],
    pub weights: &'a [u32],
    /// Nodes that stay in any case.
    pub stays: &'a [bool],
}

/// The effect of sharing.
pub(super) struct Sharing {
    /// Nodes with equals, in descending height.
    pub several: Vec<Node>,
    /// By representative: the number of tops besides the node that stays, and the weight that goes because of
    /// them.
    pub tops: Vec<u32>,
    pub saved: Vec<u64>,
    /// The fate of each node.
    pub fate: Vec<Fate>,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays.
    Stays,
    /// It would be replaced by one that stays.
    Top,
    /// It would go together with what points to it.
    Below,
}

impl Equals<'_> {
    /// Determines what would stay.
    pub fn share(&self) -> Sharing {
        let nodes = self.first.len();
        let mut copies = vec![0_u32; nodes];
        let is_reached = |node: Node| self.components.of.get(node as usize) != Some(&NONE);
        for &first in self.first {
            copies[first as usize] += 1;
        }
        let is_several = |node: Node| copies[self.first[node as usize] as usize] > 1;
        let several = self.by_height(&is_several);
        let mut fate = vec![Fate::Stays; nodes];
        several.iter().for_each(|&node| fate[node as usize] = Fate::Below);

        // Whether something that stays points to a node, and otherwise the top because of which it goes.
        let mut is_needed = vec![false; nodes];
        let mut because = vec![NONE; nodes];
        for node in (0..nodes as Node).filter(|&node| is_reached(node) && !is_several(node)) {
            self.graph.successors(node).iter().for_each(|&to| is_needed[to as usize] = true);
        }
        let mut sharing =
            Sharing { tops: vec![0; nodes], saved: vec![0; nodes], several, fate: Vec::new() };
        // The number of copies is no longer needed; from here on the slot says whether one of them stays.
        const ONE_STAYS: u32 = 0;
        for &node in &sharing.several {
            let at = node as usize;
            let first = self.first[at] as usize;
            let stays = self.stays[at] || (is_needed[at] && copies[first] != ONE_STAYS);
            if stays {
                copies[first] = ONE_STAYS;
                fate[at] = Fate::Stays;
                self.graph.successors(node).iter().for_each(|&to| is_needed[to as usize] = true);
                continue;
            }
            if is_needed[at] {
                fate[at] = Fate::Top;
                sharing.tops[first] += 1;
                because[at] = first as Node;
            }
            let top = because[at];
            let Some(saved) = sharing.saved.get_mut(top as usize) else { continue };
            *saved += u64::from(self.weights[at]);
            for &to in self.graph.successors(node) {
                if because[to as usize] == NONE {
                    because[to as usize] = top;
                }
            }
        }
        sharing.fate = fate;
        sharing
    }

    /// Nodes with equals in descending height; within a height, those that stay in any case come first.
    fn by_height(&self, is_several: &(dyn Fn(Node) -> bool + Sync)) -> Vec<Node> {
        let component = |node: Node| self.components.of[node as usize];
        let mut several: Vec<Node> = (0..self.first.len() as Node)
            .into_par_iter()
            .filter(|&node| component(node) != NONE && is_several(node))
            .collect();
        // Edges lead to lower components.
        several.par_sort_unstable_by_key(|&node| component(node));
        let mut heights = vec![0_u32; self.first.len()];
        for &node in &several {
            let below = self.graph.successors(node).iter().map(|&to| heights[to as usize]).max();
            heights[node as usize] = below.unwrap_or(0).saturating_add(1);
        }
        several.par_sort_unstable_by_key(|&node| {
            let at = node as usize;
            (u32::MAX - heights[at], !self.stays[at], node)
        });
        several
    }
}
