//! Memory of a program, wherever it is: in a frozen copy, in a process, or in a core file.

mod cached;
mod core;
#[cfg(test)]
mod made_up;
mod process;

use std::ops::Range;
use std::path::PathBuf;

pub use cached::Cached;
pub(crate) use core::Fixed;
pub use core::{BadCore, Bytes, Core, Wrong};
#[cfg(test)]
pub(crate) use made_up::MadeUp;
pub use process::ProcessMemory;

/// The memory of a program that is not running.
pub trait Memory: Sync {
    /// Fills the buffer with the bytes at an address. Returns false if some of them cannot be read; then the
    /// contents of the buffer are unspecified.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;

    /// The mappings, in order of addresses.
    fn regions(&self) -> &[Region];

    /// The word at an address.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then_some(u64::from_le_bytes(bytes))
    }

    /// The words from an address on.
    fn words(&self, address: u64, count: usize) -> Option<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        let word =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.read(address, &mut bytes).then(|| bytes.chunks_exact(8).map(word).collect())
    }

    /// The region that contains an address.
    fn region_at(&self, address: u64) -> Option<&Region> {
        let regions = self.regions();
        let at = regions.partition_point(|region| region.range.end <= address);
        regions.get(at).filter(|region| region.range.start <= address)
    }

    /// The string at an address, without its terminating zero. None if it is longer than `max`, or cannot be
    /// read.
    fn c_string(&self, address: u64, max: usize) -> Option<Vec<u8>> {
        const PIECE: u64 = 64;
        let mut text = Vec::new();
        let mut at = address;
        while text.len() <= max {
            let mut piece = [0; PIECE as usize];
            // Up to an aligned end: what follows may not be mapped.
            let piece = piece.get_mut(..(PIECE - at % PIECE) as usize)?;
            if !self.read(at, piece) {
                return None;
            }
            let end = piece.iter().position(|&byte| byte == 0);
            text.extend_from_slice(piece.get(..end.unwrap_or(piece.len()))?);
            if end.is_some() {
                return Some(text).filter(|text| text.len() <= max);
            }
            at = at.checked_add(piece.len() as u64)?;
        }
        None
    }
}

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its address range.
    pub range: Range<u64>,
    /// Whether the program may read it.
    pub readable: bool,
    /// Whether the program may write it.
    pub writable: bool,
    /// Whether it may contain code.
    pub executable: bool,
    /// Whether it is shared with other processes.
    pub shared: bool,
    /// The mapped file, or the kernel's name for special memory, such as `[heap]`.
    pub file: Option<PathBuf>,
    /// The offset of the mapping in the file.
    pub offset: u64,
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
}

impl Region {
    /// Whether it may contain blocks allocated by OCaml.
    pub fn may_hold_blocks(&self) -> bool {
        self.readable && self.writable && !self.shared
    }
}
