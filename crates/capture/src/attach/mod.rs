//! Attach: freezing a process that was not started under the agent.
//!
//! [`freeze`] stops all threads of the process, brings it to a safe point, where its heap is consistent
//! ([`safe_point`]), makes one of its threads copy the process by an injected `clone` ([`copy`]), and lets it
//! continue. The copy is frozen, belongs to us, and can be read without hurry; we call its own functions to
//! list roots ([`listing`]). Where no copy can be made, the process itself is stopped until the handle is
//! dropped.
//!
//! What the program may notice: that it was stopped for the duration of a `clone` (reported as `pause`); and
//! if it adopts orphans, a second short stop when the handle is dropped, because only the program can reap
//! its dead copy. Its output, its children as `wait` reports them, its descriptors and its signals stay as
//! they are.
//!
//! One thread of ours does all the tracing and lives as long as the handle: for the kernel a tracer is a
//! thread, and when that thread ends, for whatever reason, the kernel detaches from all tracees. It also
//! kills the copy.
//!
//! *We may be killed at any moment*, and then no cleanup runs. So whatever we do to the program is of one of
//! three kinds: what the kernel undoes by itself (stops); what the program undoes by itself, because the way
//! back was written into its memory before ([`net`]); and changes of code, in which threads can wait without
//! harm until a process that survives us has undone them ([`guardian`]). Of each step it must be clear which
//! kind it is, and the order of steps follows from that.

mod calls;
mod copy;
mod gadgets;
mod guardian;
mod implant;
mod inject;
mod late_trace;
mod linker_tables;
mod listing;
mod net;
mod places;
mod placing;
mod recording;
mod refusal;
mod safe_point;
mod signals;
mod sys;
mod tracee;
mod tracer;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::heap::roots::Listing;
use crate::heap::target::Target;
use crate::memory::ProcessMemory;

pub use late_trace::LateTrace;
pub use recording::{LateRecording, RecordingState};
pub use refusal::{Cause, Refusal};
use tracer::trace;

/// Options of [`freeze`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The time limit for the process to come to a safe point. It runs meanwhile.
    pub wait: Duration,
    /// Whether to make a copy. If not, the process is stopped until the handle is dropped.
    pub copy: bool,
    /// Whether to have the runtime list its roots, in the copy.
    pub list: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { wait: Duration::from_secs(5), copy: true, list: true }
    }
}

/// How a process is frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreezeMethod {
    /// A copy is frozen, and the process runs.
    Copied,
    /// The process itself is stopped, because no copy was made.
    Stopped {
        /// Why no copy was made.
        reason: String,
    },
}

/// A stopped process, or its frozen copy. Dropping this lets the process continue, and ends the copy.
#[derive(Debug)]
pub struct Frozen {
    /// Its memory.
    pub memory: ProcessMemory,
    /// The program, with the registers of its threads.
    pub target: Target,
    /// Roots as listed by the runtime, if there is a copy and a list was asked for.
    pub listing: Option<Listing>,
    /// States of the domains that were found.
    pub domains: Vec<u64>,
    /// Failures that did not prevent the freeze: listing, for example.
    pub gaps: Vec<String>,
    /// How it is frozen.
    pub way: FreezeMethod,
    /// How long the process was stopped until it was copied; with [`FreezeMethod::Stopped`], until it was at a safe
    /// point.
    pub pause: Duration,
    /// The id of the process that is stopped: the copy, or the process itself.
    pub pid: u32,
    /// Holds the number of a signal that would otherwise have ended us while this exists; 0 for none.
    pub asked: Arc<AtomicUsize>,
    /// The tracing thread, which ends when this is dropped.
    tracer: Option<Tracer>,
}

/// A thread that traces until its channel is closed.
#[derive(Debug)]
struct Tracer {
    finish: Sender<()>,
    thread: JoinHandle<()>,
}

impl Tracer {
    fn end(self) {
        drop(self.finish);
        // If it panicked, the kernel has detached from everything.
        let _ = self.thread.join();
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Some(tracer) = self.tracer.take() {
            tracer.end();
        }
    }
}

/// Freezes a process.
///
/// # Errors
/// If there is no such process, the kernel does not let us trace it, it is not a supported OCaml program, or
/// it does not come to a safe point in time. The process then continues unharmed.
pub fn freeze(pid: u32, options: Options) -> Result<Frozen, Refusal> {
    let (tell, told) = channel();
    let (finish, finished) = channel();
    let thread = std::thread::Builder::new()
        .name("tracer".to_owned())
        .spawn(move || trace(pid, options, &tell, &finished))
        .map_err(|error| Refusal::failed("starting a thread", &error))?;
    let tracer = Tracer { finish, thread };
    let frozen = told.recv().unwrap_or_else(|_| {
        let reason = "tracing ended because of a bug in Bactrian";
        Err(Refusal::new(Cause::Failed, reason, "Please report this bug"))
    });
    match frozen {
        Ok(mut frozen) => {
            frozen.tracer = Some(tracer);
            Ok(frozen)
        }
        Err(refusal) => {
            tracer.end();
            Err(refusal)
        }
    }
}
