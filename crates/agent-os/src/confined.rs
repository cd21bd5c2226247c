//! Programs that set a seccomp filter: from then on a system call that the program itself does not make may kill it.
//!
//! So we make none any more but those for memory, which every program that allocates may make: the trace goes on through
//! its ring buffer, and ends where there is none; no snapshots are taken.
//!
//! How we hear of a filter:
//! - Most are set through libc's `prctl` or `syscall`, which we stand before.
//! - Of others, set by an instruction of the program's own, the keeper tells us: it looks at the program from outside, every few
//!   milliseconds and whenever we ask. We cannot look ourselves, since that takes system calls.
//! - A filter that was there before the program is its starter's. It let the dynamic linker open and map files, which is
//!   what it takes to record. To copy a process takes more: whoever started us has tried that out, for as many filters
//!   as it had ([`crate::proc::filters`]). If there are more, no copies are made.

use core::sync::atomic::{AtomicBool, Ordering};

static CONFINED: AtomicBool = AtomicBool::new(false);

const PR_SET_SECCOMP: i32 = 22;
const SECCOMP: isize = 317;

/// Whether we make no system calls any more.
#[inline]
pub fn is_confined() -> bool {
    CONFINED.load(Ordering::Relaxed)
}

/// There is a filter that may kill the program for a system call of ours.
pub fn confine() {
    CONFINED.store(true, Ordering::Relaxed);
}

/// The program has called `prctl`.
pub fn after_prctl(option: i32, result: i32) {
    if option == PR_SET_SECCOMP && result >= 0 {
        confine();
    }
}

/// The program has called `syscall`.
pub fn after_syscall(number: isize, result: isize) {
    if number == SECCOMP && result >= 0 {
        confine();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_filter_that_was_set_confines() {
        after_prctl(PR_SET_SECCOMP, -1);
        after_prctl(PR_SET_SECCOMP + 1, 0);
        after_syscall(SECCOMP, -1);
        after_syscall(SECCOMP + 1, 0);
        assert!(!is_confined());
        after_syscall(SECCOMP, 0);
        assert!(is_confined());
    }
}
