//! What snapshots may cost: another copy is made only if it can be afforded.
//!
//! While a copy is there, what the program changes is there twice, at most all it has. The copies are the first
//! to go when memory is short (`copy`), but it should not come to that.

use alloc::ffi::CString;
use alloc::vec::Vec;

use bactrian_agent_abi::Limits;
use bactrian_agent_abi::ledger::Limit;
use bactrian_agent_os::proc::{self, MemoryGroup};
use bactrian_agent_os::process;
use bactrian_agent_os::sys::Pid;

/// Files that may be in the making; of more, the sizes of the oldest are not asked for any more.
const MOST_PENDING: usize = 256;
/// A snapshot takes at most about this part of the memory it is of.
const FILE_PART: u64 = 10;

/// Copies and files of this process.
#[derive(Default)]
pub struct Budget {
    /// Copies that have not been seen to end.
    copies: Vec<Pid>,
    /// Files that are not there yet.
    pending: Vec<CString>,
    /// Bytes of files that are there.
    written: u64,
    /// The control group's limit of memory.
    group: Option<MemoryGroup>,
}

impl Budget {
    pub fn new() -> Budget {
        Budget { group: MemoryGroup::of_self(), ..Budget::default() }
    }

    /// Whether another copy can be afforded; if not, what is in the way. `folder` is where its file goes. There may
    /// be so many copies beyond the limit.
    pub fn check(&mut self, limits: &Limits, folder: &CString, beyond: usize) -> Result<(), Limit> {
        self.copies.retain(|&copy| process::end_of(copy).is_none());
        if self.copies.len() >= limits.copies as usize + beyond {
            return Err(Limit::Copies);
        }
        // All that it ever had: to ask for what it has now, a file would have to be opened.
        let mut size = process::most_memory();
        if self.memory(limits, size, process::unused_memory()).is_err() || self.group.is_some() {
            size = proc::resident_memory().unwrap_or(size);
            let available = proc::available_memory().unwrap_or(u64::MAX).min(self.left_in_group());
            self.memory(limits, size, available)?;
        }
        self.look_at_files();
        if limits.disk.is_some_and(|most| self.written >= most) {
            return Err(Limit::Disk);
        }
        let is_full = process::free_space(folder).is_some_and(|free| free < size / FILE_PART);
        if is_full { Err(Limit::NoDisk) } else { Ok(()) }
    }

    fn memory(&self, limits: &Limits, size: u64, available: u64) -> Result<(), Limit> {
        let all = size.saturating_mul(self.copies.len() as u64 + 1);
        if limits.memory.is_some_and(|most| all > most) {
            return Err(Limit::Memory);
        }
        if size > available { Err(Limit::NoMemory) } else { Ok(()) }
    }

    /// Bytes that further files may come to.
    pub fn disk_left(&self, limits: &Limits) -> Option<u64> {
        limits.disk.map(|most| most.saturating_sub(self.written))
    }

    /// A copy was made, and its file will be there.
    pub fn spent(&mut self, copy: Pid, file: CString) {
        self.copies.push(copy);
        if self.pending.len() < MOST_PENDING {
            self.pending.push(file);
        }
    }

    fn look_at_files(&mut self) {
        let written = &mut self.written;
        self.pending.retain(|file| match process::file_size(file) {
            Some(size) => {
                *written += size;
                false
            }
            None => true,
        });
    }

    fn left_in_group(&self) -> u64 {
        self.group.as_ref().map_or(u64::MAX, MemoryGroup::left)
    }
}
