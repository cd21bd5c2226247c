//! Before the program waits for something outside, what was collected is written: it may wait for long, and
//! be killed while it does. No thread or timer of ours is needed for that.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::program::Program;
use crate::recording::Recording;
use crate::{agent, loaded, snapshot};

/// The hook that was there before ours.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

/// Makes sure that our hook is there: OCaml's threads put theirs in its place when they start.
#[inline]
pub fn stay(program: &Program) {
    let Some(address) = program.blocking_hook else { return };
    // SAFETY: the runtime's variable, a pointer to a function.
    let hook = unsafe { &*(address as *const AtomicUsize) };
    let current = hook.load(Ordering::Acquire);
    let ours = before_waiting as *const () as usize;
    if current != ours && current != 0 {
        PREVIOUS.store(current, Ordering::Release);
        hook.store(ours, Ordering::Release);
    }
}

extern "C" fn before_waiting() {
    agent::with_recording(Recording::before_waiting);
    snapshot::before_waiting();
    let previous = PREVIOUS.load(Ordering::Acquire);
    // SAFETY: the hook that was there, with the type of ours.
    let previous: extern "C" fn() = unsafe { loaded::function(previous) };
    previous();
    snapshot::has_left_ocaml();
}
