//! A process that undoes our changes of a program's code if we are killed before we have done so.
//!
//! It is a fork of ours in its own session, with its own name, that reads from a pipe: every change before it
//! is made, and a message when all are undone. When the pipe ends and some changes remain, it stops the
//! program's threads, restores the original words in the program's memory, and in that of children that the
//! program has forked meanwhile, and lets them continue. The threads must be stopped for that: the kernel
//! writes byte by byte, and a running thread would see half of a change.

use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, Read, Write, pipe};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RawDir};

use super::sys::{self, Tid};

/// More changes than are ever made at once. Any beyond are not guarded.
pub const MOST: usize = 256;
/// Bytes of a message: an address, the original word, and the new word.
pub const MESSAGE: usize = 24;
/// The message that all changes are undone.
const ALL_RESTORED: [u8; MESSAGE] = [0; MESSAGE];

/// A change of a word of a program's code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    pub address: u64,
    pub was: u64,
    pub now: u64,
}

/// The guardian of a process. It ends when this is dropped.
#[derive(Debug)]
pub struct Guardian {
    pipe: Option<PipeWriter>,
    process: Tid,
}

impl Guardian {
    /// Starts to guard a process.
    pub fn start(pid: u32) -> io::Result<Guardian> {
        Guardian::after(pid, Duration::ZERO)
    }

    /// The same, but it waits this long before it undoes anything: the program may continue to make changes
    /// for a while.
    pub fn after(pid: u32, delay: Duration) -> io::Result<Guardian> {
        let path = format!("/proc/{pid}/mem");
        let memory = OpenOptions::new().read(true).write(true).open(path)?;
        let (reader, writer) = pipe()?;
        let process =
            sys::fork_guardian(&reader, &memory, |pipe, memory| guard(pid, delay, pipe, memory))?;
        Ok(Guardian { pipe: Some(writer), process })
    }

    /// Records a change that is about to be made. If this fails, the change must not be made.
    pub fn note(&mut self, change: Change) -> io::Result<()> {
        let mut message = [0; MESSAGE];
        for (bytes, word) in
            message.as_chunks_mut::<8>().0.iter_mut().zip([change.address, change.was, change.now])
        {
            *bytes = word.to_le_bytes();
        }
        self.send(&message)
    }

    /// Records that all changes are undone.
    pub fn all_restored(&mut self) {
        // If the guardian was killed, there is nobody to tell.
        let _ = self.send(&ALL_RESTORED);
    }

    fn send(&mut self, message: &[u8; MESSAGE]) -> io::Result<()> {
        self.pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(message))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.pipe.take());
        sys::wait_for_child(self.process);
    }
}

/// How long threads may take to stop. Those that take longer are deep in the kernel, not in code that is
/// changed.
const STOPPING: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_micros(200);
/// The maximal number of threads that are stopped.
const MOST_THREADS: usize = 4096;

/// The guardian's main function. No allocation, no lock, no panic.
fn guard(pid: u32, delay: Duration, pipe: &mut File, memory: &File) {
    let mut changes = [Change::default(); MOST];
    let mut count = 0;
    let mut message = [0; MESSAGE];
    // Each message is a single short write to the pipe, and so arrives whole.
    while pipe.read_exact(&mut message).is_ok() {
        let word = |at: usize| {
            let bytes = message.iter().skip(at).take(8).rev();
            bytes.fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        let change = Change { address: word(0), was: word(8), now: word(16) };
        match changes.get_mut(count) {
            _ if change.address == 0 => count = 0,
            Some(place) => {
                *place = change;
                count += 1;
            }
            None => {}
        }
    }
    let changes = changes.get(..count).unwrap_or(&[]);
    if changes.is_empty() {
        return;
    }
    sleep(delay);
    restore(pid, memory, changes);
    // The process's threads are stopped until we end, so it forks no further children. Those that it has
    // forked before are seldom many.
    each_number("/proc", |other| {
        if parent_is(other, pid) {
            let path = Text::new(format_args!("/proc/{other}/mem"));
            if let Ok(memory) = File::options().read(true).write(true).open(path.text()) {
                restore(other, &memory, changes);
            }
        }
    });
}

/// Undoes the changes that remain in the memory of a process. Its threads then stay stopped until we end.
fn restore(pid: u32, memory: &File, changes: &[Change]) {
    let is_there = |change: &&Change| {
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, change.address).is_ok()
            && u64::from_le_bytes(word) == change.now
    };
    if !changes.iter().any(|change| is_there(&change)) {
        return;
    }
    stop(pid);
    for change in changes.iter().filter(is_there) {
        let _ = memory.write_all_at(&change.was.to_le_bytes(), change.address);
    }
}

/// Stops all threads of a process.
fn stop(pid: u32) {
    let until = Instant::now() + STOPPING;
    let mut stopped = [0; MOST_THREADS];
    let mut count = 0;
    let path = Text::new(format_args!("/proc/{pid}/task"));
    loop {
        let (before, mut is_refused) = (count, false);
        each_number(path.text(), |tid| {
            let Ok(tid) = Tid::try_from(tid) else { return };
            if stopped.iter().take(count).any(|&known| known == tid) {
                return;
            }
            match (sys::seize(tid, 0), stopped.get_mut(count)) {
                (Ok(()), Some(place)) => {
                    *place = tid;
                    count += 1;
                    wait_for_stop(tid, until);
                }
                (Err(error), _) if error.raw_os_error() == Some(libc::ESRCH) => {}
                // The dead tracer is still attached until the kernel has cleaned it up.
                _ => is_refused = true,
            }
        });
        if count == before && !is_refused || Instant::now() > until {
            return;
        }
        sleep(NAP);
    }
}

fn wait_for_stop(tid: Tid, until: Instant) {
    let options = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::__WALL;
    if sys::interrupt(tid).is_err() {
        return;
    }
    while Instant::now() < until && matches!(sys::wait(tid, options), Ok(None)) {
        sleep(NAP);
    }
}

/// Whether a process has this parent.
fn parent_is(pid: u32, parent: u32) -> bool {
    let path = Text::new(format_args!("/proc/{pid}/stat"));
    let mut stat = [0; 512];
    let Ok(mut file) = File::open(path.text()) else { return false };
    let Ok(length) = file.read(&mut stat) else { return false };
    // The program's name, in parentheses, may contain anything.
    let stat = stat.get(..length).unwrap_or(&[]);
    let rest = stat.rsplit(|&byte| byte == b')').next().unwrap_or(&[]);
    let field = rest.split(|&byte| byte == b' ').nth(2).unwrap_or(&[]);
    std::str::from_utf8(field).ok().and_then(|field| field.parse().ok()) == Some(parent)
}

/// Calls `act` for each entry of a directory whose name is a number.
fn each_number(folder: &str, mut act: impl FnMut(u32)) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(folder, flags, Mode::empty()) else { return };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok()) {
            act(number);
        }
    }
}

/// A short text that needs no allocation.
struct Text {
    bytes: [u8; 64],
    length: usize,
}

impl Text {
    fn new(text: fmt::Arguments<'_>) -> Text {
        let mut made = Text { bytes: [0; 64], length: 0 };
        // A path that does not fit is cut off, and then no such file exists.
        let _ = made.write_fmt(text);
        made
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|it| std::str::from_utf8(it).ok()).unwrap_or("")
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
