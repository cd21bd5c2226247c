//! Groups: blocks that are written, compressed and read together.

use super::BlockId;

/// Blocks in a group at most.
pub const GROUP_BLOCKS: u32 = 65_536;

/// What is known of a group without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFacts {
    /// Its first block; the others follow without a gap.
    pub first: BlockId,
    /// How many blocks it has.
    pub blocks: u32,
    /// How many of their fields point to blocks.
    pub edges: u64,
    /// How many words they have together, without headers.
    pub words: u64,
    /// The address of the first block.
    pub first_address: u64,
    /// The address of the last block.
    pub last_address: u64,
}

impl GroupFacts {
    /// Just after its last block.
    pub fn end(&self) -> u64 {
        u64::from(self.first.0) + u64::from(self.blocks)
    }
}
