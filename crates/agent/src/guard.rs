//! If the program starts a sampler of its own, it goes first.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us. So `caml_memprof_start` is patched while our sampler runs:
//! then ours is stopped, the patch is lifted, and the program's call goes on. Where code cannot be changed
//! we do not sample at all.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::agent;
use crate::patch::Patch;

static PATCH: Patch = Patch::new();
/// Where the program's call goes on.
static TARGET: AtomicUsize = AtomicUsize::new(0);

/// Puts the guard up; false if code cannot be changed here.
///
/// # Safety
/// `function` is `caml_memprof_start`, and no thread is in it. Called once.
pub unsafe fn put_up(function: usize) -> bool {
    TARGET.store(function, Ordering::Relaxed);
    // SAFETY: by the caller.
    unsafe { PATCH.put_up(function, gate as *const () as usize) }
}

/// Takes the guard down.
pub fn lift() {
    PATCH.lift();
}

/// Where a call of the program's to the guarded function arrives.
///
/// # Safety
/// Reached by the patch only.
#[unsafe(naked)]
unsafe extern "C" fn gate() {
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
        target = sym TARGET,
    )
}

extern "C" fn give_way() {
    agent::give_way();
}
