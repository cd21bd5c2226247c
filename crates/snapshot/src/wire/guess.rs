//! What is probably in a field: something near to what was in the same field of the last block of the same shape.
//!
//! Blocks that are made together lie together, also those that they point to, which may be far away: OCaml 5
//! keeps blocks of each size by themselves. So targets are counted from the last one of their kind, and integers
//! too: many are constants or count something.

use super::shape::shape_byte;
use crate::model::BlockId;

/// Fields from this one on are of one kind: they are those of arrays.
const FIELDS: usize = 16;

/// The last targets and integers, by kind: the shape of the block and the number of the field.
#[derive(Debug)]
pub(crate) struct Guess {
    targets: Box<[u32]>,
    integers: Box<[i64]>,
}

/// No target so far.
const NONE: u32 = u32::MAX;

/// The kind of a block's first field; those of its others follow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds(usize);

impl Kinds {
    #[inline]
    pub fn of(words: u64, tag: u8) -> Kinds {
        Kinds(usize::from(shape_byte(words, tag)) * FIELDS)
    }

    #[inline]
    fn of_field(self, field: u64) -> usize {
        self.0 + field.min(FIELDS as u64 - 1) as usize
    }
}

impl Guess {
    /// With nothing in it, as at the start of a group.
    pub fn new() -> Guess {
        Guess { targets: vec![NONE; FIELDS << 8].into(), integers: vec![0; FIELDS << 8].into() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.targets.fill(NONE);
        self.integers.fill(0);
    }

    /// The last integer in such a field.
    #[inline]
    pub fn integer(&mut self, kinds: Kinds, field: u64) -> &mut i64 {
        &mut self.integers[kinds.of_field(field)]
    }

    /// The guess for the target of a field of `block`.
    #[inline]
    pub fn target(&mut self, kinds: Kinds, field: u64, block: BlockId) -> i64 {
        match self.targets[kinds.of_field(field)] {
            NONE => i64::from(block.0),
            last => i64::from(last),
        }
    }

    /// What it was.
    #[inline]
    pub fn learn(&mut self, kinds: Kinds, field: u64, target: BlockId) {
        self.targets[kinds.of_field(field)] = target.0;
    }
}
