//! If the program starts a sampler of its own, it goes first.
//!
//! The runtime allows one sampler. While ours runs, a program that calls `Gc.Memprof.start` would get an
//! exception that it does not get without us. So the first bytes of `caml_memprof_start` are replaced by a
//! jump to us while our sampler runs: then ours is stopped, the bytes are put back, and the program's call
//! goes on. Where a system does not allow code to be changed, we do not sample at all.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{agent, sys};

/// `jmp [rip + 0]`, and the address it jumps to.
const JUMP: [u8; 6] = [0xFF, 0x25, 0, 0, 0, 0];
const LENGTH: usize = JUMP.len() + 8;

struct Saved(UnsafeCell<[u8; LENGTH]>);

// SAFETY: written once before any other thread, and read by who takes `GUARDED`.
unsafe impl Sync for Saved {}

static SAVED: Saved = Saved(UnsafeCell::new([0; LENGTH]));
/// The function that is guarded; 0 when none is.
static GUARDED: AtomicUsize = AtomicUsize::new(0);
/// Where the program's call goes on.
static TARGET: AtomicUsize = AtomicUsize::new(0);

/// Puts the guard up; false if code cannot be changed here.
///
/// # Safety
/// `function` is the program's function of at least 14 bytes, and no thread is in it.
pub unsafe fn put_up(function: usize) -> bool {
    let mut bytes = [0; LENGTH];
    bytes[..JUMP.len()].copy_from_slice(&JUMP);
    bytes[JUMP.len()..].copy_from_slice(&(gate as *const () as usize).to_le_bytes());
    // SAFETY: by the caller.
    unsafe {
        *SAVED.0.get() = *(function as *const [u8; LENGTH]);
        if !change(function, &bytes) {
            return false;
        }
    }
    TARGET.store(function, Ordering::Relaxed);
    GUARDED.store(function, Ordering::Release);
    true
}

/// Takes the guard down.
pub fn lift() {
    let function = GUARDED.swap(0, Ordering::AcqRel);
    if function != 0 {
        // SAFETY: these are the function's own bytes. If this is refused now, although it was allowed
        // before, the program's call comes to the gate again and again finds no sampler to stop.
        unsafe { change(function, &*SAVED.0.get()) };
    }
}

/// Replaces code.
///
/// # Safety
/// The bytes make sense there, and no thread is in the middle of them.
pub unsafe fn change(address: usize, bytes: &[u8]) -> bool {
    const PAGE: usize = 4096;
    let first = address & !(PAGE - 1);
    let length = (address + bytes.len()).next_multiple_of(PAGE) - first;
    // SAFETY: by the caller; other threads may execute the pages all the time.
    unsafe {
        if sys::protect_code(first, length, true).is_err() {
            return false;
        }
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
        // If this is refused the code stays writable, and works.
        let _ = sys::protect_code(first, length, false);
    }
    true
}

/// Where a call of the program's to the guarded function arrives.
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
