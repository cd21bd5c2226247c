//! The quiet copies that a process has made of itself, and the files that they were made for.
//!
//! A file is looked for once, when its copy has ended: the copy lives until its file is complete or has failed.
//! So there are never more files to look for than there are copies.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

use bactrian_agent_abi::frozen::unfinished;

use crate::process;
use crate::sys::{self, Pid};

/// A copy that is not known to have ended.
struct FrozenCopy {
    number: u64,
    process: Pid,
    file: CString,
    /// How many bytes the file may have at most.
    most: u64,
}

/// The copies and files of this process.
#[derive(Default)]
pub struct Copies {
    copies: Vec<FrozenCopy>,
    written: u64,
}

impl Copies {
    /// Adds a copy that was just made, and the file that it is to fill, with at most this many bytes.
    pub fn add(&mut self, number: u64, process: Pid, file: CString, most: u64) {
        self.copies.push(FrozenCopy { number, process, file, most });
    }

    /// Removes copies that have ended, and accounts for their files; `ended` gets their numbers.
    pub fn settle(&mut self, mut ended: impl FnMut(u64)) {
        let written = &mut self.written;
        self.copies.retain(|copy| {
            let lives = process::end_of_copy(copy.process).is_none();
            if !lives {
                match process::file_size(&copy.file) {
                    Some(size) => *written = written.saturating_add(size),
                    None => remove_unfinished(&copy.file),
                }
                ended(copy.number);
            }
            lives
        });
    }

    /// How many copies there were when they were settled last.
    pub fn count(&self) -> usize {
        self.copies.len()
    }

    /// Bytes that the files of the present copies may have at most, together.
    pub fn reserved(&self) -> u64 {
        self.copies.iter().fold(0, |sum, copy| sum.saturating_add(copy.most))
    }

    /// Total bytes of the files of copies that have ended.
    pub fn written(&self) -> u64 {
        self.written
    }
}

/// Removes the unfinished file of a walker that was killed.
fn remove_unfinished(file: &CStr) {
    if let Ok(unfinished) = CString::new(unfinished(file.to_bytes())) {
        sys::remove(&unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_walker_leaves_is_removed() {
        let folder = std::env::temp_dir().join(format!("bactrian-copies-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("room");
        let (file, beside) = (folder.join("x.1.heap"), folder.join(".x.1.heap.unfinished"));
        std::fs::write(&beside, "half of it").expect("room");
        let mut copies = Copies::default();
        let name = std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str());
        copies.add(1, NOBODY, CString::new(name).expect("no NUL"), 10);
        copies.settle(|_| ());
        assert!(!beside.exists());
        std::fs::remove_dir(&folder).expect("it is empty");
    }

    /// A process that never existed, and so has ended.
    const NOBODY: Pid = Pid(u32::MAX >> 1);

    #[test]
    fn files_are_counted_however_many_others_never_appear() {
        let mut copies = Copies::default();
        let missing = || CString::new("/nonexistent/x.heap").expect("no NUL");
        for number in 1..=300 {
            copies.add(number, NOBODY, missing(), 10);
        }
        copies.add(301, NOBODY, CString::new("/proc/self/exe").expect("no NUL"), 10);
        assert_eq!(copies.reserved(), 3010);
        let mut ended = Vec::new();
        copies.settle(|number| ended.push(number));
        assert_eq!(ended, (1..=301).collect::<Vec<_>>());
        assert_eq!((copies.count(), copies.reserved()), (0, 0));
        let size = std::fs::metadata("/proc/self/exe").expect("this program").len();
        assert_eq!(copies.written(), size);
        copies.settle(|number| panic!("{number} has ended before"));
        assert_eq!(copies.written(), size);
    }

    #[test]
    fn a_copy_counts_until_it_ends() {
        // SAFETY: the copy only sleeps and ends.
        let copy = match unsafe { process::clone_quietly() } {
            Ok(None) => {
                process::nap(60_000);
                sys::exit_group(0)
            }
            Ok(Some(copy)) => copy,
            Err(errno) => panic!("cannot clone: {errno:?}"),
        };
        let mut copies = Copies::default();
        copies.add(7, copy, CString::new("/proc/self/exe").expect("no NUL"), u64::MAX);
        copies.settle(|_| panic!("it sleeps"));
        assert_eq!((copies.count(), copies.written(), copies.reserved()), (1, 0, u64::MAX));
        let killed = std::process::Command::new("kill").args(["-9", &copy.0.to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let mut ended = None;
        while ended.is_none() {
            copies.settle(|number| ended = Some(number));
            process::nap(1);
        }
        assert_eq!((ended, copies.count()), (Some(7), 0));
        assert!(copies.written() > 0);
    }
}
