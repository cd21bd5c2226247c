//! If the program uses the sampler itself, it goes first.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us, and one that calls `Gc.Memprof.stop` would not get one that it
//! does. So both functions are patched while our sampler runs: then ours is stopped, the patches are lifted, and
//! the program's call goes on. Where code cannot be changed we do not sample at all.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::agent;
use crate::patch::Patch;

static START: Patch = Patch::new();
static STOP: Patch = Patch::new();
/// Where the program's calls go on.
static START_TARGET: AtomicUsize = AtomicUsize::new(0);
static STOP_TARGET: AtomicUsize = AtomicUsize::new(0);

/// Puts the guards up; false if code cannot be changed here.
///
/// # Safety
/// The functions are `caml_memprof_start` and `caml_memprof_stop`, and there is one thread. Called once.
pub unsafe fn put_up(start: usize, stop: usize) -> bool {
    START_TARGET.store(start, Ordering::Relaxed);
    STOP_TARGET.store(stop, Ordering::Relaxed);
    // SAFETY: by the caller.
    unsafe {
        START.put_up(start, start_gate as *const () as usize)
            && STOP.put_up(stop, stop_gate as *const () as usize)
    }
}

/// Takes the guards down.
pub fn lift() {
    START.lift();
    STOP.lift();
}

macro_rules! gate {
    ($name:ident, $target:ident) => {
        /// Where a call of the program's to a guarded function arrives.
        ///
        /// # Safety
        /// Reached by the patch only.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "call {give_way}",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp qword ptr [rip + {target}]",
                give_way = sym give_way,
                target = sym $target,
            )
        }
    };
}

gate!(start_gate, START_TARGET);
gate!(stop_gate, STOP_TARGET);

extern "C" fn give_way() {
    agent::give_way();
}
