//! Where the bytes of a trace go: into the ring buffer, from which the keeper writes the file, or into the file itself where
//! there is no keeper or it has died.
//!
//! A disk may be full, or a keeper slow: what could not be put waits, new events are turned away and counted, and when
//! there is room again, the trace goes on where it stopped. So a reader never sees a gap it does not know of.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::convert::Infallible;

use bactrian_agent_os::confined;
use bactrian_agent_os::sys::{Pid, SysResult};
use bactrian_trace::{Making, Recorder, Sink};

use super::file::File;
use crate::keeper::filters;
use crate::keeper::ring::{Ring, Waited};

/// So much is collected before it is written to a file, unless a second has passed.
const ENOUGH: usize = 64 << 10;
/// With so much waiting, no more is taken.
const TOO_MUCH: usize = 256 << 10;

pub struct Output {
    path: Vec<u8>,
    /// The folder of the keeper.
    keeper: Option<&'static [u8]>,
    process: Pid,
    /// Whether it was forked by a process that is recorded.
    pub is_child: bool,
    target: Target,
    waiting: Vec<u8>,
    /// The last write failed.
    stuck: bool,
    /// Where the recorder's note is in the file.
    note_at: u64,
}

/// Where it goes.
enum Target {
    /// Nowhere yet.
    Unknown,
    Ring(Ring),
    File(File),
    /// It could not be created, and this is not tried again.
    Refused,
}

impl Output {
    /// A trace for a process, not created yet.
    pub fn new(path: &[u8], keeper: Option<&'static [u8]>, process: Pid) -> Output {
        let waiting = Vec::with_capacity(TOO_MUCH);
        let (path, target) = (path.into(), Target::Unknown);
        Output { path, keeper, process, is_child: false, target, waiting, stuck: false, note_at: 0 }
    }

    /// Creates the trace.
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

    /// The name of the file, if there is one.
    pub fn name(&self) -> Option<CString> {
        match &self.target {
            Target::Ring(ring) => ring.name(),
            Target::File(file) => Some(file.name().into()),
            Target::Unknown | Target::Refused => None,
        }
    }

    /// Whether another event may come.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < TOO_MUCH
    }

    /// Whether nobody takes it from us: we write the file ourselves, or there is none.
    pub fn is_alone(&self) -> bool {
        matches!(self.target, Target::File(_) | Target::Refused)
    }

    /// Whether something waits because it could not be written.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Writes what waits, as far as possible.
    fn drain(&mut self) {
        if self.waiting.is_empty() || self.create().is_err() {
            return;
        }
        if confined::is_confined() && matches!(self.target, Target::File(_)) {
            // To write may be the program's end; the file has what it has.
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

    /// Puts what waits into the ring. The first time that there is no room we wait for it.
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

    /// Writes the recorder's note over the one that is in the trace.
    pub fn update_note(&mut self, recorder: &Recorder) {
        if self.note_at == 0 {
            return;
        }
        match &mut self.target {
            Target::Ring(ring) => ring.note(&recorder.context()),
            Target::File(_) if confined::is_confined() => {}
            // If the disk is full this still works: the place is taken already.
            Target::File(file) => file.replace(self.note_at, &recorder.context()),
            Target::Unknown | Target::Refused => {}
        }
    }

    /// The length of the first packet tells where the note is: at its end, before a NUL.
    pub fn expect_note(&mut self) {
        self.note_at = (self.waiting.len() - 1 - Recorder::LEN) as u64;
    }

    /// Forgets all that belongs to the parent after a fork.
    pub fn abandon(&mut self) {
        match core::mem::replace(&mut self.target, Target::Unknown) {
            Target::Ring(ring) => ring.let_go(),
            Target::File(file) => file.let_go(),
            Target::Unknown | Target::Refused => {}
        }
        self.waiting.clear();
    }

    /// The first event of a child: from now on nothing of it is to be lost.
    #[cold]
    fn begin(&mut self, place: usize, making: &Making<'_>) {
        self.drain();
        if let Target::Ring(ring) = &mut self.target {
            ring.publish(None);
            ring.show(place, making);
        }
    }

    /// Nothing may come any more, and no keeper has said that it has written everything: what is still in the ring is written to
    /// the file by us. A keeper that is only slow will write the same bytes to the same places.
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

    /// The file of what is put into a ring, of which the keeper has written so much.
    fn file_of(&self, ring: &Ring, length: u64) -> Option<File> {
        if ring.is_orphaned() {
            return File::create(&self.path, self.process, self.is_child).ok();
        }
        ring.name().and_then(|name| File::go_on(name, length))
    }

    /// Goes on without a keeper, if there is none any more.
    #[cold]
    fn look_for_keeper(&mut self) {
        filters::listen();
        if let Target::Ring(ring) = &mut self.target
            && !ring.is_kept()
        {
            self.go_on_alone();
        }
    }

    /// From now on the file is written by us, unless the keeper answers after all.
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

    #[inline]
    fn making(&mut self, place: usize, making: &Making<'_>) {
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
