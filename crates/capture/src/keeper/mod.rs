//! The keeper of traces: it owns the files into which a program and its children are recorded.
//!
//! The agent puts events into ring buffers in memory that it shares with us, without system calls, and we
//! write them to files. So a program that is killed loses nothing, whatever it has done to its descriptors,
//! limits, privileges or directories; and if we are killed, the agent takes the rest out of its ring and
//! continues by itself. The interface between both is in `ring` of agent-abi.
//!
//! The keeper is a thread of `record`, or of any other command that starts a program. It looks every few
//! milliseconds, and sooner if it is called.

mod folder;
mod kept;
mod owner;

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

/// The interval of looking while there is something to write.
const BUSY: Duration = Duration::from_millis(1);
/// The interval otherwise, unless a process calls: calls are checked every tick.
const IDLE: Duration = Duration::from_millis(ring::BEAT / 4);
const TICK: Duration = Duration::from_millis(ring::TICK);
/// After this long without any activity, we wake up less often.
const SILENCE: Duration = Duration::from_secs(1);
/// How long to wait at the end while the disk is full.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps traces until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    folder: PathBuf,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts to keep the traces of a program that is about to start: its own, and those of its children,
    /// with names derived from it. Without a trace it only reports new seccomp filters to the program.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(trace: Option<PathBuf>) -> io::Result<Keeper> {
        Keeper::start(trace, Folder::new()?, false)
    }

    /// Starts to keep the trace of a process that is already running, owned by this user and group. When this
    /// is dropped, the process has been told to write no more, and the trace is complete.
    ///
    /// # Errors
    /// As for [`Keeper::new`], or if we are not permitted to give files to that user.
    pub fn of_running(trace: Option<PathBuf>, owner: Option<Owner>) -> io::Result<Keeper> {
        Keeper::start(trace, Folder::new()?.given_to(owner)?, true)
    }

    fn start(trace: Option<PathBuf>, folder: Folder, is_told: bool) -> io::Result<Keeper> {
        let path = folder.path().to_owned();
        let ends = Arc::new(AtomicBool::new(false));
        let mut keeping =
            Keeping { folder, trace, is_told, free: None, refused: None, kept: Vec::new() };
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

    /// The directory whose path is passed to the agent.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread's result is of no interest.
            let _ = thread.join();
        }
    }
}

/// The state of the keeper's thread.
struct Keeping {
    folder: Folder,
    trace: Option<PathBuf>,
    /// Whether the process has been told to stop recording when we end.
    is_told: bool,
    /// The ring that is offered, which no process has taken yet.
    free: Option<Kept>,
    /// When there was no memory for a ring.
    refused: Option<Instant>,
    kept: Vec<Kept>,
}

impl Keeping {
    /// Handles everything once; returns whether there was something to write.
    fn look(&mut self) -> bool {
        self.folder.beat();
        let is_taken = self.free.as_ref().is_some_and(Kept::is_taken);
        let is_missing =
            self.free.is_none() && self.refused.is_none_or(|at| at.elapsed() > SILENCE);
        if is_taken || is_missing {
            if let Some(taken) = self.free.take() {
                for kept in &mut self.kept {
                    kept.is_replaced_by(&taken);
                }
                self.kept.push(taken);
            }
            // If there is no memory for another ring, children write their traces themselves.
            self.refused = self.offer().err().map(|_| Instant::now());
        }
        let mut is_busy = false;
        for kept in &mut self.kept {
            is_busy |= kept.look(self.trace.as_deref());
        }
        self.kept.retain_mut(|kept| {
            // It may have put something between our look and its end.
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

    /// Whether a process waits for us to look.
    fn is_called(&mut self) -> bool {
        self.folder.is_called() || self.free.as_ref().is_some_and(Kept::is_taken)
    }

    /// Offers a ring to the next process that asks.
    fn offer(&mut self) -> io::Result<()> {
        self.folder.offer_none();
        let (number, memory) = self.folder.new_ring()?;
        self.free = Some(Kept::new(memory, self.folder.ring(number)));
        self.folder.offer(number)
    }

    /// The program has ended. Those of its children that continue do so by themselves.
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
