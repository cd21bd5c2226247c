//! What the keeper reports about this process's seccomp filters, in words of the ring buffer.
//!
//! We cannot look ourselves, since that takes system calls. The keeper looks every few milliseconds, and at
//! once when it is asked ([`ask`]), which takes none. So we ask before each system call that we make for
//! ourselves while the program runs.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::word;
use bactrian_agent_os::confined;
use bactrian_agent_os::sys::{self, Clock};

use super::board::{self, Pulse};

/// The words of the ring; null if there are none.
static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// From now on the keeper reports filters in these words, until they are forgotten.
pub(super) fn listen_to(words: *mut AtomicU64) {
    WORDS.store(words, Ordering::Release);
}

/// Stops listening to the words of this process's parent.
pub fn forget_parent() {
    WORDS.store(ptr::null_mut(), Ordering::Release);
}

/// Stops listening to these words. Others may have replaced them already.
pub(super) fn forget(words: *mut AtomicU64) {
    let _ = WORDS.compare_exchange(words, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
}

fn at(which: usize) -> Option<&'static AtomicU64> {
    let words = WORDS.load(Ordering::Acquire);
    // SAFETY: null, or words on the first page of a ring, which stays mapped.
    unsafe { words.add(which).as_ref().filter(|_| !words.is_null()) }
}

/// Checks whether the keeper has noticed that this process has a new filter. If so, it is confined.
pub fn listen() {
    if at(word::FILTERED).is_some_and(|filtered| filtered.load(Ordering::Relaxed) != 0) {
        confined::confine();
    }
}

/// The longest that a program waits for an answer, whatever the keeper does, in microseconds.
const LONGEST: u64 = 5_000_000;

/// The outcome of a question to the keeper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The keeper has looked, and everything published before is in the file.
    Given,
    /// The keeper lives, but had no time to look.
    Late,
    /// There is no keeper, or it is dead.
    Nobody,
}

/// Has the keeper check for new filters, and waits for its answer. Returns whether it answered.
pub fn ask() -> bool {
    ask_within(u64::MAX) == Answer::Given
}

/// The same, but waits at most this many microseconds.
///
/// There is no wait where there is no keeper, and a dead one is waited for only once.
pub fn ask_within(patience: u64) -> Answer {
    ask_and_measure(patience).0
}

/// A step of waiting that takes longer, in nanoseconds, was interrupted: other threads had the processor.
const LONGEST_STEP: u64 = 20_000;

/// The same; returns how much processor time the wait has taken, too, in nanoseconds.
pub fn ask_and_measure(patience: u64) -> (Answer, u64) {
    listen();
    let words = (at(word::ASKED), at(word::ANSWERED), at(word::LEFT));
    let (Some(asked), Some(answered), Some(left)) = words else { return (Answer::Nobody, 0) };
    if board::is_dead() {
        return (Answer::Nobody, 0);
    }
    let number = asked.fetch_add(1, Ordering::AcqRel) + 1;
    board::call();
    let (mut pulse, start) = (Pulse::new(), sys::nanos(Clock::Monotonic));
    let (mut last, mut spun) = (start, 0);
    while answered.load(Ordering::Acquire) < number {
        let now = sys::nanos(Clock::Monotonic);
        if now - last < LONGEST_STEP {
            spun += now - last;
        }
        last = now;
        let waited = (now - start) / 1000;
        let has_left = board::has_left() || left.load(Ordering::Acquire) != 0;
        if has_left || !pulse.is_felt() || waited > LONGEST {
            return (Answer::Nobody, spun);
        }
        if waited > patience {
            return (Answer::Late, spun);
        }
        core::hint::spin_loop();
    }
    listen();
    (Answer::Given, spun)
}
