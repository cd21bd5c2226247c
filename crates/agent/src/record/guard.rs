//! If the program uses the sampler itself, it goes first.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us, and one that calls `Gc.Memprof.stop` would not get one that it
//! does. So both functions are patched while our sampler runs: then ours is stopped, the patches are lifted, and
//! the program's call goes on. Where code cannot be changed we do not sample at all.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_os::patch::Patch;
use bactrian_trace::State;

use super::session::with_recording;
use crate::runtime::agent::{self, Agent};

/// The runtime's sampler is ours.
static SAMPLING: AtomicBool = AtomicBool::new(false);

static START: Patch = Patch::new();
static STOP: Patch = Patch::new();
/// Where the program's calls go on.
static START_TARGET: AtomicUsize = AtomicUsize::new(0);
static STOP_TARGET: AtomicUsize = AtomicUsize::new(0);

/// Puts the guards up; false if code cannot be changed here.
///
/// # Safety
/// The functions are `caml_memprof_start` and `caml_memprof_stop`, and there is one thread. Called once.
pub unsafe fn put_up(start: usize, stop: usize) -> bool {
    START_TARGET.store(start, Ordering::Relaxed);
    STOP_TARGET.store(stop, Ordering::Relaxed);
    // SAFETY: by the caller.
    unsafe {
        START.put_up(start, start_gate as *const () as usize)
            && STOP.put_up(stop, stop_gate as *const () as usize)
    }
}

/// The runtime's sampler is about to be started for us.
pub fn sampling_begins() {
    SAMPLING.store(true, Ordering::Release);
}

/// Stops the runtime's sampler, if it is ours. From a callback, or with the runtime at rest.
pub fn stop_sampling() {
    if let Some(agent) = agent::prepared()
        && SAMPLING.swap(false, Ordering::AcqRel)
    {
        START.lift();
        STOP.lift();
        (agent.program.memprof_stop)(bactrian_ocaml::value::UNIT);
    }
}

/// The program starts a sampler of its own: it goes first. We are called for all samples that are still waiting, and the
/// collector may run.
fn give_way() {
    if SAMPLING.load(Ordering::Acquire)
        && let Some(tell) = agent::prepared().and_then(|agent| agent.program.memprof_tell)
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
        unsafe extern "C" fn $name() {
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

/// The program's arguments are values: a rate, a depth and a tracker. Before a sampler is stopped we are called for all
/// samples that are still waiting, and these calls may lead to a collection, which moves blocks. So the arguments are
/// roots meanwhile.
extern "C" fn give_way_to_start(arguments: &mut [AtomicUsize; 3]) {
    let Some(Agent { program, .. }) = agent::prepared() else { return };
    let places = arguments.each_ref().map(AtomicUsize::as_ptr);
    places.iter().for_each(|place| (program.register_root)(*place));
    // It does not raise: then these places would stay roots. The sampler is ours, and so are its callbacks.
    give_way();
    places.iter().for_each(|place| (program.remove_root)(*place));
}

/// Its argument is `()`, which no collection moves.
extern "C" fn give_way_to_stop() {
    give_way();
}
