//! Where the bytes of a trace go: into the ring buffer, from which the keeper writes the file, or into the
//! file itself if there is no keeper or it has died.
//!
//! A disk may be full, or a keeper slow. Bytes that could not be put wait, new events are rejected and
//! counted, and once there is room again the trace continues where it stopped. So a reader never meets a gap
//! that is not accounted for.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::convert::Infallible;

use bactrian_agent_os::confined;
use bactrian_agent_os::sys::{Pid, SysResult};
use bactrian_trace::{Making, Recorder, Sink};

use super::file::File;
use crate::keeper::filters;
use crate::keeper::ring::{Ring, Waited};

/// Bytes that are collected before they are written to a file, unless a second has passed.
const ENOUGH: usize = 64 << 10;
/// With this many bytes waiting, new events are rejected.
const TOO_MUCH: usize = 256 << 10;

pub struct Output {
    path: Vec<u8>,
    /// The keeper's directory.
    keeper: Option<&'static [u8]>,
    process: Pid,
    /// Whether the process was forked by a process that is recorded.
    pub is_child: bool,
    target: Target,
    waiting: Vec<u8>,
    /// Whether the last write failed.
    stuck: bool,
    /// The offset of the recorder's note in the file.
    note_at: u64,
}

/// Where the output goes.
enum Target {
    /// Not decided yet.
    Unknown,
    Ring(Ring),
    File(File),
    /// The file could not be created; we do not try again.
    Refused,
}

impl Output {
    /// The output of a process's trace, not created yet.
    pub fn new(path: &[u8], keeper: Option<&'static [u8]>, process: Pid) -> Output {
        let waiting = Vec::with_capacity(TOO_MUCH);
        let (path, target) = (path.into(), Target::Unknown);
        Output { path, keeper, process, is_child: false, target, waiting, stuck: false, note_at: 0 }
    }

    /// Takes a ring buffer from the keeper or, if there is none, creates the file.
    pub fn create(&mut self) -> SysResult<()> {
        if !matches!(self.target, Target::Unknown) {
            return Ok(());
        }
        if let Some(ring) = self.keeper.and_then(|folder| Ring::take(folder, self.note_at)) {
            self.target = Target::Ring(ring);
            return Ok(());
        }
        self.target = Target::Refused;
        if !confined::is_confined() {
            self.target = Target::File(File::create(&self.path, self.process, self.is_child)?);
        }
        Ok(())
    }

    /// The name of the file, if there is one already.
    pub fn name(&self) -> Option<CString> {
        match &self.target {
            Target::Ring(ring) => ring.name(),
            Target::File(file) => Some(file.name().into()),
            Target::Unknown | Target::Refused => None,
        }
    }

    /// Whether another event can be accepted.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < TOO_MUCH
    }

    /// Whether there is no keeper: we write the file ourselves, or there is none.
    pub fn is_alone(&self) -> bool {
        matches!(self.target, Target::File(_) | Target::Refused)
    }

    /// Whether bytes wait that could not be written.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Writes the waiting bytes, as far as possible.
    fn drain(&mut self) {
        if self.waiting.is_empty() || self.create().is_err() {
            return;
        }
        if confined::is_confined() && matches!(self.target, Target::File(_)) {
            // A write may get the program killed; the file keeps what it has.
            self.target = Target::Refused;
        }
        let done = match &mut self.target {
            Target::Ring(_) => return self.put(),
            Target::File(file) => file.append(&self.waiting),
            Target::Unknown | Target::Refused => return,
        };
        self.waiting.drain(..done);
        self.stuck = !self.waiting.is_empty();
    }

    /// Puts the waiting bytes into the ring. Waits for room only when it has just become stuck.
    fn put(&mut self) {
        while let Target::Ring(ring) = &mut self.target {
            let done = ring.put(&self.waiting);
            self.waiting.drain(..done);
            if self.waiting.is_empty() {
                ring.end_packet();
            }
            let was_stuck = core::mem::replace(&mut self.stuck, !self.waiting.is_empty());
            if !self.stuck || was_stuck {
                return;
            }
            match ring.wait_for_room() {
                Waited::Room => self.stuck = false,
                Waited::Full => return,
                Waited::Alone => self.go_on_alone(),
            }
        }
    }

    /// Overwrites the recorder's note in the trace.
    pub fn update_note(&mut self, recorder: &Recorder) {
        if self.note_at == 0 {
            return;
        }
        match &mut self.target {
            Target::Ring(ring) => ring.note(&recorder.context()),
            Target::File(_) if confined::is_confined() => {}
            // This works even if the disk is full: the space is already allocated.
            Target::File(file) => file.replace(self.note_at, &recorder.context()),
            Target::Unknown | Target::Refused => {}
        }
    }

    /// Computes the offset of the note from the length of the first packet: the note is at its end, before a
    /// NUL.
    pub fn expect_note(&mut self) {
        self.note_at = (self.waiting.len() - 1 - Recorder::LEN) as u64;
    }

    /// Lets go of everything that belongs to the parent after a fork.
    pub fn abandon(&mut self) {
        match core::mem::replace(&mut self.target, Target::Unknown) {
            Target::Ring(ring) => ring.let_go(),
            Target::File(file) => file.let_go(),
            Target::Unknown | Target::Refused => {}
        }
        self.waiting.clear();
    }

    /// The first event of a forked child: from now on its events must not be lost.
    #[cold]
    fn begin(&mut self, place: usize, making: Making<'_>) {
        self.drain();
        if let Target::Ring(ring) = &mut self.target {
            ring.publish(None);
            ring.show(place, making);
        }
    }

    /// Called at the end if no keeper has confirmed that it has written everything: writes the rest of the
    /// ring to the file. A keeper that was only slow will write the same bytes to the same offsets.
    pub fn finish(&mut self, recorder: &Recorder) {
        let Target::Ring(ring) = &self.target else { return };
        if confined::is_confined() {
            return;
        }
        let (length, bytes) = ring.untaken();
        if let Some(mut file) = self.file_of(ring, length) {
            if file.append(&bytes) == bytes.len() {
                file.replace(self.note_at, &recorder.context());
            }
            file.let_go();
        }
    }

    /// The file of a trace whose keeper has written `length` bytes.
    fn file_of(&self, ring: &Ring, length: u64) -> Option<File> {
        if ring.is_orphaned() {
            return File::create(&self.path, self.process, self.is_child).ok();
        }
        ring.name().and_then(|name| File::go_on(name, length))
    }

    /// Continues without a keeper if it has died.
    #[cold]
    fn look_for_keeper(&mut self) {
        filters::listen();
        if let Target::Ring(ring) = &mut self.target
            && !ring.is_kept()
        {
            self.go_on_alone();
        }
    }

    /// From now on we write the file ourselves, unless the keeper answers after all.
    fn go_on_alone(&mut self) {
        let is_kept = filters::ask();
        let Target::Ring(ring) = &self.target else { return };
        if is_kept {
            return;
        }
        if confined::is_confined() {
            self.target = Target::Refused;
            return;
        }
        let (length, mut bytes) = ring.untaken();
        let file = self.file_of(ring, length);
        let old = core::mem::replace(&mut self.target, Target::Refused);
        if let Some(mut file) = file {
            bytes.append(&mut self.waiting);
            self.waiting = bytes;
            let done = file.append(&self.waiting);
            self.waiting.drain(..done);
            self.stuck = !self.waiting.is_empty();
            self.target = Target::File(file);
        }
        if let Target::Ring(ring) = old {
            ring.leave();
        }
    }
}

impl Sink for Output {
    type Error = Infallible;

    fn put_packet(&mut self, packet: &[u8]) -> Result<(), Infallible> {
        self.waiting.extend_from_slice(packet);
        let is_ring = matches!(self.target, Target::Ring(_));
        if (is_ring || self.waiting.len() >= ENOUGH) && !self.stuck {
            self.drain();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.drain();
        if let Target::Ring(ring) = &mut self.target {
            ring.publish(None);
        }
        self.look_for_keeper();
        Ok(())
    }

    #[inline(always)]
    fn making(&mut self, place: usize, making: Making<'_>) {
        if let Target::Ring(ring) = &mut self.target {
            ring.show(place, making);
        } else if matches!(self.target, Target::Unknown) && self.keeper.is_some() {
            self.begin(place, making);
        }
    }

    fn made(&mut self, place: usize) {
        if let Target::Ring(ring) = &mut self.target {
            ring.publish(Some(place));
        }
    }
}
