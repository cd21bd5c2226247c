//! A program that waits in a system call cannot come to a safe point: it already is at one. That is where a
//! signal finds it.
//!
//! This holds if no thread runs OCaml code or is about to. Threads that do are kept in a table: they are
//! added when they leave a blocking section and removed when they have entered one. While a snapshot is taken
//! from a signal handler, threads that leave a blocking section wait at the gate.
//!
//! Threads that end do not remove themselves: we recognise them by their ids, which no longer exist.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bactrian_agent_os::process::{self, Gate, ThreadId};
use bactrian_agent_os::{confined, loaded};

use crate::keeper::filters;
use crate::runtime::collector::Collector;

/// The ids of threads that may run OCaml code; 0 is a free entry.
static ACTIVE: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];
/// Set if there were too many threads for the table.
static CROWDED: AtomicBool = AtomicBool::new(false);
/// Closed while a snapshot is being taken from a signal handler.
static GATE: Gate = Gate::new();
/// Whether the table is maintained.
static ON: AtomicBool = AtomicBool::new(false);
/// The previous value of the hook.
static PREVIOUS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// From now on the table is maintained. This thread runs OCaml code.
pub fn keep_table() {
    process::learn_thread_ids();
    ON.store(true, Ordering::SeqCst);
    enter();
}

/// Makes sure that our hook is installed and that this thread, which runs OCaml code, is in the table.
pub fn stay(collector: &Collector) {
    if !ON.load(Ordering::Relaxed) {
        return;
    }
    // A thread of OCaml 5 starts without leaving a blocking section.
    enter();
    let ours = after_waiting as *const () as usize;
    let current = collector.leave_blocking.load(Ordering::Acquire);
    if current != ours && current != 0 {
        PREVIOUS.store(current, Ordering::Release);
        collector.leave_blocking.store(ours, Ordering::Release);
    }
}

extern "C" fn after_waiting() {
    enter();
    GATE.pass();
    let previous = PREVIOUS.load(Ordering::Acquire);
    // SAFETY: the previous hook, with the type of ours.
    let previous: extern "C" fn() = unsafe { loaded::function(previous) };
    previous();
}

/// Adds this thread, which may run OCaml code, to the table. The table is not needed any more if the program
/// has confined itself, or has too many threads for it.
fn enter() {
    let Some(thread) = process::thread_id() else { return };
    if CROWDED.load(Ordering::Relaxed) {
        return;
    }
    if ACTIVE.iter().any(|place| place.load(Ordering::Relaxed) == thread.0) {
        return;
    }
    let takes = |place: &AtomicU32, old| {
        place.compare_exchange(old, thread.0, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    };
    if ACTIVE.iter().any(|place| takes(place, 0)) {
        return;
    }
    // Take the entry of a thread that has ended, which the kernel has to be asked for.
    filters::ask();
    if confined::is_confined() {
        return;
    }
    let takes_from_ended = |place: &AtomicU32| {
        let other = place.load(Ordering::Relaxed);
        !process::thread_lives(ThreadId(other)) && takes(place, other)
    };
    if !ACTIVE.iter().any(takes_from_ended) {
        CROWDED.store(true, Ordering::SeqCst);
    }
}

/// Removes this thread, which has entered a blocking section, from the table.
pub fn leave() {
    if ON.load(Ordering::Relaxed)
        && let Some(me) = process::thread_id()
        && let Some(place) = ACTIVE.iter().find(|place| place.load(Ordering::Relaxed) == me.0)
    {
        place.store(0, Ordering::SeqCst);
    }
}

/// Calls `f` if no thread runs OCaml code, and none will before `f` returns; returns whether it was called.
/// Called in a signal handler, after the keeper has been asked for filters.
pub fn if_nobody_runs(f: impl FnOnce()) -> bool {
    if !ON.load(Ordering::Relaxed) || !GATE.close() {
        return false;
    }
    let nobody = !CROWDED.load(Ordering::SeqCst)
        && ACTIVE.iter().all(|place| match place.load(Ordering::SeqCst) {
            0 => true,
            thread if process::thread_lives(ThreadId(thread)) => false,
            thread => {
                let _ = place.compare_exchange(thread, 0, Ordering::SeqCst, Ordering::Relaxed);
                true
            }
        });
    if nobody {
        f();
    }
    GATE.open();
    nobody
}

/// After a fork, in the child, which has only this thread. If it is confined no copies are made any more.
pub fn after_fork() {
    if ON.load(Ordering::Relaxed) && !confined::is_confined() {
        ACTIVE.iter().for_each(|place| place.store(0, Ordering::Relaxed));
        GATE.open();
        enter();
    }
}
