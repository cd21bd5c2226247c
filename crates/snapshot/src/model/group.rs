//! Groups: blocks that are written, compressed and read together.

use super::BlockId;

/// The maximum number of blocks in a group.
pub const GROUP_BLOCKS: u32 = 65_536;

/// What is known of a group without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFacts {
    /// Its first block; the others follow without gaps in the numbering.
    pub first: BlockId,
    /// The number of its blocks.
    pub blocks: u32,
    /// The number of their fields that point to blocks.
    pub edges: u64,
    /// The total size of the blocks in words, without headers.
    pub words: u64,
    /// The address of the first block.
    pub first_address: u64,
    /// The address of the last block.
    pub last_address: u64,
}

impl GroupFacts {
    /// The number after that of its last block.
    pub fn end(&self) -> u64 {
        u64::from(self.first.0) + u64::from(self.blocks)
    }
}
