//! What the kernel reports about this process and the machine in /proc and /sys. The agent reads these files
//! nowhere else. If /proc is not mounted, every answer is unknown and nothing fails.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

use crate::sys;

/// The executable of this process.
pub const EXECUTABLE: &CStr = c"/proc/self/exe";
/// The memory of this process, to be opened and handed to the walker.
pub const MEMORY: &CStr = c"/proc/self/mem";
/// The memory mappings of this process.
pub const MAPS: &CStr = c"/proc/self/maps";
/// How early the OOM killer chooses this process.
pub const OOM_SCORE: &CStr = c"/proc/self/oom_score_adj";

/// The path of this process's executable; empty if it cannot be read.
pub fn executable() -> Vec<u8> {
    let mut name = alloc::vec![0; 4096];
    // SAFETY: the path ends with NUL, the buffer has the given length.
    let read = unsafe { sys::readlink(EXECUTABLE.as_ptr(), name.as_mut_ptr().cast(), name.len()) };
    name.truncate(read.unwrap_or(0));
    name
}

/// The arguments of this process, starting with argv[0].
pub fn arguments() -> Vec<CString> {
    let text = sys::read_file(c"/proc/self/cmdline").unwrap_or_default();
    text.split(|byte| *byte == 0).filter_map(|name| CString::new(name).ok()).collect()
}

/// The number of seccomp filters of this thread; None if the kernel does not report it.
pub fn filters() -> Option<u32> {
    filters_in(&sys::read_file(c"/proc/thread-self/status").ok()?)
}

fn filters_in(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let count = number(lines.find_map(|line| line.strip_prefix(b"Seccomp_filters:"))?)?;
    u32::try_from(count).ok()
}

/// Available memory in bytes, as estimated by the kernel (MemAvailable).
pub fn available_memory() -> Option<u64> {
    available_in(&sys::read_file(c"/proc/meminfo").ok()?)
}

fn available_in(meminfo: &[u8]) -> Option<u64> {
    let mut lines = meminfo.split(|byte| *byte == b'\n');
    number(lines.find_map(|line| line.strip_prefix(b"MemAvailable:"))?)?.checked_mul(1024)
}

/// The resident set size of this process in bytes.
pub fn resident_memory() -> Option<u64> {
    resident_in(&sys::read_file(c"/proc/self/statm").ok()?)
}

fn resident_in(statm: &[u8]) -> Option<u64> {
    number(statm.split(|byte| *byte == b' ').nth(1)?)?.checked_mul(4096)
}

/// A memory control group with a limit.
pub struct MemoryGroup {
    /// The file with the current usage.
    used: CString,
    most: u64,
}

impl MemoryGroup {
    /// The control group of this process, if it has a memory limit.
    pub fn of_self() -> Option<MemoryGroup> {
        let groups = sys::read_file(c"/proc/self/cgroup").ok()?;
        groups_in(&groups).find_map(|[used, most]| {
            let most = number(&sys::read_file(&CString::new(most).ok()?).ok()?)?;
            Some(MemoryGroup { used: CString::new(used).ok()?, most })
        })
    }

    /// Bytes left below the limit.
    pub fn left(&self) -> u64 {
        let used = sys::read_file(&self.used).ok().and_then(|text| number(&text));
        self.most.saturating_sub(used.unwrap_or(0))
    }
}

/// The files with the usage and the limit, for each cgroup hierarchy that controls memory. Version 2 has a
/// single hierarchy, version 1 has one for memory.
fn groups_in(cgroup: &[u8]) -> impl Iterator<Item = [Vec<u8>; 2]> + '_ {
    /// The mark of a hierarchy's line in /proc/self/cgroup, its mount point, and the names of its usage and
    /// limit files.
    const TREES: [[&str; 4]; 2] = [
        ["0::", "/sys/fs/cgroup", "/memory.current", "/memory.max"],
        [":memory:", "/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes"],
    ];
    TREES.iter().filter_map(|[mark, tree, used, most]| {
        let mut lines = cgroup.split(|byte| *byte == b'\n');
        let path = lines.find_map(|line| after(line, mark.as_bytes()))?;
        Some([used, most].map(|name| [tree.as_bytes(), path, name.as_bytes()].concat()))
    })
}

/// The text after a mark, which may be preceded by a number.
fn after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    line.strip_prefix(mark).or_else(|| line.get(digits..)?.strip_prefix(mark))
}

/// The first number in a text; None if there is none or it overflows.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().skip_while(|byte| !byte.is_ascii_digit());
    let mut digits = digits.take_while(|byte| byte.is_ascii_digit()).peekable();
    digits.peek()?;
    digits.try_fold(0u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_number_of_a_text_is_read_and_overflow_is_none() {
        assert_eq!(number(b"  12 kB"), Some(12));
        assert_eq!(number(b"max\n"), None);
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
    }

    #[test]
    fn memory_is_read_from_lines_of_the_kernel() {
        let meminfo = b"MemTotal: 24000 kB\nMemFree: 1 kB\nMemAvailable:   23000 kB\n";
        assert_eq!(available_in(meminfo), Some(23_000 << 10));
        assert_eq!(available_in(b"MemTotal: 24000 kB\n"), None);
        assert_eq!(resident_in(b"900 25 3 1 0 5 0\n"), Some(25 << 12));
        assert_eq!(resident_in(b""), None);
    }

    #[test]
    fn seccomp_filters_are_counted_if_the_kernel_reports_them() {
        assert_eq!(filters_in(b"Seccomp:\t2\nSeccomp_filters:\t3\nSpeculation:\tx\n"), Some(3));
        assert_eq!(filters_in(b"Seccomp:\t2\n"), None);
    }

    #[test]
    fn memory_groups_of_both_versions_are_found() {
        let files = |text: &[u8]| -> Vec<String> {
            let one = |[_, most]: [Vec<u8>; 2]| String::from_utf8(most).expect("plain paths");
            groups_in(text).map(one).collect()
        };
        assert_eq!(files(b"0::/a/b\n"), ["/sys/fs/cgroup/a/b/memory.max"]);
        let first = b"12:cpu:/x\n7:memory:/docker/1\n";
        assert_eq!(files(first), ["/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes"]);
        assert_eq!(files(b"12:cpu:/x\n"), Vec::<String>::new());
    }

    #[test]
    fn executable_and_arguments_agree_with_the_standard_library() {
        use std::os::unix::ffi::OsStrExt;
        let exe = std::env::current_exe().expect("this program");
        assert_eq!(executable(), exe.as_os_str().as_bytes());
        let own: Vec<_> = std::env::args().collect();
        let told = arguments();
        let told: Vec<_> = told.iter().filter_map(|text| text.to_str().ok()).collect();
        assert_eq!(told[..own.len()], own);
        assert!(resident_memory().is_some_and(|bytes| bytes > 1 << 16));
        assert!(available_memory().is_some());
    }
}
