//! What snapshots may cost: another copy is made only if it is affordable.
//!
//! While a copy exists, memory that the program changes exists twice; at most, all of its memory does. The
//! copies are the first to be killed when memory is short (`copy`), but it should not come to that.

use alloc::ffi::CString;

use bactrian_agent_abi::Limits;
use bactrian_agent_abi::ledger::Limit;
use bactrian_agent_os::copies::Copies;
use bactrian_agent_os::proc::{self, MemoryGroup};
use bactrian_agent_os::process;

/// A snapshot file takes at most about one part in this many of the memory.
const FILE_PART: u64 = 10;

/// The copies and files of this process.
#[derive(Default)]
pub struct Budget {
    pub copies: Copies,
    /// The memory control group of this process, if it has a limit.
    group: Option<MemoryGroup>,
}

impl Budget {
    pub fn new() -> Budget {
        Budget { group: MemoryGroup::of_self(), ..Budget::default() }
    }

    /// Checks whether another copy is affordable; if not, returns the limit. `folder` is the directory of its
    /// file. `beyond` copies more than the limit may exist. The copies have just been settled.
    pub fn check(&self, limits: &Limits, folder: &CString, beyond: usize) -> Result<(), Limit> {
        if self.copies.count() >= limits.copies as usize + beyond {
            return Err(Limit::Copies);
        }
        // The peak, because asking for the current size would take opening a file.
        let mut size = process::most_memory();
        if self.memory(limits, size, process::unused_memory()).is_err() || self.group.is_some() {
            size = proc::resident_memory().unwrap_or(size);
            let available = proc::available_memory().unwrap_or(u64::MAX).min(self.left_in_group());
            self.memory(limits, size, available)?;
        }
        if limits.disk.is_some_and(|most| self.copies.written() >= most) {
            return Err(Limit::Disk);
        }
        if self.disk_left(limits) == Some(0) {
            // The present copies have reserved what is left, but may not need all of it.
            return Err(Limit::Copies);
        }
        let is_full = process::free_space(folder).is_some_and(|free| free < size / FILE_PART);
        if is_full { Err(Limit::NoDisk) } else { Ok(()) }
    }

    fn memory(&self, limits: &Limits, size: u64, available: u64) -> Result<(), Limit> {
        let all = size.saturating_mul(self.copies.count() as u64 + 1);
        if limits.memory.is_some_and(|most| all > most) {
            return Err(Limit::Memory);
        }
        if size > available { Err(Limit::NoMemory) } else { Ok(()) }
    }

    /// Bytes that the next file may take; None if unlimited. No file is larger than the memory that it describes,
    /// so that is what is reserved for each.
    pub fn disk_left(&self, limits: &Limits) -> Option<u64> {
        let taken = self.copies.written().saturating_add(self.copies.reserved());
        limits.disk.map(|most| most.saturating_sub(taken).min(process::most_memory()))
    }

    fn left_in_group(&self) -> u64 {
        self.group.as_ref().map_or(u64::MAX, MemoryGroup::left)
    }
}
