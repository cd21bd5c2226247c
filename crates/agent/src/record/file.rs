//! The file of a trace, in a process whose descriptors are not ours.
//!
//! The program may close all descriptors, rely on their numbers, or need as many as its limit allows. So our
//! descriptor is above the program's limit, where that is permitted; otherwise the file is opened for each
//! write. Before each write we check that the descriptor still refers to the file that we created: if not,
//! the file is opened again, and the descriptor number is left to the program.

use alloc::ffi::CString;
use core::ffi::CStr;

use bactrian_agent_abi::ring::names;
use bactrian_agent_os::sys::{self, Errno, Fd, Limit, Pid, Resource, SysResult};

/// The kernel's descriptor table grows with the highest number in use: above this it would waste memory.
const HIGHEST: u64 = 1 << 16;

pub struct File {
    name: CString,
    /// Device and inode.
    identity: (u64, u64),
    length: u64,
    /// None if the file is opened for each write.
    held: Option<Fd>,
}

impl File {
    /// Creates a new file under the first free name for the trace of this process.
    pub fn create(path: &[u8], process: Pid, is_child: bool) -> SysResult<File> {
        for name in names(path, process.0, is_child) {
            let Ok(name) = CString::new(name) else { break };
            match sys::create(&name) {
                Err(Errno::EXIST) => {}
                created => {
                    let fd = created?;
                    let identity = sys::identity(fd)?;
                    return Ok(File { name, identity, length: 0, held: out_of_the_way(fd) });
                }
            }
        }
        Err(Errno::EXIST)
    }

    /// Reopens a file that somebody else has begun and left after `length` bytes.
    pub fn go_on(name: CString, length: u64) -> Option<File> {
        let fd = sys::reopen(&name).ok()?;
        let identity = sys::identity(fd).ok()?;
        Some(File { name, identity, length, held: out_of_the_way(fd) })
    }

    /// Appends as much as possible; returns how many bytes.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        let Some(fd) = self.open() else { return 0 };
        let mut done = 0;
        while done < bytes.len() {
            // Beyond this limit the kernel would not only refuse, but kill the program with a signal
            // (SIGXFSZ).
            let left = sys::limit(Resource::FileSize).now.saturating_sub(self.length);
            let length = (bytes.len() - done).min(usize::try_from(left).unwrap_or(usize::MAX));
            if length == 0 {
                break;
            }
            match sys::write_at(fd, &bytes[done..done + length], self.length) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    self.length += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.close(fd);
        done
    }

    /// Overwrites bytes at an offset, if they are within the file.
    pub fn replace(&mut self, offset: u64, bytes: &[u8]) {
        if offset + bytes.len() as u64 <= self.length
            && let Some(fd) = self.open()
        {
            let _ = sys::write_at(fd, bytes, offset);
            self.close(fd);
        }
    }

    /// Closes the file for good.
    pub fn let_go(self) {
        if let Some(fd) = self.held.filter(|fd| self.is(*fd)) {
            sys::close(fd);
        }
    }

    /// Its path.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    fn is(&self, fd: Fd) -> bool {
        sys::identity(fd) == Ok(self.identity)
    }

    /// A descriptor of the file.
    fn open(&mut self) -> Option<Fd> {
        if let Some(fd) = self.held.filter(|fd| self.is(*fd)) {
            return Some(fd);
        }
        let was_held = self.held.is_some();
        let fd = sys::reopen(&self.name).ok()?;
        if !self.is(fd) {
            sys::close(fd);
            return None;
        }
        if was_held {
            self.held = out_of_the_way(fd);
            return self.held.or_else(|| sys::reopen(&self.name).ok());
        }
        Some(fd)
    }

    fn close(&self, fd: Fd) {
        if self.held.is_none() {
            sys::close(fd);
        }
    }
}

/// Moves a descriptor above the soft limit, so that it does not count against the program's limit and is not
/// closed by a program that closes all its descriptors; closes it if that is not permitted.
fn out_of_the_way(fd: Fd) -> Option<Fd> {
    let limit = sys::limit(Resource::Descriptors);
    let copy = if limit.now < HIGHEST {
        let raised = Limit { now: limit.now + 1, most: limit.most.max(limit.now + 1) };
        sys::set_limit(Resource::Descriptors, raised).and_then(|()| {
            let copy = sys::duplicate_above(fd, limit.now as usize);
            // Open descriptors stay open when the limit is lowered again.
            let _ = sys::set_limit(Resource::Descriptors, limit);
            copy
        })
    } else {
        // No program has that many.
        sys::duplicate_above(fd, HIGHEST as usize - 1)
    };
    sys::close(fd);
    copy.ok()
}
