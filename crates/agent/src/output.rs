//! What is written of a trace: a bounded buffer before the file.
//!
//! A disk may be full: what could not be written waits, new events are turned away and counted, and when
//! there is room again, the trace goes on where it stopped. So a reader never sees a gap it does not know of.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::ffi::CStr;

use bactrian_trace::{Recorder, Sink};

use crate::file::File;
use crate::sys::SysResult;

/// So much is collected before it is written, unless a second has passed.
const ENOUGH: usize = 64 << 10;
/// With so much waiting, no more is taken.
const TOO_MUCH: usize = 256 << 10;

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
        let created = File::create(&self.path, self.process);
        self.refused = created.is_err();
        self.file = Some(created?);
        Ok(())
    }

    /// The name of the file, if there is one.
    pub fn name(&self) -> Option<&CStr> {
        self.file.as_ref().map(File::name)
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
        let done = file.append(&self.waiting);
        self.waiting.drain(..done);
        self.stuck = !self.waiting.is_empty();
    }

    /// Writes the recorder's note over the one that is in the file.
    pub fn update_note(&mut self, recorder: &Recorder) {
        let Some(file) = &mut self.file else { return };
        if self.note_at != 0 {
            // If the disk is full this still works: the place is taken already.
            file.replace(self.note_at, &recorder.context());
        }
    }

    /// The length of the first packet tells where the note is: at its end, before a NUL.
    pub fn expect_note(&mut self) {
        self.note_at = (self.waiting.len() - 1 - Recorder::LEN) as u64;
    }

    /// Forgets all that belongs to the parent after a fork.
    pub fn abandon(&mut self) {
        if let Some(file) = self.file.take() {
            file.let_go();
        }
        self.waiting.clear();
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
