//! What the keeper tells of this process's seccomp filters, in words of the ring buffer.
//!
//! We cannot look ourselves, since that takes system calls. The keeper looks every few milliseconds, and at once if it is asked
//! ([`ask`]), which takes none: so it is asked before each system call that we make for ourselves while the program runs.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::word;
use bactrian_agent_os::confined;
use bactrian_agent_os::sys::{self, Clock};

use super::board::{self, Pulse};

/// The words; null if there are none.
static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// From now on the keeper tells of filters in these words, until they are forgotten.
pub(super) fn listen_to(words: *mut AtomicU64) {
    WORDS.store(words, Ordering::Release);
}

/// The words go. Others may be listened to already.
pub(super) fn forget(words: *mut AtomicU64) {
    let _ = WORDS.compare_exchange(words, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
}

fn at(which: usize) -> Option<&'static AtomicU64> {
    let words = WORDS.load(Ordering::Acquire);
    // SAFETY: null, or words on the first page of a ring, which stays mapped.
    unsafe { words.add(which).as_ref().filter(|_| !words.is_null()) }
}

/// Hears whether this process has got a filter, as far as the keeper has noticed: if so, it is confined.
pub fn listen() {
    if at(word::FILTERED).is_some_and(|filtered| filtered.load(Ordering::Relaxed) != 0) {
        confined::confine();
    }
}

/// So long, in microseconds, a program waits at most, whatever the keeper does.
const LONGEST: u64 = 5_000_000;

/// What comes of a question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The keeper has looked; and all that was published before is in the file.
    Given,
    /// It lives, but had no time to look.
    Late,
    /// There is none, or it is dead.
    Nobody,
}

/// Has the keeper look whether this process has got a filter, and waits for what it says. Gives whether it did say something.
pub fn ask() -> bool {
    ask_within(u64::MAX) == Answer::Given
}

/// The same, but waits no longer than so many microseconds.
///
/// Nothing is waited for where there is no keeper, and a dead one is waited for once.
pub fn ask_within(patience: u64) -> Answer {
    listen();
    let words = (at(word::ASKED), at(word::ANSWERED), at(word::LEFT));
    let (Some(asked), Some(answered), Some(left)) = words else { return Answer::Nobody };
    if board::is_dead() {
        return Answer::Nobody;
    }
    let number = asked.fetch_add(1, Ordering::AcqRel) + 1;
    board::call();
    let (mut pulse, start) = (Pulse::new(), sys::micros(Clock::Monotonic));
    while answered.load(Ordering::Acquire) < number {
        let waited = sys::micros(Clock::Monotonic) - start;
        let has_left = board::has_left() || left.load(Ordering::Acquire) != 0;
        if has_left || !pulse.is_felt() || waited > LONGEST {
            return Answer::Nobody;
        }
        if waited > patience {
            return Answer::Late;
        }
        core::hint::spin_loop();
    }
    listen();
    Answer::Given
}
