//! The hook that the runtime calls when it leaves OCaml for a system call that may take long.
//!
//! Recording and snapshots have work to do then, without a thread or timer of ours: buffered events are
//! written, and a snapshot that is due is taken. Both are in higher layers; `entry` registers their functions
//! once.

use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_abi::control::Hook;
use bactrian_agent_os::loaded;
use bactrian_agent_os::lock::SetOnce;

use super::program::Program;

/// What to do before and after the previous hook.
pub struct Work {
    pub before: fn(),
    pub after: fn(),
}

/// Our hook, for a tracer that removes it from outside.
pub const HOOK: Hook = Hook { ours: enter_blocking_section, previous: &PREVIOUS };

static WORK: SetOnce<Work> = SetOnce::new();
/// The previous value of the hook.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// Called at most once, while there is one thread.
pub unsafe fn set_work(work: Work) {
    // SAFETY: by the caller.
    unsafe { WORK.set(work) };
}

/// Makes sure that our hook is installed: OCaml's thread library replaces it when it starts.
#[inline]
pub fn stay(program: &Program) {
    let Some(address) = program.blocking_hook else { return };
    // SAFETY: the runtime's variable, a function pointer.
    let hook = unsafe { &*(address as *const AtomicUsize) };
    let current = hook.load(Ordering::Acquire);
    let ours = enter_blocking_section as *const () as usize;
    if current != ours && current != 0 {
        PREVIOUS.store(current, Ordering::Release);
        hook.store(ours, Ordering::Release);
    }
}

extern "C" fn enter_blocking_section() {
    let work = WORK.get();
    if let Some(work) = work {
        (work.before)();
    }
    let previous = PREVIOUS.load(Ordering::Acquire);
    // SAFETY: the previous hook, with the type of ours.
    let previous: extern "C" fn() = unsafe { loaded::function(previous) };
    previous();
    if let Some(work) = work {
        (work.after)();
    }
}
