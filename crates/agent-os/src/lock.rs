//! A lock that needs nothing but the kernel, and a cell that is set once.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sys;

/// The lock is free. Otherwise the low bits of its state are the id of the thread that holds it.
const OPEN: u32 = 0;
/// Some thread waits for the lock.
const AWAITED: u32 = 1 << 31;

/// A value that one thread at a time may use.
pub struct Lock<T> {
    /// One word says both that the lock is held and by whom: a signal handler may interrupt between any two
    /// instructions and ask.
    state: AtomicU32,
    inside: UnsafeCell<T>,
}

// SAFETY: `inside` is used only by the thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

/// An id for this thread, never 0: the bits of its thread pointer that differ between threads.
#[inline]
pub fn me() -> u32 {
    ((sys::thread_pointer() >> 4) as u32 & !AWAITED).max(1)
}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(inside: T) -> Lock<T> {
        Lock { state: AtomicU32::new(OPEN), inside: UnsafeCell::new(inside) }
    }

    /// Takes the lock. [`Lock::release`] must follow. This thread must not hold it already.
    #[inline]
    pub fn take(&self) {
        let me = me();
        if self.state.compare_exchange(OPEN, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait(me);
        }
    }

    #[cold]
    fn wait(&self, me: u32) {
        loop {
            let now = self.state.load(Ordering::Relaxed);
            // A thread that has waited does not know whether others still wait.
            let wanted = if now == OPEN { me | AWAITED } else { now | AWAITED };
            let changed =
                self.state.compare_exchange(now, wanted, Ordering::Acquire, Ordering::Relaxed);
            match changed {
                Ok(OPEN) => return,
                Ok(_) => sys::futex_wait(&self.state, wanted),
                Err(_) => {}
            }
        }
    }

    /// Whether this thread holds the lock. If so, the caller is a signal handler that has interrupted the
    /// holder, or the holder has jumped out of its work.
    #[inline]
    pub fn is_mine(&self) -> bool {
        self.state.load(Ordering::Relaxed) & !AWAITED == me()
    }

    /// The state word, which is 0 while the lock is free, for observers outside the process.
    pub const fn state(&'static self) -> &'static AtomicU32 {
        &self.state
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The caller holds the lock: it took it, or is the forked child of the thread that did.
    #[inline]
    pub unsafe fn release(&self) {
        if self.state.swap(OPEN, Ordering::Release) & AWAITED != 0 {
            sys::futex_wake(&self.state);
        }
    }

    /// The value that the lock protects.
    ///
    /// # Safety
    /// The caller holds the lock, and no other reference to the value is in use.
    #[expect(clippy::mut_from_ref, reason = "the lock stands for the exclusive reference")]
    pub unsafe fn inside(&self) -> &mut T {
        // SAFETY: by the caller.
        unsafe { &mut *self.inside.get() }
    }
}

/// A cell that is set once, before another thread may read it.
pub struct SetOnce<T> {
    filled: AtomicBool,
    inside: UnsafeCell<Option<T>>,
}

// SAFETY: nothing changes after `filled` is set.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// An empty cell.
    pub const fn new() -> SetOnce<T> {
        SetOnce { filled: AtomicBool::new(false), inside: UnsafeCell::new(None) }
    }

    /// Sets the value.
    ///
    /// # Safety
    /// Called at most once, by one thread.
    pub unsafe fn set(&self, value: T) {
        // SAFETY: `get` does not look before `filled` is set.
        unsafe { *self.inside.get() = Some(value) };
        self.filled.store(true, Ordering::Release);
    }

    /// The value, or None if it has not been set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: set, and never changed again.
        unsafe { (*self.inside.get()).as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::thread;

    #[test]
    fn one_thread_at_a_time_is_inside() {
        static LOCK: Lock<u64> = Lock::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        LOCK.take();
                        // SAFETY: taken above.
                        unsafe {
                            *LOCK.inside() += 1;
                            LOCK.release();
                        }
                    }
                });
            }
        });
        LOCK.take();
        // SAFETY: taken above.
        unsafe {
            assert_eq!(*LOCK.inside(), 40_000);
            LOCK.release();
        }
    }

    #[test]
    fn only_the_thread_that_took_a_lock_holds_it() {
        static LOCK: Lock<()> = Lock::new(());
        assert!(!LOCK.is_mine());
        LOCK.take();
        assert!(LOCK.is_mine());
        thread::scope(|scope| {
            scope.spawn(|| assert!(!LOCK.is_mine()));
        });
        // SAFETY: taken above.
        unsafe { LOCK.release() };
        assert!(!LOCK.is_mine());
    }

    #[test]
    fn a_lock_with_waiters_still_knows_its_holder() {
        static LOCK: Lock<()> = Lock::new(());
        LOCK.take();
        thread::scope(|scope| {
            scope.spawn(|| {
                LOCK.take();
                // SAFETY: taken above.
                unsafe { LOCK.release() };
            });
            while LOCK.state.load(Ordering::Relaxed) & AWAITED == 0 {
                thread::yield_now();
            }
            assert!(LOCK.is_mine());
            // SAFETY: taken above.
            unsafe { LOCK.release() };
        });
    }

    #[test]
    fn a_cell_is_empty_until_it_is_filled() {
        let cell = SetOnce::new();
        assert_eq!(cell.get(), None);
        // SAFETY: once, by this thread.
        unsafe { cell.set(7) };
        assert_eq!(cell.get(), Some(&7));
    }
}
