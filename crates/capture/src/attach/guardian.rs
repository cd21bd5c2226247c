//! A process that takes back our changes of a program's code if we are killed before we have done it.
//!
//! It is a fork of ours in a session of its own that reads from a pipe: every change before it is made, and when all
//! are taken back. When the pipe ends and some are not, it writes what was there into the program's memory.

use std::fs::OpenOptions;
use std::io::{PipeWriter, Write, pipe};

use super::sys::{self, Tid};

/// More changes than are ever made at once. Those beyond are not guarded.
pub const MOST: usize = 256;
/// Bytes of a message: an address, and the word that was there.
pub const MESSAGE: usize = 16;
/// Says that nothing is changed any more.
const ALL_RESTORED: [u8; MESSAGE] = [0; MESSAGE];

/// The guardian of a process. It ends when this is dropped.
pub struct Guardian {
    pipe: Option<PipeWriter>,
    process: Tid,
}

impl Guardian {
    /// None where it cannot be had: then only being killed is dangerous.
    pub fn start(pid: u32) -> Option<Guardian> {
        let memory = OpenOptions::new().write(true).open(format!("/proc/{pid}/mem")).ok()?;
        let (reader, writer) = pipe().ok()?;
        let process = sys::fork_guardian(&reader, &memory).ok()?;
        Some(Guardian { pipe: Some(writer), process })
    }

    /// Notes a change that is about to be made: where, and what is there until now.
    pub fn note(&mut self, address: u64, was: u64) {
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&address.to_le_bytes());
        message[8..].copy_from_slice(&was.to_le_bytes());
        self.send(&message);
    }

    /// All changes were taken back.
    pub fn all_restored(&mut self) {
        self.send(&ALL_RESTORED);
    }

    fn send(&mut self, message: &[u8; MESSAGE]) {
        // If it was killed, there is none.
        let _ = self.pipe.as_mut().map(|pipe| pipe.write_all(message));
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.pipe.take());
        sys::wait_for_child(self.process);
    }
}
