//! Prediction of a field's contents: close to those of the same field in the last block of the same shape.
//!
//! Blocks that are allocated together lie together, and so do their targets, which may be far away: OCaml 5
//! separates blocks by size. So a target is coded relative to the last one of the same kind. So are integers,
//! many of which are constants or counters.

use super::shape::shape_byte;
use crate::model::BlockId;

/// Fields from this index on share one kind: they are those of arrays.
const FIELDS: usize = 16;

/// The last targets and integers by kind, which is the shape of the block and the index of the field.
#[derive(Debug)]
pub(crate) struct Guess {
    targets: Box<[u32]>,
    integers: Box<[i64]>,
}

/// No target so far.
const NONE: u32 = u32::MAX;

/// The kind of a block's first field; the kinds of the other fields follow.
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
    /// An empty predictor, as at the start of a group.
    pub fn new() -> Guess {
        Guess { targets: vec![NONE; FIELDS << 8].into(), integers: vec![0; FIELDS << 8].into() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.targets.fill(NONE);
        self.integers.fill(0);
    }

    /// The last integer in a field of this kind.
    #[inline]
    pub fn integer(&mut self, kinds: Kinds, field: u64) -> &mut i64 {
        &mut self.integers[kinds.of_field(field)]
    }

    /// The predicted target of a field of `block`.
    #[inline]
    pub fn target(&mut self, kinds: Kinds, field: u64, block: BlockId) -> i64 {
        match self.targets[kinds.of_field(field)] {
            NONE => i64::from(block.0),
            last => i64::from(last),
        }
    }

    /// Records the actual target.
    #[inline]
    pub fn learn(&mut self, kinds: Kinds, field: u64, target: BlockId) {
        self.targets[kinds.of_field(field)] = target.0;
    }
}
