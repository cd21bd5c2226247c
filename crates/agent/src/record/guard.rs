//! If the program uses the sampler itself, it goes first.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us, and one that calls `Gc.Memprof.stop` would not get one that it
//! does. So both functions are patched while our sampler runs: then ours is stopped, the patches are lifted, and
//! the program's call goes on. One that asks whether a sampler runs (since 5.5) is told of its own. Where code cannot be changed we do not sample at all.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_abi::control::{self, Gate};
use bactrian_ocaml::value::{UNIT, integer};
use bactrian_trace::State;

use super::doors::{self, START_TARGET, STOP_TARGET};
use super::samplers::{self, Here};
use super::session::with_recording;
use crate::runtime::agent::{self, Agent};
use crate::runtime::program::Sampler;

/// The runtime's sampler is ours.
static SAMPLING: AtomicBool = AtomicBool::new(false);

/// The guards, for whoever puts them up from outside.
pub const GATES: [Gate; control::GATES] = [
    Gate { ours: start_gate, patched: doors::START.patched() },
    Gate { ours: stop_gate, patched: doors::STOP.patched() },
    Gate { ours: is_sampling, patched: doors::IS_SAMPLING.patched() },
];

/// Puts the guards up; false if code cannot be changed here.
///
/// # Safety
/// There is one thread. Called once.
pub unsafe fn put_up(sampler: &Sampler) -> bool {
    let ours = GATES.map(|gate| gate.ours as *const () as usize);
    // SAFETY: by the caller.
    unsafe { doors::put_up(sampler, ours) }
}

/// The runtime's sampler is about to be started for us.
pub fn sampling_begins() {
    SAMPLING.store(true, Ordering::Release);
}

/// Stops the runtime's sampler, if it is ours. From a callback, or with the runtime at rest.
pub fn stop_sampling() {
    let Some(agent) = agent::prepared() else { return };
    doors::open();
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

/// A callback came though nothing is recorded. In a program that ran before we came, the recording is over, and its samplers
/// are stopped where they show themselves. (A callback may also come late, when the sampler is the program's already.)
#[cold]
pub fn recording_is_over() {
    let here = Here::find().filter(|here| here.agent.came_late && here.is_on());
    // SAFETY: we are in a callback.
    if here.is_some_and(|here| unsafe { samplers::stop(here) } == 0) {
        doors::open();
    }
}

/// The program starts a sampler of its own: it goes first. We are called for all samples that are still waiting, and the
/// collector may run.
fn give_way() {
    let is_here = || Here::find().is_some_and(Here::is_on);
    if (SAMPLING.load(Ordering::Acquire) || is_here())
        && let Some(tell) = agent::prepared().and_then(|agent| agent.program.sampler.as_ref()?.tell)
    {
        // OCaml 4 forgets them when its sampler is stopped. Our callbacks do not raise.
        tell();
    }
    stop_sampling();
    with_recording(|recording| recording.end(State::ProgramSamples));
}

macro_rules! gate {
    ($name:ident, $target:ident, $give_way:ident) => {
        /// Where a call of the program's to a guarded function arrives.
        ///
        /// # Safety
        /// Reached by the patch only.
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
                "jmp qword ptr [rip + {target}]",
                give_way = sym $give_way,
                target = sym $target,
            )
        }
    };
}

gate!(start_gate, START_TARGET, give_way_to_start);
gate!(stop_gate, STOP_TARGET, give_way_to_stop);

/// What is told of the sampler is whether the program's own runs.
///
/// # Safety
/// Called by OCaml, by the patch.
unsafe extern "C" fn is_sampling() -> usize {
    integer(Here::find().is_some_and(Here::samples_for_program).into())
}

/// The program's arguments are values: a rate, a depth and a tracker. Before a sampler is stopped we are called for all
/// samples that are still waiting, and these calls may lead to a collection, which moves blocks. So the arguments are
/// roots meanwhile.
extern "C" fn give_way_to_start(arguments: &mut [AtomicUsize; 3]) {
    if samplers::is_calling() {
        return doors::open_start();
    }
    let Some(Agent { program, .. }) = agent::prepared() else { return };
    let places = arguments.each_ref().map(AtomicUsize::as_ptr);
    places.iter().for_each(|place| (program.register_root)(*place));
    // It does not raise: then these places would stay roots. The sampler is ours, and so are its callbacks.
    give_way();
    places.iter().for_each(|place| (program.remove_root)(*place));
}

/// Its argument is `()`, which no collection moves.
extern "C" fn give_way_to_stop() {
    if samplers::is_calling() {
        return doors::open_stop();
    }
    give_way();
}
