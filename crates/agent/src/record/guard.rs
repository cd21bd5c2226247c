//! If the program uses the sampler itself, it has precedence.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us, and one that calls `Gc.Memprof.stop` would not get an exception
//! that it otherwise gets. So both functions are patched while our sampler runs: a call stops our sampler,
//! removes the patches, and then continues. A program that asks whether a sampler is running (since 5.5) is
//! told about its own. Where code cannot be changed we do not sample at all. If the
//! program sets a seccomp filter afterwards that forbids to change code, the patches and our sampler stay:
//! `Gc.Memprof.start` succeeds then, but its callbacks never run.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_abi::control::{self, Gate};
use bactrian_agent_os::birthmark;
use bactrian_agent_os::patch::Patch;
use bactrian_ocaml::value::{UNIT, integer};
use bactrian_trace::State;

use super::doors::{self, START_TARGET, STOP_TARGET};
use super::samplers::{self, Here};
use super::session::with_recording;
use crate::runtime::agent::{self, Agent};
use crate::runtime::program::Sampler;

/// Whether the runtime's sampler is ours.
static SAMPLING: AtomicBool = AtomicBool::new(false);

/// The guards, for a tracer that installs them from outside.
pub const GATES: [Gate; control::GATES] = [
    Gate { ours: start_gate, patched: doors::START.patched() },
    Gate { ours: stop_gate, patched: doors::STOP.patched() },
    Gate { ours: is_sampling, patched: doors::IS_SAMPLING.patched() },
];

/// Installs the guards; returns false if code cannot be changed here.
///
/// # Safety
/// There is one thread. Called once.
pub unsafe fn put_up(sampler: &Sampler) -> bool {
    let ours = GATES.map(|gate| gate.ours as *const () as usize);
    // SAFETY: by the caller.
    unsafe { doors::put_up(sampler, ours) }
}

/// Marks the runtime's sampler as ours; it is about to be started.
pub fn sampling_begins() {
    SAMPLING.store(true, Ordering::Release);
}

/// Stops the runtime's sampler, if it is ours. Called from a callback, or while the runtime is idle.
pub fn stop_sampling() {
    let Some(agent) = agent::prepared() else { return };
    if !doors::open() {
        return;
    }
    if agent.came_late {
        let here = Here::find().filter(|here| here.is_on());
        // SAFETY: by the caller.
        here.map(|here| unsafe { samplers::stop(here) });
    } else if SAMPLING.swap(false, Ordering::AcqRel)
        && let Some(sampler) = &agent.program.sampler
    {
        (sampler.stop)(UNIT);
    }
}

/// A callback arrived although nothing is recorded. In a program that we attached to, the recording is over,
/// and its samplers are stopped when they next call us. (A callback may also be late, when the sampler
/// already is the program's.)
#[cold]
pub fn recording_is_over() {
    if birthmark::is_in_copy() {
        // It goes on in the process that this one is a copy of.
        return;
    }
    let here = Here::find().filter(|here| here.agent.came_late && here.is_on());
    // SAFETY: we are in a callback.
    if here.is_some_and(|here| unsafe { samplers::stop(here) } == 0) {
        doors::open();
    }
}

/// The program starts or stops a sampler of its own: ours gives way. The runtime calls us for all samples
/// that are still pending, and may run the collector.
fn give_way() {
    let is_here = || Here::find().is_some_and(Here::is_on);
    if (SAMPLING.load(Ordering::Acquire) || is_here())
        && let Some(tell) = agent::prepared().and_then(|agent| agent.program.sampler.as_ref()?.tell)
    {
        // OCaml 4 drops pending samples when its sampler is stopped. Our callbacks do not raise.
        tell();
    }
    stop_sampling();
    with_recording(|recording| recording.end(State::ProgramSamples));
}

macro_rules! gate {
    ($name:ident, $give_way:ident) => {
        /// The entry point for the program's calls of a guarded function. It goes on where `$give_way` says.
        ///
        /// # Safety
        /// Reached through the patch only.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> usize {
            naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "mov rdi, rsp",
                "call {give_way}",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                give_way = sym $give_way,
            )
        }
    };
}

gate!(start_gate, give_way_to_start);
gate!(stop_gate, give_way_to_stop);

/// Where the program's call of a guarded function goes on: in that function or, if it is still patched and
/// would lead back to us, in one that does nothing.
fn way_on(patch: &Patch, function: &AtomicUsize, instead: extern "C" fn() -> usize) -> usize {
    match patch.is_there() {
        true => instead as usize,
        false => function.load(Ordering::Relaxed),
    }
}

/// Stands for the start of a sampler. Since 5.3 that returns the sampler's configuration, and the program may
/// use it: it gets that of the sampler that is running.
extern "C" fn not_started() -> usize {
    Here::find().and_then(Here::configuration).unwrap_or(UNIT)
}

/// Stands for the end of a sampler.
extern "C" fn not_stopped() -> usize {
    UNIT
}

/// `Gc.Memprof.is_sampling` as the program should see it: whether its own sampler is running.
///
/// # Safety
/// Called by OCaml, through the patch.
unsafe extern "C" fn is_sampling() -> usize {
    integer(Here::find().is_some_and(Here::samples_for_program).into())
}

/// The program's arguments are OCaml values: a rate, a depth and a tracker. Before our sampler is stopped we
/// are called for all pending samples, and these calls may cause a collection, which moves blocks. So the
/// arguments are registered as roots meanwhile.
extern "C" fn give_way_to_start(arguments: &mut [AtomicUsize; 3]) -> usize {
    if samplers::is_calling() {
        doors::open_start();
    } else if let Some(Agent { program, .. }) = agent::prepared() {
        let places = arguments.each_ref().map(AtomicUsize::as_ptr);
        places.iter().for_each(|place| (program.register_root)(*place));
        // This does not raise, else these places would stay roots: the sampler is ours, and so are its
        // callbacks.
        give_way();
        places.iter().for_each(|place| (program.remove_root)(*place));
    }
    way_on(&doors::START, &START_TARGET, not_started)
}

/// The argument is `()`, which no collection moves.
extern "C" fn give_way_to_stop() -> usize {
    if samplers::is_calling() {
        doors::open_stop();
    } else {
        give_way();
    }
    way_on(&doors::STOP, &STOP_TARGET, not_stopped)
}
