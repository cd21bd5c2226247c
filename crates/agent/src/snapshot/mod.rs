//! Snapshots of the heap: the program is brought to a safe point and copied, and continues; everything else
//! is done by the copy.
//!
//! # The problem
//! Writing a snapshot of a heap of gigabytes takes seconds, but the program may be paused for milliseconds
//! only. So the kernel copies the process (a clone without an exit signal, which no `wait` of the program
//! ever reports), and the copy stays frozen while another process, the walker, reads its memory.
//!
//! # How it works
//! 1. `triggers`: the collector, a signal, or the program itself says that a snapshot is due. In OCaml 4 the
//!    hooks of the collector are safe points themselves. In OCaml 5 a domain is asked to come to a safe
//!    point, and there stops all others (`still`). A program that waits in a system call already is at a safe
//!    point (`blocked`).
//! 2. `freeze` checks whether another copy is affordable (`budget`), writes the samples collected so far, and
//!    makes the copy.
//! 3. The `copy` closes the program's descriptors, lists roots with the runtime's own functions (`listing`),
//!    starts the walker, releases its memory as it has been read, and waits for the walker to end.
//!
//! # Invariants
//! - The program does not notice its copies: no signal, no child to wait for, no descriptor, no file that is
//!   kept open, no terminal. The program itself opens a file only to record in the ledger that a snapshot was
//!   skipped, or that a copy was killed before it could record anything.
//! - A copy never becomes the program: whatever happens in it, it exits.
//! - One snapshot at a time, under one lock, with all signals blocked, on a stack of our own.
//! - The copy does not allocate: another thread may have been in the middle of that.

mod blocked;
mod budget;
mod copy;
mod freeze;
mod ledger;
mod listing;
mod notes;
mod still;
mod triggers;

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ops::Range;

use bactrian_agent_abi::Snapshots;
use bactrian_agent_abi::ledger::{Limit, Line};
use bactrian_agent_os::lock::SetOnce;
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{loaded, proc, process};

use crate::runtime::agent::Agent;
use crate::runtime::collector::Collector;

pub use blocked::leave as has_left_ocaml;
pub use freeze::{after_fork, before_fork, in_parent_after_fork};
pub use triggers::{at_end, before_filter, before_waiting};

/// What snapshots need of the recording, whose module they do not depend on.
pub struct BesideRecording {
    /// Writes the samples collected so far; returns the name of the trace, if there is one.
    pub write_all: fn() -> Option<Vec<u8>>,
    /// Whether this thread is working on the recording; if so, the caller is a signal handler that has
    /// interrupted it.
    pub is_at_work: fn() -> bool,
}

/// What is known when the runtime is ready, and never changes.
struct Setup {
    agent: &'static Agent,
    collector: &'static Collector,
    settings: &'static Snapshots,
    recording: BesideRecording,
    walker: CString,
    ledger: Option<CString>,
    /// The directory in which the program was started.
    directory: Option<Vec<u8>>,
    /// The address range of our own code and data.
    us: Range<usize>,
    /// The start, on the monotonic clock, in nanoseconds.
    start: u64,
}

static SETUP: SetOnce<Setup> = SetOnce::new();

fn setup() -> Option<&'static Setup> {
    SETUP.get()
}

/// What rules out copies of this process from the start.
fn forbidden(settings: &Snapshots) -> Option<(Limit, &'static str)> {
    if proc::filters().is_some_and(|filters| filters > settings.filters) {
        let why = "its system calls are filtered (seccomp), and a copy may kill it; \
                   BACTRIAN_FILTERS says how many filters allow it";
        return Some((Limit::Filtered, why));
    }
    let is_known = process::can_clone_quietly();
    (!is_known).then_some((Limit::Kernel, "snapshots need Linux 5.9 or newer, and close_range"))
}

/// From now on snapshots are taken; an error is a reason that the ledger cannot record. The runtime is
/// initialised, no OCaml code runs yet, and there is one thread.
pub fn start(
    agent: &'static Agent,
    settings: &'static Snapshots,
    recording: BesideRecording,
) -> Result<(), &'static str> {
    let Some(collector) = &agent.program.collector else {
        return Err("this version of OCaml is not supported for snapshots");
    };
    let text = |path: &[u8]| CString::new(path).map_err(|_| "a path with a NUL in it");
    let ledger = settings.ledger.as_deref().map(text).transpose()?;
    if let Some((limit, why)) = forbidden(settings) {
        // If this is a child of the program, the program may be reading its standard error.
        ledger::add(ledger.as_deref(), &Line::Skipped(limit));
        return if ledger.is_some() || agent.is_heir { Ok(()) } else { Err(why) };
    }
    let setup = Setup {
        agent,
        collector,
        settings,
        recording,
        walker: text(&settings.walker)?,
        ledger,
        directory: sys::current_directory(&mut [0; 4096]).map(<[u8]>::to_vec),
        us: {
            let mut us = 0..0;
            loaded::holding(start as *const () as usize, |object| us = object.extent());
            us
        },
        start: sys::nanos(Clock::Monotonic),
    };
    freeze::prepare(&setup)?;
    // SAFETY: only once: the runtime starts once.
    unsafe { SETUP.set(setup) };
    triggers::install();
    Ok(())
}
