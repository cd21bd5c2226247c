//! What the keeper tells of this process's seccomp filters, in words of the ring buffer.
//!
//! We cannot look ourselves, since that takes system calls. The keeper looks every few milliseconds, and at once if it is asked
//! ([`ask`]), which takes none: so it is asked before each system call that we make for ourselves while the program runs.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::word;
use bactrian_agent_os::confined;

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

/// Has the keeper look whether this process has got a filter, and waits for what it says. Gives whether it did say something: then
/// it lives, and all that was published is in the file.
///
/// Nothing is waited for where there is no keeper, and a dead one is waited for once.
pub fn ask() -> bool {
    listen();
    let (Some(asked), Some(answered)) = (at(word::ASKED), at(word::ANSWERED)) else { return false };
    if board::is_dead() {
        return false;
    }
    let number = asked.fetch_add(1, Ordering::AcqRel) + 1;
    board::call();
    let mut pulse = Pulse::new();
    while answered.load(Ordering::Acquire) < number {
        if board::has_left() || !pulse.is_felt() {
            return false;
        }
        core::hint::spin_loop();
    }
    listen();
    true
}
