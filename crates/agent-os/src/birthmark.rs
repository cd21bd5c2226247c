//! A mark that children do not inherit. By it a process knows, without a system call, that it is not a copy
//! of the marked one, however the copy was made.
//!
//! The mark is a word of memory that the kernel wipes in children (MADV_WIPEONFORK). A child that shares our
//! memory (vfork) has the mark as well, and only its id tells it apart.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::process;
use crate::sys::{self, Pid};

/// The page that is wiped; null if the kernel cannot do that.
static PAGE: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
/// The id of the marked process.
static MARKED: AtomicU32 = AtomicU32::new(0);

const BYTES: usize = 4096;

/// Marks this process. Must be called while there is only one thread.
pub fn set() {
    if PAGE.load(Ordering::Acquire).is_null()
        && let Ok(page) = sys::map(BYTES)
    {
        // SAFETY: the page is ours alone.
        match unsafe { process::wipe_in_children(page, BYTES) } {
            Ok(()) => PAGE.store(page.cast(), Ordering::Release),
            // SAFETY: as above.
            Err(_) => unsafe { sys::unmap(page, BYTES) },
        }
    }
    let Pid(us) = sys::process_id();
    MARKED.store(us, Ordering::Relaxed);
    // SAFETY: null, or a page of ours that stays mapped.
    if let Some(mark) = unsafe { PAGE.load(Ordering::Acquire).as_ref() } {
        mark.store(us, Ordering::Release);
    }
}

/// Whether this very process was marked, rather than one that it is a copy of.
pub fn is_here() -> bool {
    // SAFETY: null, or a page of ours that stays mapped.
    match unsafe { PAGE.load(Ordering::Acquire).as_ref() } {
        Some(mark) => mark.load(Ordering::Acquire) != 0,
        None => is_by_id(),
    }
}

/// Whether this process is a copy of the marked one, as far as that shows without a system call.
#[inline]
pub fn is_in_copy() -> bool {
    // SAFETY: null, or a page of ours that stays mapped.
    let mark = unsafe { PAGE.load(Ordering::Relaxed).as_ref() };
    mark.is_some_and(|mark| mark.load(Ordering::Relaxed) == 0)
}

/// The same as [`is_here`], also for a child that shares our memory. This takes a system call.
pub fn is_by_id() -> bool {
    MARKED.load(Ordering::Relaxed) == sys::process_id().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;

    #[test]
    fn a_child_has_no_mark_until_it_is_marked() {
        set();
        assert!(is_here());
        // SAFETY: the child touches its own memory only, and ends.
        let child = unsafe { process::clone_quietly() }.expect("tests may make processes");
        let Some(child) = child else {
            if is_here() || is_by_id() || !is_in_copy() {
                std::process::abort();
            }
            set();
            if !is_here() || !is_by_id() || is_in_copy() {
                std::process::abort();
            }
            sys::exit_group(0);
        };
        let end = loop {
            match process::end_of_copy(child) {
                Some(end) => break end,
                None => sys::yield_now(),
            }
        };
        assert!(matches!(end, End::ByItself));
        assert!(is_here() && is_by_id() && !is_in_copy());
    }
}
