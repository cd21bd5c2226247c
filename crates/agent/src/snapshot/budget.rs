//! What snapshots may cost: another copy is made only if it can be afforded.
//!
//! While a copy is there, what the program changes is there twice, at most all it has. The copies are the first
//! to go when memory is short (`copy`), but it should not come to that.

use alloc::ffi::CString;
use alloc::vec::Vec;

use bactrian_agent_abi::Limits;
use bactrian_agent_abi::ledger::Limit;

use crate::process;
use crate::sys;

/// Files that may be in the making; of more, the sizes of the oldest are not asked for any more.
const MOST_PENDING: usize = 256;
/// A snapshot takes at most about this part of the memory it is of.
const FILE_PART: u64 = 10;

/// Copies and files of this process.
#[derive(Default)]
pub struct Budget {
    /// Copies that have not been seen to end.
    copies: Vec<u32>,
    /// Files that are not there yet.
    pending: Vec<CString>,
    /// Bytes of files that are there.
    written: u64,
    /// Where the control group tells how much memory it has, and how much it may have.
    group: Option<(CString, u64)>,
}

impl Budget {
    pub fn new() -> Budget {
        Budget { group: memory_group(), ..Budget::default() }
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
            size = resident().unwrap_or(size);
            let available = available().unwrap_or(u64::MAX).min(self.left_in_group());
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
    pub fn spent(&mut self, copy: u32, file: CString) {
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
        let Some((used, most)) = &self.group else { return u64::MAX };
        most.saturating_sub(number_in(used).unwrap_or(0))
    }
}

/// Memory that is there for whoever asks, as the kernel estimates it.
fn available() -> Option<u64> {
    let text = sys::read_file(c"/proc/meminfo").ok()?;
    let line = text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"MemAvailable:"))?;
    number(line)?.checked_mul(1024)
}

/// Memory that this process has now.
fn resident() -> Option<u64> {
    let text = sys::read_file(c"/proc/self/statm").ok()?;
    number(text.split(|byte| *byte == b' ').nth(1)?)?.checked_mul(4096)
}

/// The limit of our control group, if it has one, and where it says what is used of it. Version 2 has one tree of groups,
/// version 1 one for memory.
fn memory_group() -> Option<(CString, u64)> {
    /// How a line about a tree begins, where the tree is, and its files of what is used and allowed.
    const TREES: [[&str; 4]; 2] = [
        ["0::", "/sys/fs/cgroup", "/memory.current", "/memory.max"],
        [":memory:", "/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes"],
    ];
    let text = sys::read_file(c"/proc/self/cgroup").ok()?;
    let lines = || text.split(|byte| *byte == b'\n');
    TREES.iter().find_map(|[mark, tree, used, most]| {
        let path = lines().find_map(|line| after(line, mark.as_bytes()))?;
        let file =
            |name: &str| CString::new([tree.as_bytes(), path, name.as_bytes()].concat()).ok();
        Some((file(used)?, number_in(&file(most)?)?))
    })
}

/// What comes after a mark, which may have a number before it.
fn after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    line.strip_prefix(mark).or_else(|| line.get(digits..)?.strip_prefix(mark))
}

fn number_in(file: &CString) -> Option<u64> {
    number(&sys::read_file(file).ok()?)
}

/// The first number of a text.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().skip_while(|byte| !byte.is_ascii_digit());
    let mut digits = digits.take_while(|byte| byte.is_ascii_digit()).peekable();
    digits.peek()?;
    digits.try_fold(0u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}
