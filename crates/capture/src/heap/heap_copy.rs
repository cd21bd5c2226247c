//! The program's memory, with the heap read from our copy of it: nothing of the heap is read twice, and the
//! frozen program need not keep what has been read.

use super::image::MemoryImage;
use crate::memory::{Memory, Region};

/// Memory of which the part that may contain blocks is in an image.
pub struct HeapCopy<'a> {
    pub image: &'a MemoryImage<'a>,
    /// Everything else.
    pub rest: &'a dyn Memory,
}

impl Memory for HeapCopy<'_> {
    fn read(&self, mut address: u64, mut buffer: &mut [u8]) -> bool {
        while !buffer.is_empty() {
            let (space, end) = self.image.space_or_gap(address);
            let now = usize::try_from(end - address).unwrap_or(usize::MAX).min(buffer.len());
            let (piece, after) = std::mem::take(&mut buffer).split_at_mut(now);
            let is_read = match space {
                Some(_) => self.image.read_copy(address, piece),
                None => self.rest.read(address, piece),
            };
            if !is_read {
                return false;
            }
            let Some(next) = address.checked_add(now as u64) else { return after.is_empty() };
            (address, buffer) = (next, after);
        }
        true
    }

    fn regions(&self) -> &[Region] {
        self.rest.regions()
    }
}
