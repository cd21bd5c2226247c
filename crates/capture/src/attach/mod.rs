//! Attach: freezing a process that was not started under the agent.
//!
//! [`freeze`] stops all threads of the process, brings it to a moment in which its heap is whole
//! ([`safe_point`]), makes one of its threads copy the process by a `clone` that is injected ([`copy`]), and lets it go
//! on. The copy stands still, belongs to us, and is read at leisure; its own functions are called to list roots
//! ([`listing`]). Where no copy can be made, the process itself stands still until the handle is dropped.
//!
//! What the program may notice: that it stood still for the time of a `clone` (told as `pause`); if it adopts orphans, for
//! moments once more when the handle is dropped, because only it can remove its dead copy from the kernel's list of
//! processes. Its output, its children as `wait` tells them, its descriptors and signals stay as they are.
//!
//! One thread of ours does all the tracing and lives as long as the handle: the kernel knows tracers by thread, and
//! lets go of everything when that thread ends, however it ends. The copy is killed then as well.
//!
//! *We may be killed at any moment*, and nothing runs then that could clean up. What is done to the program is therefore of
//! three kinds: what the kernel takes back by itself (stops); what the program takes back by itself, because the
//! way back was written into its memory before ([`net`]); and changes of code, which threads can wait in without harm
//! until a process that survives us has taken them back ([`guardian`]). Of each step it must be clear to which kind
//! it belongs, and the order of steps follows from that.

mod calls;
mod copy;
mod gadgets;
mod guardian;
mod implant;
mod inject;
mod late_trace;
mod listing;
mod net;
mod places;
mod placing;
mod recording;
mod refusal;
mod safe_point;
mod signals;
mod sys;
mod told;
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
pub use recording::{LateRecording, Standing};
pub use refusal::{Cause, Refusal};
use tracer::trace;

/// What is wanted of [`freeze`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long the process may take to come to a moment in which its heap is whole. It runs meanwhile.
    pub wait: Duration,
    /// Whether to make a copy. If not, the process stands still until the handle is dropped.
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
pub enum Way {
    /// A copy stands still, and the process runs.
    Copied,
    /// The process itself stands still; why no copy was made.
    Stopped {
        /// Why.
        reason: String,
    },
}

/// A process that stands still, or its copy. Dropping it lets the process go on, and ends the copy.
#[derive(Debug)]
pub struct Frozen {
    /// What it has in memory.
    pub memory: ProcessMemory,
    /// What is known of the program, with the registers of its threads.
    pub target: Target,
    /// Roots as the runtime lists them, in a copy.
    pub listing: Option<Listing>,
    /// States of domains that are known.
    pub domains: Vec<u64>,
    /// What went wrong without being in the way: listing, for example.
    pub gaps: Vec<String>,
    /// How it is frozen.
    pub way: Way,
    /// How long the process stood still until it was copied; with [`Way::Stopped`], until it was at rest.
    pub pause: Duration,
    /// Process that stands still: the copy, or the process itself.
    pub pid: u32,
    /// Where the number of a signal is left that would have ended us while this lives; 0 for none.
    pub asked: Arc<AtomicUsize>,
    /// Who traces it, and ends that when this is dropped.
    tracer: Option<Tracer>,
}

/// A thread that traces until it is told that this is over, by the end of the channel.
#[derive(Debug)]
struct Tracer {
    finish: Sender<()>,
    thread: JoinHandle<()>,
}

impl Tracer {
    fn end(self) {
        drop(self.finish);
        // If it panicked, the kernel has let go of everything.
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
/// If there is no such process, the kernel does not let us trace it, it is no OCaml that is known, or does not come
/// to a moment in which its heap is whole. The process then goes on as it was.
pub fn freeze(pid: u32, options: Options) -> Result<Frozen, Refusal> {
    let (tell, told) = channel();
    let (finish, finished) = channel();
    let thread = std::thread::Builder::new()
        .name("tracer".to_owned())
        .spawn(move || trace(pid, options, &tell, &finished))
        .map_err(|error| Refusal::failed("starting a thread", &error))?;
    let tracer = Tracer { finish, thread };
    let frozen = told.recv().unwrap_or_else(|_| {
        let reason = "tracing ended by a fault of Bactrian";
        Err(Refusal::new(Cause::Failed, reason, "Please report it"))
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
