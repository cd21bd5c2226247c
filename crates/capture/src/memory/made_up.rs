//! Memory made by a test: some words at an address, and nothing else.

use super::{Memory, Region};

pub(crate) struct MadeUp {
    bytes: Vec<u8>,
    regions: Vec<Region>,
}

impl MadeUp {
    pub(crate) fn new(start: u64, words: impl IntoIterator<Item = u64>) -> MadeUp {
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let region = Region {
            range: start..start + bytes.len() as u64,
            readable: true,
            writable: true,
            executable: false,
            shared: false,
            file: None,
            offset: 0,
            inode: 0,
        };
        MadeUp { bytes, regions: vec![region] }
    }
}

impl Memory for MadeUp {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let start = address.checked_sub(self.regions[0].range.start);
        let start = start.and_then(|at| usize::try_from(at).ok());
        let bytes = start.and_then(|at| self.bytes.get(at..at.checked_add(buffer.len())?));
        bytes.map(|bytes| buffer.copy_from_slice(bytes)).is_some()
    }

    fn regions(&self) -> &[Region] {
        &self.regions
    }
}
