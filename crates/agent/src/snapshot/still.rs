//! OCaml 5: stopping all domains while one of them takes a snapshot.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_os::process::Gate;

use crate::runtime::collector::Many;

/// Closed while a snapshot is being taken.
static TAKEN: Gate = Gate::new();
/// The state of the domain that takes it.
static LEADER: AtomicUsize = AtomicUsize::new(0);

/// An upper bound for the number of domains; OCaml 5 allows 128 unless told otherwise.
const MOST_DOMAINS: usize = 4096;

/// The states of all domains, the leader's first.
struct States(UnsafeCell<[*const usize; MOST_DOMAINS]>);

// SAFETY: used by the leader only; there is one at a time.
unsafe impl Sync for States {}

static STATES: States = States(UnsafeCell::new([core::ptr::null(); MOST_DOMAINS]));

type Work<'a> = &'a mut dyn FnMut(&[*const usize]);

/// Calls `f` with the states of all domains, this one's first, while they are stopped.
///
/// # Safety
/// This thread runs a domain and is at a safe point.
pub unsafe fn with_all_still(many: &Many, mut f: impl FnMut(&[*const usize])) {
    let mut work: Work<'_> = &mut f;
    // Another domain may be about to stop all; then we stop with the others, and try again.
    while (many.try_run)(still, (&raw mut work).cast(), lead) == 0 {}
}

extern "C" fn lead(state: *const usize) {
    LEADER.store(state as usize, Ordering::Relaxed);
    TAKEN.close();
}

extern "C" fn still(
    state: *const usize,
    work: *mut c_void,
    count: c_int,
    states: *const *const usize,
) {
    if state as usize != LEADER.load(Ordering::Relaxed) {
        // No domain can become leader again before all have left this function.
        return TAKEN.pass();
    }
    let count = usize::try_from(count).unwrap_or(0).min(MOST_DOMAINS);
    // SAFETY: the runtime's list of all domains; no other thread uses our array now; the work is on the
    // leader's own stack, and the leader waits for us.
    unsafe {
        let all = core::slice::from_raw_parts(states, count);
        let ordered = &mut *STATES.0.get();
        let mine = all.iter().filter(|other| **other == state);
        let others = all.iter().filter(|other| **other != state);
        for (place, state) in ordered.iter_mut().zip(mine.chain(others)) {
            *place = *state;
        }
        (*work.cast::<Work<'_>>())(&ordered[..count]);
    }
    TAKEN.open();
}
