//! What the keeper tells of this process's seccomp filters, in a word of the ring buffer.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_os::confined;

/// The word; null if there is none.
static FILTERED: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// From now on the keeper tells of filters there, until the word is forgotten.
pub(super) fn listen_to(word: &AtomicU64) {
    FILTERED.store(ptr::from_ref(word).cast_mut(), Ordering::Release);
}

/// The word goes. Another one may be listened to already.
pub(super) fn forget(word: &AtomicU64) {
    let word = ptr::from_ref(word).cast_mut();
    let _ = FILTERED.compare_exchange(word, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
}

/// Hears whether this process has got a filter, without a system call: if so, it is confined.
pub fn listen() {
    // SAFETY: null, or a word of a ring that is mapped until it is forgotten.
    let filtered = unsafe { FILTERED.load(Ordering::Acquire).as_ref() };
    if filtered.is_some_and(|word| word.load(Ordering::Relaxed) != 0) {
        confined::confine();
    }
}
