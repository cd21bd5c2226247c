//! Questions to heap snapshots: what a snapshot is, what is in it, whether its file is whole.
//!
//! Sizes are in bytes and count the header of each block, as the collector does.

mod check;
mod contents;
mod info;

pub use check::{HeapCheck, HeapSubject, against_baseline, against_limit, is_complete, is_whole};
pub use contents::{Contents, Kind, KindRow, SpaceRow, contents};
pub use info::{Info, MemoryUse, RootCount, SkippedInfo, info};

/// Bytes of a word. Only programs of 64 bits can be walked.
pub const WORD: u64 = 8;

/// Bytes of a block with its header.
pub(crate) fn block_bytes(words: u64) -> u64 {
    words.saturating_add(1).saturating_mul(WORD)
}
