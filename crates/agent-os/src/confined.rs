//! Programs that set a seccomp filter: from then on, a system call that the program itself does not make may
//! kill it.
//!
//! So from then on the agent makes no system calls but those for memory, which every program that allocates
//! may make. The trace goes on through its ring buffer, and ends if there is none; no snapshots are taken.
//!
//! How we learn of a filter:
//! - Most filters are set through libc's `prctl` or `syscall`, which we interpose.
//! - The keeper reports the others, set by a system call instruction of the program's own: it looks at the
//!   program from outside, every few milliseconds and whenever we ask. We cannot look ourselves, since that
//!   takes system calls.
//! - A filter that existed before the program is its starter's. It allowed the dynamic linker to open and map
//!   files, which is all that recording takes. Copying the process takes more: whoever started us has tried
//!   it out under the filters that existed then and hands on their number ([`crate::proc::filters`]). If
//!   there are more, no copies are made.

use core::sync::atomic::{AtomicBool, Ordering};

static CONFINED: AtomicBool = AtomicBool::new(false);

const PR_SET_SECCOMP: i32 = 22;
const SECCOMP: isize = 317;
const SECCOMP_SET_MODE_STRICT: usize = 0;
const SECCOMP_SET_MODE_FILTER: usize = 1;

/// The number of prctl(2).
pub const PRCTL: isize = 157;

/// Whether the agent makes no system calls but those for memory.
#[inline]
pub fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// Records that there is a filter that may kill the program for a system call of ours.
pub fn confine() {
    CONFINED.store(true, Ordering::Relaxed);
}

/// Whether a call of `prctl` sets a filter, if it succeeds.
pub fn is_filter_of_prctl(option: i32) -> bool {
    option == PR_SET_SECCOMP
}

/// Whether `syscall(number, first, ..)` sets a filter, if it succeeds. Other operations of seccomp(2) only ask.
pub fn is_filter_of_syscall(number: isize, first: usize) -> bool {
    match number {
        SECCOMP => first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER,
        PRCTL => is_filter_of_prctl(first as i32),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_filters_set_none() {
        const SECCOMP_GET_ACTION_AVAIL: usize = 2;
        assert!(is_filter_of_prctl(PR_SET_SECCOMP) && !is_filter_of_prctl(PR_SET_SECCOMP - 1));
        assert!(is_filter_of_syscall(SECCOMP, SECCOMP_SET_MODE_FILTER));
        assert!(is_filter_of_syscall(SECCOMP, SECCOMP_SET_MODE_STRICT));
        assert!(!is_filter_of_syscall(SECCOMP, SECCOMP_GET_ACTION_AVAIL));
        assert!(is_filter_of_syscall(PRCTL, PR_SET_SECCOMP as usize));
        assert!(!is_filter_of_syscall(PRCTL + 1, PR_SET_SECCOMP as usize));
    }
}
