//! A lock that needs nothing but the kernel, and a cell that is set once.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::sys;

/// The lock is free. Otherwise its state is the thread that holds it ([`me`]).
const OPEN: u64 = 0;
/// Some thread waits for the lock. Thread pointers are aligned, so this bit of them is 0.
const AWAITED: u64 = 1;

/// A value that one thread at a time may use.
pub struct Lock<T> {
    /// One word says both that the lock is held and by whom: a signal handler may interrupt between any two
    /// instructions and ask.
    state: AtomicU64,
    /// The number of forks that the holder is in the middle of: a signal handler may fork during a fork.
    forks: AtomicU32,
    /// Whether the lock was taken for the outermost of them.
    is_for_fork: AtomicBool,
    inside: UnsafeCell<T>,
}

// SAFETY: `inside` is used only by the thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

/// A lock that this thread holds until this is dropped.
pub struct LockGuard<'a, T>(&'a Lock<T>);

/// The id of this thread, never 0: its thread pointer. All 64 bits are needed: with thousands of stacks of 8 MB, two
/// thread pointers may have the same lower half.
#[inline]
pub fn me() -> u64 {
    sys::thread_pointer() as u64
}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(inside: T) -> Lock<T> {
        Lock {
            state: AtomicU64::new(OPEN),
            forks: AtomicU32::new(0),
            is_for_fork: AtomicBool::new(false),
            inside: UnsafeCell::new(inside),
        }
    }

    /// Takes the lock, waiting for other threads. None if this thread holds it already: the caller is a signal
    /// handler that has interrupted the holder, or the holder has jumped out of its work.
    #[inline]
    pub fn take(&self) -> Option<LockGuard<'_, T>> {
        self.lock_for(me()).then_some(LockGuard(self))
    }

    /// Takes the lock for a thread; false if it holds the lock already.
    #[inline]
    fn lock_for(&self, me: u64) -> bool {
        match self.state.compare_exchange(OPEN, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => true,
            Err(holder) if holder & !AWAITED == me => false,
            Err(_) => {
                self.wait(me);
                true
            }
        }
    }

    #[cold]
    fn wait(&self, me: u64) {
        loop {
            let now = self.state.load(Ordering::Relaxed);
            // A thread that has waited does not know whether others still wait.
            let wanted = if now == OPEN { me | AWAITED } else { now | AWAITED };
            let changed =
                self.state.compare_exchange(now, wanted, Ordering::Acquire, Ordering::Relaxed);
            match changed {
                Ok(OPEN) => return,
                // The kernel compares only half of the word. It does not matter which thread holds the lock:
                // each that releases it sees the bit.
                Ok(_) => sys::futex_wait(self.lower_half(), wanted as u32),
                Err(_) => {}
            }
        }
    }

    /// The half of the state that has [`AWAITED`], for the kernel to wait on.
    fn lower_half(&self) -> &AtomicU32 {
        // SAFETY: the first half of the word, aligned, and for atomic use.
        unsafe { &*(&raw const self.state).cast::<AtomicU32>() }
    }

    /// Whether this thread holds the lock. If so, the caller is a signal handler that has interrupted the
    /// holder, or the holder has jumped out of its work.
    #[inline]
    pub fn is_mine(&self) -> bool {
        self.state.load(Ordering::Relaxed) & !AWAITED == me()
    }

    /// The state word, which is 0 while the lock is free, for observers outside the process.
    pub const fn state(&'static self) -> &'static AtomicU64 {
        &self.state
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// This thread holds the lock, and will not drop the [`LockGuard`] that it got for it: it has jumped out of its
    /// work.
    #[inline]
    pub unsafe fn release(&self) {
        if self.state.swap(OPEN, Ordering::Release) & AWAITED != 0 {
            sys::futex_wake(self.lower_half());
        }
    }

    /// Before a fork: waits until no other thread is in the middle of something, and holds the lock until
    /// [`Lock::let_go_after_fork`]. If this thread holds it already, a signal handler that has interrupted the
    /// work, or another fork, is forking: the lock stays as it is.
    pub fn hold_for_fork(&self) {
        if self.lock_for(me()) {
            // In this order: a handler that interrupts here, and forks, must not release the lock.
            self.forks.store(1, Ordering::Relaxed);
            self.is_for_fork.store(true, Ordering::Relaxed);
        } else {
            self.forks.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// After a fork, in both processes: releases the lock if it was taken for this fork. Returns false if this
    /// thread still holds it, because the fork was made in the middle of the work that it protects.
    pub fn let_go_after_fork(&self) -> bool {
        if !self.is_mine() {
            return true;
        }
        let forks = self.forks.load(Ordering::Relaxed);
        if forks != 1 || !self.is_for_fork.load(Ordering::Relaxed) {
            self.forks.store(forks.saturating_sub(1), Ordering::Relaxed);
            return false;
        }
        // In this order, for the same reason.
        self.is_for_fork.store(false, Ordering::Relaxed);
        self.forks.store(0, Ordering::Relaxed);
        // SAFETY: taken for this fork by this thread, which is the child's only one.
        unsafe { self.release() };
        true
    }
}

impl<T> LockGuard<'_, T> {
    /// The value that the lock protects.
    #[inline]
    pub fn inside(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock, and this is the only reference.
        unsafe { &mut *self.0.inside.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread took the lock, and releases it once.
        unsafe { self.0.release() };
    }
}

/// A cell that is set at most once. Until then readers get None.
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
                        *LOCK.take().expect("it is free").inside() += 1;
                    }
                });
            }
        });
        assert_eq!(*LOCK.take().expect("it is free").inside(), 40_000);
    }

    #[test]
    fn only_the_thread_that_took_a_lock_holds_it() {
        static LOCK: Lock<()> = Lock::new(());
        assert!(!LOCK.is_mine());
        let held = LOCK.take();
        assert!(LOCK.is_mine() && LOCK.take().is_none());
        thread::scope(|scope| {
            scope.spawn(|| assert!(!LOCK.is_mine()));
        });
        drop(held);
        assert!(!LOCK.is_mine() && LOCK.take().is_some());
    }

    #[test]
    fn a_lock_with_waiters_still_knows_its_holder() {
        static LOCK: Lock<()> = Lock::new(());
        let held = LOCK.take();
        thread::scope(|scope| {
            scope.spawn(|| assert!(LOCK.take().is_some()));
            while LOCK.state.load(Ordering::Relaxed) & AWAITED == 0 {
                thread::yield_now();
            }
            assert!(LOCK.is_mine());
            drop(held);
        });
    }

    #[test]
    fn threads_whose_pointers_differ_in_their_upper_bits_only_are_different() {
        let lock = Lock::new(());
        let one = me();
        // The thread before, of so many that their stacks of 8 MB take 32 GB.
        let other = one ^ 1 << 35;
        assert!(lock.lock_for(other));
        assert!(!lock.is_mine());
        assert!(!lock.lock_for(other));
    }

    #[test]
    fn a_fork_releases_a_lock_only_if_it_took_it() {
        static LOCK: Lock<()> = Lock::new(());
        LOCK.hold_for_fork();
        assert!(LOCK.is_mine());
        assert!(LOCK.let_go_after_fork());
        assert!(!LOCK.is_mine());
        // A signal handler interrupts the work, and forks.
        let held = LOCK.take();
        for _ in 0..2 {
            LOCK.hold_for_fork();
            assert!(!LOCK.let_go_after_fork());
            assert!(LOCK.is_mine());
        }
        drop(held);
        // A signal handler interrupts a fork, and forks.
        LOCK.hold_for_fork();
        LOCK.hold_for_fork();
        assert!(!LOCK.let_go_after_fork());
        assert!(LOCK.is_mine());
        assert!(LOCK.let_go_after_fork());
        assert!(!LOCK.is_mine());
        // The handlers of forks were registered in the middle of one.
        assert!(LOCK.let_go_after_fork());
        assert!(!LOCK.is_mine());
    }

    #[test]
    fn a_fork_within_the_work_keeps_the_lock_although_another_thread_is_about_to_fork() {
        static LOCK: Lock<()> = Lock::new(());
        let held = LOCK.take();
        thread::scope(|scope| {
            LOCK.hold_for_fork();
            scope.spawn(|| {
                LOCK.hold_for_fork();
                assert!(LOCK.let_go_after_fork());
            });
            while LOCK.state.load(Ordering::Relaxed) & AWAITED == 0 {
                thread::yield_now();
            }
            assert!(!LOCK.let_go_after_fork());
            assert!(LOCK.is_mine());
            drop(held);
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
