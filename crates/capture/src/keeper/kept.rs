//! A ring buffer, and the trace that is written from it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bactrian_agent_abi::ring::{
    BYTES, MAKINGS, NAME, NAME_ROOM, NAMESPACE_OF_SELF, NO_TRACE, NOTE, NOTES, PACKET, ROOM,
    STREAM, making, making_at, names, process_and_namespace, word,
};
use bactrian_trace::{MakingWords, Recorder, State, complete};
use rustix::fs::{FallocateFlags, fallocate};

use super::folder::{most_bytes, read_word};
use super::owner::RingOwner;
use crate::seccomp;

/// The first page of a ring, which has its words.
const WORDS_PAGE: usize = 4096;

/// How often the filters of owners that do not ask are checked, so that they know of them even if we die.
const FILTERS_PERIOD: Duration = Duration::from_millis(100);

/// A ring that a process has taken, or may take.
#[derive(Debug)]
pub struct Kept {
    memory: File,
    path: PathBuf,
    trace: Option<File>,
    /// The number of bytes that were taken out and written.
    taken: u64,
    /// The number of notes that were written.
    notes: u64,
    /// Set if the trace could not be created, or not all bytes could be written.
    is_behind: bool,
    /// Its owner, once looked for; none if its id is of another namespace.
    process: Option<RingOwner>,
    /// Whether its owner has taken another ring, after exec: it records no more into this one.
    is_replaced: bool,
    /// When its owner's filters were last checked.
    looked: Option<Instant>,
    /// The number of its owner's questions that have been answered.
    answered: u64,
}

impl Kept {
    /// A ring that no process has taken yet.
    pub fn new(memory: File, path: PathBuf) -> Kept {
        Kept {
            memory,
            path,
            trace: None,
            taken: 0,
            notes: 0,
            is_behind: false,
            process: None,
            is_replaced: false,
            looked: None,
            answered: 0,
        }
    }

    /// Whether a process has taken it.
    pub fn is_taken(&self) -> bool {
        self.owner().is_some()
    }

    /// The process that records into it, by its id in its own namespace.
    fn owner(&self) -> Option<u32> {
        Some(process_and_namespace(self.word(word::OWNER)?)?.0)
    }

    /// The same, if its namespace is ours.
    fn owner_here(&self) -> Option<u32> {
        let (process, namespace) = process_and_namespace(self.word(word::OWNER)?)?;
        (Some(namespace) == our_namespace()).then_some(process)
    }

    /// Whether whatever recorded into it has ended; None if the owner's id is of another namespace.
    pub fn has_ended(&mut self) -> Option<bool> {
        if self.is_replaced {
            return Some(true);
        }
        let owner = self.owner_here()?;
        Some(self.process.get_or_insert_with(|| RingOwner::new(owner)).has_ended())
    }

    /// The owner of this ring has also taken that one. If it still lives, it has become another program: what it
    /// recorded before is complete.
    pub fn is_replaced_by(&mut self, later: &Kept) {
        let is_same = self.word(word::OWNER) == later.word(word::OWNER);
        self.is_replaced |= is_same && self.owner_here().is_some();
    }

    /// Handles the ring once: writes what has arrived, reports filters to the owner, and answers its
    /// questions. Returns whether there was something to write.
    pub fn look(&mut self, wanted: Option<&Path>) -> bool {
        // Read first, so that the answer covers everything that the owner did before it asked.
        let asked = self.word(word::ASKED).unwrap_or(self.answered);
        let is_asked = asked != self.answered;
        let is_busy = wanted.is_some_and(|wanted| self.keep(wanted));
        let is_time = self.looked.is_none_or(|looked| looked.elapsed() >= FILTERS_PERIOD);
        if is_asked || is_time {
            self.look_for_filters(is_asked);
        }
        if is_asked && self.set(word::ANSWERED, asked).is_ok() {
            self.answered = asked;
        }
        is_busy
    }

    /// Reports to the owner if it has got a new seccomp filter. If it has set the filter through libc, it
    /// knows; but not if by a system call instruction of its own, and looking by itself might get it killed.
    /// There may be thousands of threads: all are checked only if the owner asks, otherwise just the first.
    fn look_for_filters(&mut self, is_asked: bool) {
        self.looked = Some(Instant::now());
        let Some(owner) = self.owner_here() else { return };
        let before = self.word(word::FILTERS).unwrap_or(0);
        let now = match is_asked {
            true => seccomp::most_filters_of(owner),
            false => seccomp::filters_of(&owner.to_string()),
        };
        if before > 0 && now.is_some_and(|now| u64::from(now) + 1 > before) {
            // If this fails, it is tried again.
            let _ = self.set(word::FILTERED, 1);
        }
    }

    /// Whether bytes are waiting that could not be written.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Writes what has arrived; returns whether there was something.
    fn keep(&mut self, wanted: &Path) -> bool {
        let Some(owner) = self.owner() else { return false };
        if self.trace.is_none() {
            if matches!(self.word(word::NOTE_AT), None | Some(0 | NO_TRACE)) {
                return false;
            }
            let created = self.create(wanted, owner);
            self.is_behind = created.is_err();
        }
        let Some(trace) = &self.trace else { return false };
        let head = self.word(word::HEAD).unwrap_or(0);
        let length = head.saturating_sub(self.taken).min(ROOM as u64) as usize;
        let mut bytes = vec![0; length];
        let start = self.taken as usize % ROOM;
        let (first, rest) = bytes.split_at_mut(length.min(ROOM - start));
        let read = self.memory.read_exact_at(first, (STREAM + start) as u64);
        let read = read.and_then(|()| self.memory.read_exact_at(rest, STREAM as u64));
        let written = read.and_then(|()| write_as_far_as_possible(trace, &bytes, self.taken));
        let count = written.unwrap_or(0) as u64;
        self.taken += count;
        self.is_behind = count < bytes.len() as u64;
        if count > 0 {
            // This frees room in the ring.
            let _ = self.set(word::TAIL, self.taken);
        }
        self.write_note();
        count > 0
    }

    /// Completes the trace of a process that writes no more; returns whether everything is written.
    pub fn complete(&mut self, wanted: &Path) -> bool {
        while self.keep(wanted) {}
        if self.is_behind {
            return false;
        }
        let Some(trace) = &self.trace else { return true };
        for place in 0..MAKINGS {
            let packets = self.unfinished(place).unwrap_or_default();
            if !packets.is_empty() {
                // Written once more if there is no room now.
                if trace.write_all_at(&packets, self.taken).is_err() {
                    return false;
                }
                self.taken += packets.len() as u64;
                let _ = self.set(making_at(place) / 8 + making::EVENTS, 0);
            }
        }
        true
    }

    /// Announces that nobody looks at this ring any more; children of its owner may still ask here. Its memory
    /// is free as soon as they have unmapped it.
    pub fn leave(&self) {
        // If this fails, they wait a little longer.
        let _ = self.set(word::LEFT, 1);
        // A child may keep its words mapped for as long as it lives. If this fails, all of it stays until then.
        let rest = (BYTES - WORDS_PAGE) as u64;
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(&self.memory, punch, WORDS_PAGE as u64, rest);
        // If this fails, it stays until we end.
        let _ = fs::remove_file(&self.path);
    }

    /// Records in a complete trace that it has ended.
    pub fn note_end(&mut self) {
        let (Some(trace), Some(at)) = (&self.trace, self.word(word::NOTE_AT)) else { return };
        let mut note = vec![0; Recorder::LEN];
        if trace.read_exact_at(&mut note, at).is_ok()
            && let Some(recorder) = Recorder::parse(&note)
            && recorder.state == State::Running
        {
            // If this fails, the trace says less.
            let _ = trace.write_all_at(&Recorder { state: State::Ended, ..recorder }.context(), at);
        }
    }

    /// Whether any process still has the ring mapped; that process may be one whose id we do not know.
    pub fn is_mapped(&self) -> bool {
        let name = self.path.as_os_str().as_bytes();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut maps = processes.filter_map(|process| fs::read(process.path().join("maps")).ok());
        maps.any(|maps| maps.split(|&byte| byte == b'\n').any(|line| line.ends_with(name)))
    }

    /// The unfinished packets of a place when its process ended, completed.
    fn unfinished(&self, place: usize) -> Option<Vec<u8>> {
        let at = making_at(place);
        let word = |which: usize| self.word(at / 8 + which);
        let events = word(making::EVENTS).filter(|&events| events != 0)?;
        let put = word(making::PUT)?;
        if put != 0 && self.word(word::HEAD)? >= put {
            return None;
        }
        let words = MakingWords {
            events: (events as u32) as usize,
            allocations: events >> 32,
            locations: word(making::LOCATIONS)? as usize,
            time_end: word(making::TIME_END)?,
        };
        let packet = |from: usize, length: usize| {
            let mut bytes = vec![0; length.min(PACKET)];
            self.memory.read_exact_at(&mut bytes, (at + making::HEAD + from) as u64).ok()?;
            Some(bytes)
        };
        let (events, locations) = (packet(0, words.events)?, packet(PACKET, words.locations)?);
        Some(complete(&words, &events, &locations))
    }

    /// Overwrites the note in the trace with the newest one.
    fn write_note(&mut self) {
        let Some(trace) = &self.trace else { return };
        let (count, at) = (self.word(word::NOTES), self.word(word::NOTE_AT));
        let (Some(count), Some(at)) = (count, at) else { return };
        if count == self.notes || at.saturating_add(Recorder::LEN as u64) > self.taken {
            return;
        }
        let mut note = vec![0; Recorder::LEN];
        let from = NOTES + count as usize % 2 * NOTE;
        let read = self.memory.read_exact_at(&mut note, from as u64);
        if self.is_behind
            && let Some(recorder) = Recorder::parse(&note)
        {
            // The program may have ended, but its trace is not complete.
            note = Recorder { state: State::Running, ..recorder }.context();
        }
        if read.and_then(|()| trace.write_all_at(&note, at)).is_ok() && !self.is_behind {
            self.notes = count;
        }
    }

    /// Creates the trace under the first free name, and tells the agent the name.
    fn create(&mut self, wanted: &Path, owner: u32) -> io::Result<()> {
        for name in names(wanted.as_os_str().as_bytes(), owner, false) {
            let path = Path::new(OsStr::from_bytes(&name));
            let created =
                OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
            match created {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    self.trace = Some(created?);
                    if name.len() <= NAME_ROOM {
                        self.memory.write_all_at(&name, NAME as u64)?;
                        self.set(word::NAME, name.len() as u64)?;
                    }
                    return Ok(());
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn word(&self, at: usize) -> Option<u64> {
        read_word(&self.memory, at)
    }

    fn set(&self, at: usize, value: u64) -> io::Result<()> {
        self.memory.write_all_at(&value.to_le_bytes(), 8 * at as u64)
    }
}

/// The PID namespace in which our process ids are valid.
fn our_namespace() -> Option<u64> {
    let namespace = fs::metadata(OsStr::from_bytes(NAMESPACE_OF_SELF.to_bytes()));
    namespace.ok().map(|namespace| namespace.ino())
}

/// Writes as many bytes as possible; returns their number.
fn write_as_far_as_possible(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    // Beyond this limit the kernel would not only refuse, but kill us with a signal (SIGXFSZ).
    let left = most_bytes().saturating_sub(offset);
    let bytes = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::process::{Child, Command};

    use bactrian_agent_abi::ring;

    /// A ring in a directory that lives as long, and the process that has taken it.
    fn taken() -> (tempfile::TempDir, Kept, Child) {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("ring.0");
        let mut memory = File::options();
        let memory = memory.read(true).write(true).create(true).truncate(true).open(&path);
        let memory = memory.expect("room");
        memory.set_len(BYTES as u64).expect("room");
        let kept = Kept::new(memory, path);
        assert!(!kept.is_taken());
        let process = Command::new("sleep").arg("600").spawn().expect("a process");
        let owner = ring::owner(process.id(), our_namespace().expect("/proc"));
        kept.set(word::OWNER, owner).expect("room");
        (place, kept, process)
    }

    #[test]
    fn a_ring_knows_its_owner_until_that_has_ended() {
        let (_place, mut kept, mut process) = taken();
        assert!(kept.is_taken());
        assert_eq!((kept.owner(), kept.has_ended()), (Some(process.id()), Some(false)));
        process.kill().expect("it sleeps");
        process.wait().expect("its end");
        assert_eq!(kept.has_ended(), Some(true));
    }

    #[test]
    fn a_ring_that_is_left_has_no_name_and_no_memory_but_its_words() {
        let (_place, kept, mut process) = taken();
        kept.memory.write_all_at(&vec![1; BYTES], 0).expect("room");
        kept.leave();
        assert!(!kept.path.exists());
        assert_eq!(kept.word(word::LEFT), Some(1));
        let blocks = kept.memory.metadata().expect("open").blocks();
        assert!(blocks * 512 <= 8192, "{blocks} blocks");
        process.kill().expect("it sleeps");
        process.wait().expect("its end");
    }

    #[test]
    fn a_process_that_takes_another_ring_has_become_another_program() {
        let (_place, mut first, mut process) = taken();
        let (_other_place, second, mut other) = taken();
        first.is_replaced_by(&second);
        assert_eq!(first.has_ended(), Some(false));
        second.set(word::OWNER, first.word(word::OWNER).expect("mapped")).expect("room");
        first.is_replaced_by(&second);
        assert_eq!(first.has_ended(), Some(true));
        for process in [&mut process, &mut other] {
            process.kill().expect("it sleeps");
            process.wait().expect("its end");
        }
    }

    #[test]
    fn a_process_that_records_nothing_has_no_trace() {
        let (place, mut kept, mut process) = taken();
        let wanted = place.path().join("x.ctf");
        for note_at in [0, NO_TRACE] {
            kept.set(word::NOTE_AT, note_at).expect("room");
            assert!(!kept.look(Some(&wanted)) && kept.complete(&wanted));
            assert!(!wanted.exists());
        }
        kept.set(word::NOTE_AT, 100).expect("room");
        kept.look(Some(&wanted));
        assert!(wanted.exists());
        process.kill().expect("it sleeps");
        process.wait().expect("its end");
    }

    #[test]
    fn the_end_of_a_process_of_another_namespace_is_unknown() {
        let (_place, mut kept, mut process) = taken();
        kept.set(word::OWNER, ring::owner(process.id(), 1)).expect("room");
        assert_eq!((kept.owner(), kept.has_ended()), (Some(process.id()), None));
        process.kill().expect("it sleeps");
        process.wait().expect("its end");
    }
}
