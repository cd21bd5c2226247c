//! The addresses of all blocks in four bytes each: the distance in words from the first of 256 neighbours.

use std::collections::HashMap;

use bactrian_analysis::heap::Heap;
use bactrian_graph::Node;

/// How many blocks share one base address.
const NEIGHBOURS: usize = 256;
/// The distance of a block that could not be read.
const NOWHERE: u32 = u32::MAX;

/// The addresses of blocks.
#[derive(Debug, Default)]
pub struct Addresses {
    starts: Vec<u64>,
    distances: Vec<u32>,
    /// Blocks too far from their neighbours: a few per heap, where one region ends and the next begins.
    far: HashMap<Node, u64>,
}

impl Addresses {
    /// Reads the addresses of all blocks.
    pub fn of(heap: &Heap) -> Addresses {
        let snapshot = heap.snapshot();
        let mut addresses = Addresses::default();
        for index in 0..snapshot.groups().len() {
            let Ok(group) = snapshot.group(index) else { continue };
            addresses.skip_to(group.facts().first.index());
            group.blocks().iter().for_each(|block| addresses.push(block.address));
        }
        addresses.skip_to(heap.blocks());
        addresses
    }

    /// The address of a node; None if it could not be read, or is not a block.
    #[inline]
    pub fn get(&self, node: Node) -> Option<u64> {
        let &distance = self.distances.get(node as usize)?;
        if distance == NOWHERE {
            return self.far.get(&node).copied();
        }
        let start = self.starts.get(node as usize / NEIGHBOURS)?;
        Some(start + (u64::from(distance) << 3))
    }

    fn skip_to(&mut self, node: usize) {
        while self.distances.len() < node {
            self.begin(0);
            self.distances.push(NOWHERE);
        }
    }

    fn push(&mut self, address: u64) {
        self.begin(address);
        let start = self.starts.last().copied().unwrap_or(0);
        let distance = address.checked_sub(start).filter(|bytes| bytes % 8 == 0);
        let distance = distance.and_then(|bytes| u32::try_from(bytes >> 3).ok());
        match distance {
            Some(distance) if distance != NOWHERE => self.distances.push(distance),
            _ => {
                self.far.insert(self.distances.len() as Node, address);
                self.distances.push(NOWHERE);
            }
        }
    }

    fn begin(&mut self, address: u64) {
        if self.distances.len().is_multiple_of(NEIGHBOURS) {
            self.starts.push(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_near_and_far_are_kept() {
        let mut addresses = Addresses::default();
        let mut known = HashMap::new();
        for number in 0..1000_u32 {
            let region = [0x1000, 0x5555_0000_0000, 0x7fff_0000_0000][number as usize / 400];
            let address = region + u64::from(number) * 24 + u64::from(number == 999);
            known.insert(number, address);
            addresses.push(address);
        }
        addresses.skip_to(1300);
        addresses.push(0x7fff_ffff_0000);
        known.insert(1300, 0x7fff_ffff_0000);
        for number in 0..1500 {
            assert_eq!(addresses.get(number), known.get(&number).copied(), "{number}");
        }
    }
}
