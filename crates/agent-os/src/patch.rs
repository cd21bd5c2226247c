//! Replacing the first bytes of a function of the program by a jump to one of ours.
//!
//! Where a system does not allow code to be changed, a patch cannot be put up, and we do without it. Patches are
//! put up while the program has one thread. When one is lifted, other threads may come by: they are held at the
//! door, by a jump to itself, while the bytes behind it change.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use crate::sys;

/// `jmp [rip + 0]`, and the address it jumps to.
const JUMP: [u8; 6] = [0xFF, 0x25, 0, 0, 0, 0];
const LENGTH: usize = JUMP.len() + 8;

/// A patch of one function.
pub struct Patch {
    saved: UnsafeCell<[u8; LENGTH]>,
    /// The function that is patched; 0 when none is.
    function: AtomicUsize,
}

// SAFETY: `saved` is written before `function` is set, and read by the thread that sets it back.
unsafe impl Sync for Patch {}

impl Patch {
    /// Not put up.
    pub const fn new() -> Patch {
        Patch { saved: UnsafeCell::new([0; LENGTH]), function: AtomicUsize::new(0) }
    }

    /// Calls of `function` come to `ours` from now on; false if code cannot be changed here.
    ///
    /// # Safety
    /// `function` is one of the program's, of at least 14 bytes; no thread is in it; `ours` is of its
    /// type. Called once.
    pub unsafe fn put_up(&self, function: usize, ours: usize) -> bool {
        let mut bytes = [0; LENGTH];
        bytes[..JUMP.len()].copy_from_slice(&JUMP);
        bytes[JUMP.len()..].copy_from_slice(&ours.to_le_bytes());
        // SAFETY: by the caller.
        unsafe {
            *self.saved.get() = *(function as *const [u8; LENGTH]);
            if !change(function, &bytes) {
                return false;
            }
        }
        self.function.store(function, Ordering::Release);
        true
    }

    /// Puts the function's own bytes back.
    pub fn lift(&self) {
        let function = self.function.swap(0, Ordering::AcqRel);
        if function != 0 {
            // SAFETY: these are its own bytes. It was allowed before; if it is refused now, calls go on
            // coming to us.
            unsafe { change_beside_others(function, &*self.saved.get()) };
        }
    }
}

/// Replaces code while no other thread can come by.
///
/// # Safety
/// The bytes make sense there.
unsafe fn change(address: usize, bytes: &[u8; LENGTH]) -> bool {
    // SAFETY: by the caller.
    unsafe { with_writable_code(address, || *(address as *mut [u8; LENGTH]) = *bytes) }
}

/// Replaces code that other threads may come to.
///
/// # Safety
/// The bytes make sense there.
unsafe fn change_beside_others(address: usize, bytes: &[u8; LENGTH]) -> bool {
    /// A jump to itself.
    const WAIT: u16 = u16::from_le_bytes([0xEB, 0xFE]);
    let [first, second, rest @ ..] = *bytes;
    // SAFETY: functions are aligned, so the first two bytes change at once; nobody is behind them when the
    // others change.
    unsafe {
        with_writable_code(address, || {
            let door = &*(address as *const AtomicU16);
            door.store(WAIT, Ordering::SeqCst);
            sys::let_all_threads_catch_up();
            *((address + 2) as *mut [u8; LENGTH - 2]) = rest;
            sys::let_all_threads_catch_up();
            door.store(u16::from_le_bytes([first, second]), Ordering::SeqCst);
        })
    }
}

/// # Safety
/// The pages are of the program's code, and `change` leaves sense in them.
unsafe fn with_writable_code(address: usize, change: impl FnOnce()) -> bool {
    const PAGE: usize = 4096;
    let first = address & !(PAGE - 1);
    let length = (address + LENGTH).next_multiple_of(PAGE) - first;
    // SAFETY: by the caller; other threads may execute the pages all the time.
    unsafe {
        if sys::protect_code(first, length, true).is_err() {
            return false;
        }
        change();
        // If this is refused the code stays writable, and works.
        let _ = sys::protect_code(first, length, false);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    use core::arch::naked_asm;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    /// A function that is long enough to be patched: gives 1.
    #[unsafe(naked)]
    extern "C" fn theirs() -> usize {
        naked_asm!(
            ".balign 16",
            "mov eax, 1",
            "nop",
            "nop",
            "nop",
            "nop",
            "nop",
            "nop",
            "nop",
            "nop",
            "ret"
        )
    }

    extern "C" fn ours() -> usize {
        2
    }

    #[test]
    fn a_patched_function_is_ours_until_the_patch_is_lifted_beside_callers() {
        static PATCH: Patch = Patch::new();
        assert_eq!(theirs(), 1);
        // SAFETY: no thread is in the function, and it is long enough.
        assert!(unsafe { PATCH.put_up(theirs as *const () as usize, ours as *const () as usize) });
        assert_eq!(theirs(), 2);
        let lifted = AtomicBool::new(false);
        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                while !lifted.load(Ordering::Acquire) {
                    assert!((1..=2).contains(&theirs()));
                }
                assert_eq!(theirs(), 1);
            });
            PATCH.lift();
            lifted.store(true, Ordering::Release);
            caller.join().expect("the caller goes on");
        });
        PATCH.lift();
        assert_eq!(theirs(), 1);
    }
}
