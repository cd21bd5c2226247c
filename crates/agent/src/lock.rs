//! A lock that needs nothing but the kernel, and a cell that is filled once.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sys;

const OPEN: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody waits.
const AWAITED: u32 = 2;

/// Something that one thread at a time may use.
pub struct Lock<T> {
    state: AtomicU32,
    inside: UnsafeCell<T>,
}

// SAFETY: `inside` is used only by who holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub const fn new(inside: T) -> Lock<T> {
        Lock { state: AtomicU32::new(OPEN), inside: UnsafeCell::new(inside) }
    }

    /// Takes the lock; [`Lock::release`] must follow.
    #[inline]
    pub fn take(&self) {
        let free = self.state.compare_exchange(OPEN, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if free.is_err() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        while self.state.swap(AWAITED, Ordering::Acquire) != OPEN {
            sys::futex_wait(&self.state, AWAITED);
        }
    }

    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller took it, directly or by a fork of who did.
    #[inline]
    pub unsafe fn release(&self) {
        if self.state.swap(OPEN, Ordering::Release) == AWAITED {
            sys::futex_wake(&self.state);
        }
    }

    /// What the lock protects.
    ///
    /// # Safety
    /// The caller holds the lock, and no other reference to the inside is in use.
    #[expect(clippy::mut_from_ref, reason = "the lock stands for the exclusive reference")]
    pub unsafe fn inside(&self) -> &mut T {
        // SAFETY: by the caller.
        unsafe { &mut *self.inside.get() }
    }
}

/// A cell that is filled once, before anybody looks into it from another thread.
pub struct SetOnce<T> {
    filled: AtomicBool,
    inside: UnsafeCell<Option<T>>,
}

// SAFETY: nothing changes after `filled` is set.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    pub const fn new() -> SetOnce<T> {
        SetOnce { filled: AtomicBool::new(false), inside: UnsafeCell::new(None) }
    }

    /// Fills the cell.
    ///
    /// # Safety
    /// Called at most once, by one thread.
    pub unsafe fn set(&self, value: T) {
        // SAFETY: `get` does not look before `filled` is set.
        unsafe { *self.inside.get() = Some(value) };
        self.filled.store(true, Ordering::Release);
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: filled, and never changed again.
        unsafe { (*self.inside.get()).as_ref() }
    }
}
