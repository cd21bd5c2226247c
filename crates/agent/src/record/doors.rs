//! Redirects the program's calls of the runtime's sampler functions, `caml_memprof_start`,
//! `caml_memprof_stop` and (since 5.5) `caml_memprof_is_sampling`, to `guard` while the sampler is ours.
//!
//! In a program that is about to start we install the patches ourselves. In one that is already running,
//! other threads may be inside these functions: there we only close their doors (a jump to itself at the
//! first instruction, see `agent-os/patch.rs`), so that no call of the program gets through, and some
//! milliseconds later the tracer stops all threads and installs the patches.
//!
//! Changing code takes system calls that a seccomp filter may punish. So the keeper is asked before; in a
//! program that has confined itself patches stay as they are, and callers are told so.

use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_os::confined;
use bactrian_agent_os::patch::{self, Patch};

use crate::keeper::filters;
use crate::runtime::program::Sampler;

pub static START: Patch = Patch::new();
pub static STOP: Patch = Patch::new();
pub static IS_SAMPLING: Patch = Patch::new();
/// The functions in which the program's calls continue.
pub static START_TARGET: AtomicUsize = AtomicUsize::new(0);
pub static STOP_TARGET: AtomicUsize = AtomicUsize::new(0);

/// Redirects the program's calls to these functions; returns false if code cannot be changed here.
///
/// # Safety
/// There is one thread. Called once.
pub unsafe fn put_up(sampler: &Sampler, [start, stop, is_sampling]: [usize; 3]) -> bool {
    let targets = note_targets(sampler);
    let asked = sampler.is_sampling;
    // SAFETY: by the caller.
    unsafe {
        START.put_up(targets[0], start)
            && STOP.put_up(targets[1], stop)
            && asked.is_none_or(|function| IS_SAMPLING.put_up(function, is_sampling))
    }
}

/// Makes callers of the sampler's functions spin until the patches are installed from outside or removed,
/// provided that `is_wanted` still. Where code cannot be changed, callers get through.
pub fn close(sampler: &Sampler, is_wanted: impl FnOnce() -> bool) {
    let Some(changing) = patch::begin() else { return };
    let [start, stop] = note_targets(sampler);
    if is_wanted() && !confined::is_confined() {
        // SAFETY: these are functions of this runtime.
        unsafe {
            START.hold(start, &changing);
            STOP.hold(stop, &changing);
            sampler.is_sampling.map(|function| IS_SAMPLING.hold(function, &changing));
        }
    }
}

/// Removes the patch of the start function, for a call of ours; returns whether calls get through.
pub fn open_start() -> bool {
    lift([&START])
}

/// Removes the patch of the stop function, for a call of ours; returns whether calls get through.
pub fn open_stop() -> bool {
    lift([&STOP])
}

/// Removes all patches; returns whether calls get through.
pub fn open() -> bool {
    lift([&START, &STOP, &IS_SAMPLING])
}

/// Removes patches; returns false if code cannot be changed now.
fn lift<const N: usize>(patches: [&Patch; N]) -> bool {
    if !patches.iter().any(|patch| patch.is_there()) {
        return true;
    }
    filters::ask();
    if confined::is_confined() {
        return false;
    }
    let Some(changing) = patch::begin() else { return false };
    patches.map(|patch| patch.lift(&changing)).into_iter().all(|is_lifted| is_lifted)
}

fn note_targets(sampler: &Sampler) -> [usize; 2] {
    let start = sampler.start as *const () as usize;
    let stop = sampler.stop as *const () as usize;
    START_TARGET.store(start, Ordering::Relaxed);
    STOP_TARGET.store(stop, Ordering::Relaxed);
    [start, stop]
}
