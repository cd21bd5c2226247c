//! Keys: what distinguishes a block apart from its pointers, i.e. its kind, size, immediates, the functions
//! of a closure, the contents of a string. Equal blocks have equal keys.
//!
//! A key is a 64-bit hash with a random seed. Among 100 million different blocks, the probability that any
//! two have the same key is 1 in 3,000, and they would have to point to the same blocks as well.

use std::hash::{BuildHasher, RandomState};

use bactrian_graph::Node;
use bactrian_snapshot::{Block, BlockId, FieldValue, Group, Result, Snapshot, SpaceKind, tag};

use crate::parallel;

/// The key of blocks that are equal to no other.
const NO_KEY: u64 = 0;

/// The keys of all blocks.
pub(super) struct Keys {
    keys: Vec<u64>,
    /// Which blocks are static data.
    is_static: Vec<bool>,
}

impl Keys {
    /// Reads all of a snapshot. Unreadable blocks get no key.
    pub fn of(snapshot: &Snapshot) -> Keys {
        let blocks = snapshot.blocks() as usize;
        let mut found = Keys { keys: vec![NO_KEY; blocks], is_static: vec![false; blocks] };
        let is_static = |block: &Block| {
            let space = snapshot.tables().space_of(block.address);
            space.is_some_and(|space| space.kind == SpaceKind::Static)
        };
        let maker = Maker { snapshot, seed: RandomState::new().hash_one(0) };
        let groups: Vec<usize> = (0..snapshot.groups().len()).collect();
        let read = |&index: &usize| {
            let group = snapshot.group(index).ok()?;
            let statics: Vec<bool> = group.blocks().iter().map(is_static).collect();
            let keys = maker.keys(&group).unwrap_or_else(|_| vec![NO_KEY; statics.len()]);
            Some((group.facts().first.index(), keys, statics))
        };
        parallel::map_then(&groups, read, |_, read| {
            let Some((first, keys, statics)) = read else { return };
            let end = first + keys.len();
            if let Some(place) = found.keys.get_mut(first..end) {
                place.copy_from_slice(&keys);
            }
            if let Some(place) = found.is_static.get_mut(first..end) {
                place.copy_from_slice(&statics);
            }
        });
        found
    }

    /// The key of a block; None if it is equal to no other, whatever it contains.
    #[inline]
    pub fn get(&self, node: Node) -> Option<u64> {
        self.keys.get(node as usize).copied().filter(|&key| key != NO_KEY)
    }

    /// The number of blocks without a key.
    pub fn left_out(&self) -> u64 {
        self.keys.iter().filter(|&&key| key == NO_KEY).count() as u64
    }

    /// For each block, whether it is static data.
    pub fn into_static(self) -> Vec<bool> {
        self.is_static
    }
}

struct Maker<'s> {
    snapshot: &'s Snapshot,
    seed: u64,
}

impl Maker<'_> {
    fn keys(&self, group: &Group<'_>) -> Result<Vec<u64>> {
        let mut keys: Vec<u64> = group.blocks().iter().map(|block| self.start(block)).collect();
        let first = group.facts().first;
        let at = |block: BlockId| (block.0 - first.0) as usize;
        if self.snapshot.columns().equals {
            for equal in group.equals()? {
                let place = at(equal.block);
                // The key of the first block with these contents.
                keys[place] = self.of_contents(&group.blocks()[place], equal.first);
            }
        }
        for custom in group.customs()? {
            if custom.external_bytes > 0 {
                keys[at(custom.block)] = NO_KEY;
            }
        }
        for closure in group.closures()? {
            let key = &mut keys[at(closure.block)];
            *key = mix(*key, u64::from(closure.environment));
            *key = closure.codes.iter().fold(*key, |key, code| mix(key, u64::from(code.0)));
        }
        for field in group.fields()?.iter() {
            let field = field?;
            let key = &mut keys[at(field.block)];
            if *key == NO_KEY {
                continue;
            }
            *key = match field.value {
                FieldValue::Immediate(Some(value)) => mix(mix(*key, 1), value as u64),
                FieldValue::Pointer(pointer) => mix(mix(*key, 2), u64::from(pointer.infix)),
                // An unknown value.
                FieldValue::Immediate(None) | FieldValue::Outside | FieldValue::Missing => NO_KEY,
            };
        }
        Ok(keys)
    }

    /// The initial key, from tag and size.
    fn start(&self, block: &Block) -> u64 {
        let columns = self.snapshot.columns();
        match block.tag {
            tag::CONTINUATION if columns.continuations => NO_KEY,
            // Objects are identified by their ids; lazy values change when forced.
            tag::OBJECT | tag::LAZY | tag::FORWARD | tag::ABSTRACT => NO_KEY,
            tag::ABSTRACT.. if columns.equals => self.of_contents(block, block.id),
            tag::ABSTRACT.. => NO_KEY,
            tag => mix(mix(self.seed, u64::from(tag)), block.words),
        }
    }

    fn of_contents(&self, block: &Block, first: BlockId) -> u64 {
        mix(mix(self.seed, u64::from(block.tag)), u64::from(first.0))
    }
}

/// Mixes a number into a key.
#[inline]
fn mix(key: u64, number: u64) -> u64 {
    let product = u128::from(key.rotate_left(23) ^ number) * 0x9e37_79b9_7f4a_7c15;
    let key = (product >> 64) as u64 ^ product as u64;
    // `NO_KEY` is reserved.
    if key == NO_KEY { 1 } else { key }
}
