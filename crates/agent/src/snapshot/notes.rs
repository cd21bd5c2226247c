//! What copies and the program tell each other, on a shared page.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use bactrian_agent_os::process;

const NOTES: usize = 256;

static SHARED: AtomicPtr<[Notes; NOTES]> = AtomicPtr::new(core::ptr::null_mut());

/// What one copy and the program tell each other. All fields are 0 until they are set.
pub struct Notes {
    /// How long the program was paused, in microseconds.
    pub pause: AtomicU32,
    /// 1 once the copy has recorded itself in the ledger.
    pub begun: AtomicU32,
    /// The copy's process id.
    pub copy: AtomicU32,
}

/// Shares a new page with the copies of this process. If there is no memory for one, they tell each other
/// nothing.
pub fn share() {
    let page = process::map_shared_page().unwrap_or(core::ptr::null_mut());
    SHARED.store(page.cast(), Ordering::Relaxed);
}

/// The notes of a copy. There are never so many copies at a time that two share an entry.
pub fn of(number: u64) -> Option<&'static Notes> {
    // SAFETY: the page has this many entries and stays mapped.
    let page = unsafe { SHARED.load(Ordering::Relaxed).as_ref() }?;
    Some(&page[(number % NOTES as u64) as usize])
}
