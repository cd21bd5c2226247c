//! A ring, and the trace that is made of what comes out of it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bactrian_agent_abi::ring::{
    MAKINGS, NAME, NAME_ROOM, NAMESPACE_OF_SELF, NOTE, NOTES, PACKET, ROOM, STREAM, making,
    making_at, names, word,
};
use bactrian_trace::{MakingWords, Recorder, State, complete};

use super::folder::{most_bytes, read_word};
use crate::seccomp;

/// How often it is looked for filters of owners that do not ask: they are told so that they know if we die.
const FILTERS_PERIOD: Duration = Duration::from_millis(100);

/// A ring that a process has taken.
#[derive(Debug)]
pub struct Kept {
    memory: File,
    path: PathBuf,
    trace: Option<File>,
    /// Bytes that were taken out and written.
    taken: u64,
    /// Notes that were written.
    notes: u64,
    /// The trace could not be created, or not all of it be written.
    is_behind: bool,
    /// When its owner's filters were last looked at.
    looked: Option<Instant>,
    /// How many of its owner's questions are answered.
    answered: u64,
}

impl Kept {
    /// A ring that nobody has taken yet.
    pub fn new(memory: File, path: PathBuf) -> Kept {
        Kept {
            memory,
            path,
            trace: None,
            taken: 0,
            notes: 0,
            is_behind: false,
            looked: None,
            answered: 0,
        }
    }

    /// The process that records into it, by its own number for itself.
    pub fn owner(&self) -> Option<u32> {
        self.word(word::OWNER).and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0)
    }

    /// Whether the process that records into it has ended; none if its number is that of another namespace.
    pub fn has_ended(&self) -> Option<bool> {
        let owner = self.owner()?;
        let ours = our_namespace()?;
        if self.word(word::NAMESPACE) != Some(ours) {
            return None;
        }
        let stat = fs::read(format!("/proc/{owner}/stat"));
        Some(stat.map_or(true, |stat| {
            // Its state follows its name, which is in brackets.
            let end = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
            matches!(stat.get(end + 2), Some(b'Z' | b'X'))
        }))
    }

    /// Looks at the ring once: writes what has come, tells the owner of its filters, and answers it if it has asked. Gives whether
    /// there was something to write.
    pub fn look(&mut self, wanted: Option<&Path>) -> bool {
        // Before everything: what the owner had done when it asked is seen by the answer.
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

    /// Tells the owner if it has got a filter of system calls (seccomp). If it has set that by libc, it knows; but not if by an
    /// instruction of its own, and to look by itself might be its end. There may be thousands of threads: only if it asks are all
    /// looked at, otherwise the first.
    fn look_for_filters(&mut self, is_asked: bool) {
        self.looked = Some(Instant::now());
        let Some(owner) = self.owner() else { return };
        if self.word(word::NAMESPACE) != our_namespace() {
            return;
        }
        let before = self.word(word::FILTERS).unwrap_or(0);
        let now = match is_asked {
            true => seccomp::most_filters_of(owner),
            false => seccomp::filters_of(&owner.to_string()),
        };
        if before > 0 && now.is_some_and(|now| u64::from(now) + 1 > before) {
            // If it fails, it is tried again.
            let _ = self.set(word::FILTERED, 1);
        }
    }

    /// Whether there is something that could not be written.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Writes what has come; whether anything had.
    fn keep(&mut self, wanted: &Path) -> bool {
        let Some(owner) = self.owner() else { return false };
        if self.trace.is_none() {
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
            // Only then there is room for more.
            let _ = self.set(word::TAIL, self.taken);
        }
        self.write_note();
        count > 0
    }

    /// Completes the trace of a process that writes no more; whether all is written.
    pub fn complete(&mut self, wanted: &Path) -> bool {
        while self.keep(wanted) {}
        if self.is_behind {
            return false;
        }
        let Some(trace) = &self.trace else { return true };
        for place in 0..MAKINGS {
            let packets = self.unfinished(place).unwrap_or_default();
            let written = write_as_far_as_possible(trace, &packets, self.taken);
            self.taken += written.unwrap_or(0) as u64;
        }
        true
    }

    /// From now on nobody looks at the ring; children of its owner may still ask there.
    pub fn leave(&self) {
        // If it fails, they wait a little longer.
        let _ = self.set(word::LEFT, 1);
    }

    /// Sets down in a complete trace that it is one.
    pub fn note_end(&mut self) {
        let (Some(trace), Some(at)) = (&self.trace, self.word(word::NOTE_AT)) else { return };
        let mut note = vec![0; Recorder::LEN];
        if trace.read_exact_at(&mut note, at).is_ok()
            && let Some(recorder) = Recorder::parse(&note)
            && recorder.state == State::Running
        {
            // If it fails, the trace says less.
            let _ = trace.write_all_at(&Recorder { state: State::Ended, ..recorder }.context(), at);
        }
    }

    /// Whether a process still has the ring mapped: it may be one that we do not know by its number.
    pub fn is_mapped(&self) -> bool {
        let name = self.path.as_os_str().as_bytes();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut maps = processes.filter_map(|process| fs::read(process.path().join("maps")).ok());
        maps.any(|maps| maps.split(|&byte| byte == b'\n').any(|line| line.ends_with(name)))
    }

    /// What was in the making at a place when its process ended, completed.
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

    /// Writes the newest note over the one that is in the trace.
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
            // It may have ended, but its trace has not.
            note = Recorder { state: State::Running, ..recorder }.context();
        }
        if read.and_then(|()| trace.write_all_at(&note, at)).is_ok() && !self.is_behind {
            self.notes = count;
        }
    }

    /// Creates the trace, under a name that no file has, and tells the agent.
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

/// The PID namespace in which we know processes by their numbers.
fn our_namespace() -> Option<u64> {
    let namespace = fs::metadata(OsStr::from_bytes(NAMESPACE_OF_SELF.to_bytes()));
    namespace.ok().map(|namespace| namespace.ino())
}

/// How many bytes could be written.
fn write_as_far_as_possible(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    // Beyond this limit the kernel would not only refuse, but kill us by a signal.
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
