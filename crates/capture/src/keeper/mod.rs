//! The keeper of traces: it owns the files into which a program and its children are recorded.
//!
//! The agent puts events into rings in memory that it shares with us, without system calls, and we write them to files. So a
//! program that is killed loses nothing, whatever it did to its descriptors, limits, rights or directories; and if we are
//! killed, the agent takes the rest out of its ring and goes on by itself. What both agree on is in `ring` of agent-abi.
//!
//! A thread of `record`, or of whoever else starts a program, does it: it looks every few milliseconds, and sooner if it is called.

mod folder;
mod kept;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bactrian_agent_abi::ring;

use crate::temporary::Owner;
use folder::Folder;
use kept::Kept;

/// How soon we look again when there was something.
const BUSY: Duration = Duration::from_millis(1);
/// And when there was nothing, unless somebody calls: that is looked for in ticks.
const IDLE: Duration = Duration::from_millis(ring::BEAT / 4);
const TICK: Duration = Duration::from_millis(ring::TICK);
/// If nothing happens for this long, we wake up less often.
const SILENCE: Duration = Duration::from_secs(1);
/// So long, at the end, a disk that is full is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps traces until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    folder: PathBuf,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Begins to keep the traces of a program that is about to start: this one, and those of its children, named after it. Without
    /// a trace it only tells the program of filters of system calls that it gets.
    ///
    /// # Errors
    /// If there is no room in memory.
    pub fn new(trace: Option<PathBuf>) -> io::Result<Keeper> {
        Keeper::start(trace, Folder::new()?, false)
    }

    /// Begins to keep the trace of a process that runs already, as this user and group. When this is dropped, the process has been
    /// told to write no more, and the trace is complete.
    ///
    /// # Errors
    /// As for [`Keeper::new`], or if we may not give files to that user.
    pub fn of_running(trace: Option<PathBuf>, owner: Option<Owner>) -> io::Result<Keeper> {
        Keeper::start(trace, Folder::new()?.given_to(owner)?, true)
    }

    fn start(trace: Option<PathBuf>, folder: Folder, is_told: bool) -> io::Result<Keeper> {
        let path = folder.path().to_owned();
        let ends = Arc::new(AtomicBool::new(false));
        let mut keeping = Keeping { folder, trace, is_told, free: None, kept: Vec::new() };
        keeping.offer()?;
        let told = Arc::clone(&ends);
        let thread = thread::Builder::new().name("keeper".to_owned());
        let thread = thread.spawn(move || {
            let ends = || told.load(Ordering::Acquire);
            let mut last = Instant::now();
            while !ends() {
                let begin = Instant::now();
                let is_busy = keeping.look();
                if is_busy {
                    last = begin;
                }
                let pause = if is_busy { BUSY } else { IDLE };
                let tick = if begin - last > SILENCE { IDLE } else { TICK.min(pause) };
                while begin.elapsed() < pause && !ends() {
                    if keeping.is_called() {
                        last = begin;
                        break;
                    }
                    thread::park_timeout(tick);
                }
            }
            keeping.end();
        })?;
        Ok(Keeper { folder: path, ends, thread: Some(thread) })
    }

    /// The folder that the agent is told.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It holds nothing that could go wrong.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Keeping {
    folder: Folder,
    trace: Option<PathBuf>,
    /// Whether our end is the end of the recording, too.
    is_told: bool,
    /// A ring that nobody has taken yet.
    free: Option<Kept>,
    kept: Vec<Kept>,
}

impl Keeping {
    /// Looks at everything once; whether there was something to write.
    fn look(&mut self) -> bool {
        self.folder.beat();
        if self.folder.is_taken() {
            self.kept.extend(self.free.take());
            // Without room for another, children write their traces themselves.
            let _ = self.offer();
        }
        let mut is_busy = false;
        for kept in &mut self.kept {
            is_busy |= kept.look(self.trace.as_deref());
        }
        self.kept.retain_mut(|kept| {
            // It may have put something between the look and its end.
            let trace = self.trace.as_deref();
            let is_done =
                kept.has_ended() == Some(true) && trace.is_none_or(|trace| kept.complete(trace));
            if is_done && self.is_told {
                kept.note_end();
            }
            if is_done {
                kept.leave();
            }
            !is_done
        });
        is_busy
    }

    /// Whether somebody waits for us to look.
    fn is_called(&mut self) -> bool {
        self.folder.is_called() || self.free.is_some() && self.folder.is_taken()
    }

    /// Offers a ring to the next process that asks.
    fn offer(&mut self) -> io::Result<()> {
        let (number, memory) = self.folder.new_ring()?;
        self.free = Some(Kept::new(memory, self.folder.ring(number)));
        self.folder.offer(number)
    }

    /// The program has ended. Those of its children that go on do so by themselves.
    fn end(mut self) {
        let begin = Instant::now();
        self.look();
        while begin.elapsed() < PATIENCE && self.kept.iter().any(Kept::is_behind) {
            thread::sleep(Duration::from_millis(20));
            self.look();
        }
        self.folder.leave();
        for mut kept in self.kept {
            let writes_no_more =
                self.is_told || kept.has_ended().unwrap_or_else(|| !kept.is_mapped());
            if let Some(trace) = self.trace.as_ref().filter(|_| writes_no_more) {
                kept.complete(trace);
                if self.is_told {
                    kept.note_end();
                }
            }
        }
    }
}
