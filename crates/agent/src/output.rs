//! The file of a trace: a bounded buffer before it, and care for the program that lives around it.
//!
//! The program may close all descriptors, or reach its limit of them: ours is out of their way, and before
//! each write it is checked that it still is the file that we made; if not, the file is opened again, and
//! the number left to the program. A disk may be full: what could not be
//! written waits, new events are turned away and counted, and when there is room again, the trace goes on
//! where it stopped. So a reader never sees a gap it does not know of.

use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;

use bactrian_trace::{Recorder, Sink};

use crate::sys::{self, Errno, Fd, Limit, Resource, SysResult};

/// So much is collected before it is written, unless a second has passed.
const ENOUGH: usize = 64 << 10;
/// With so much waiting, no more is taken.
const TOO_MUCH: usize = 256 << 10;
/// Names that are tried for a file before giving up.
const ATTEMPTS: u32 = 1000;
/// The kernel's table of descriptors grows with the highest one: above this it would be a waste.
const HIGHEST: u64 = 1 << 16;

pub struct Output {
    path: Vec<u8>,
    process: u32,
    file: Option<File>,
    /// Creating the file failed; it is not tried again.
    refused: bool,
    waiting: Vec<u8>,
    /// The last write failed.
    stuck: bool,
    /// Where the recorder's note is in the file.
    note_at: u64,
}

struct File {
    fd: Fd,
    name: CString,
    identity: (u64, u64),
    length: u64,
}

impl Output {
    /// A file for a process, not created yet.
    pub fn new(path: &[u8], process: u32) -> Output {
        let waiting = Vec::with_capacity(TOO_MUCH);
        let (path, file) = (path.into(), None);
        Output { path, process, file, refused: false, waiting, stuck: false, note_at: 0 }
    }

    /// Creates the file.
    pub fn create(&mut self) -> SysResult<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let created = create(&self.path, self.process).and_then(|(fd, name)| {
            let fd = out_of_the_way(fd);
            Ok(File { fd, name, identity: sys::identity(fd)?, length: 0 })
        });
        self.refused = created.is_err();
        self.file = Some(created?);
        Ok(())
    }

    /// Whether another event may come.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < TOO_MUCH
    }

    /// Whether something waits because it could not be written.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Writes what waits, as far as possible.
    pub fn drain(&mut self) {
        if self.waiting.is_empty() || self.refused || self.create().is_err() {
            return;
        }
        let Some(file) = &mut self.file else { return };
        let mut done = 0;
        if file.make_sure() {
            while done < self.waiting.len() {
                match file.write(&self.waiting[done..]) {
                    Ok(0) => break,
                    Ok(count) => done += count,
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
        self.waiting.drain(..done);
        self.stuck = !self.waiting.is_empty();
    }

    /// Writes the recorder's note over the one that is in the file.
    pub fn update_note(&mut self, recorder: &Recorder) {
        let Some(file) = &mut self.file else { return };
        if self.note_at != 0 && file.length > self.note_at && file.make_sure() {
            // If the disk is full this still works: the place is taken already.
            let _ = sys::write_at(file.fd, &recorder.context(), self.note_at);
        }
    }

    /// The length of the first packet tells where the note is: at its end, before a NUL.
    pub fn expect_note(&mut self) {
        self.note_at = (self.waiting.len() - 1 - Recorder::LEN) as u64;
    }

    /// Forgets all that belongs to the parent after a fork.
    pub fn abandon(&mut self) {
        if let Some(file) = self.file.take()
            && file.is_ours()
        {
            sys::close(file.fd);
        }
        self.waiting.clear();
    }
}

impl File {
    fn is_ours(&self) -> bool {
        sys::identity(self.fd) == Ok(self.identity)
    }

    fn write(&mut self, bytes: &[u8]) -> SysResult<usize> {
        // Beyond this limit the kernel would not only refuse, but kill the program by a signal.
        let left = sys::limit(Resource::FileSize).now.saturating_sub(self.length);
        if left == 0 {
            return Err(Errno::FBIG);
        }
        let length = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = sys::write_at(self.fd, &bytes[..length], self.length)?;
        self.length += count as u64;
        Ok(count)
    }

    /// Makes sure that the descriptor is that of the file. If the program closed it, whatever has its
    /// number now is the program's.
    fn make_sure(&mut self) -> bool {
        if self.is_ours() {
            return true;
        }
        let Ok(fd) = sys::reopen(&self.name) else { return false };
        self.fd = out_of_the_way(fd);
        let same = self.is_ours();
        if !same {
            sys::close(self.fd);
        }
        same
    }
}

impl Sink for Output {
    type Error = Infallible;

    fn put_packet(&mut self, packet: &[u8]) -> Result<(), Infallible> {
        self.waiting.extend_from_slice(packet);
        if self.waiting.len() >= ENOUGH && !self.stuck {
            self.drain();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.drain();
        Ok(())
    }
}

/// Creates a file that was not there: the path itself, or with the process id before its extension, or
/// with the id and a number. So neither children nor a program after exec overwrite what is there.
fn create(path: &[u8], process: u32) -> SysResult<(Fd, CString)> {
    let name_start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = path[name_start..].iter().rposition(|&byte| byte == b'.').filter(|&at| at > 0);
    let (stem, extension) = path.split_at(dot.map_or(path.len(), |at| name_start + at));
    for attempt in 0..ATTEMPTS {
        let middle = match attempt {
            0 => String::new(),
            1 => format!(".{process}"),
            _ => format!(".{process}.{attempt}"),
        };
        let name = [stem, middle.as_bytes(), extension].concat();
        let Ok(name) = CString::new(name) else { break };
        match sys::create(&name) {
            Err(Errno::EXIST) => {}
            created => return created.map(|fd| (fd, name)),
        }
    }
    Err(Errno::EXIST)
}

/// Moves a descriptor out of the program's way: above the limit of what the program may have, so that it is
/// not counted and not met by who closes all; if that is not allowed, just below it.
fn out_of_the_way(fd: Fd) -> Fd {
    let limit = sys::limit(Resource::Descriptors);
    let one_more = limit.now.saturating_add(1);
    let raised = Limit { now: one_more, most: limit.most.max(one_more) };
    let copy = if limit.now < HIGHEST && sys::set_limit(Resource::Descriptors, raised).is_ok() {
        let copy = sys::duplicate_above(fd, limit.now as usize);
        // Descriptors that are there stay when the limit goes down again.
        let _ = sys::set_limit(Resource::Descriptors, limit);
        copy
    } else {
        let high = limit.now.min(HIGHEST).saturating_sub(8).max(3);
        sys::duplicate_above(fd, high as usize)
    };
    match copy {
        Ok(copy) => {
            sys::close(fd);
            copy
        }
        Err(_) => fd,
    }
}
