//! Functions that we stand before, as the program would find them without us: libc's, or those of another library that
//! stands before libc.

use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_os::loaded;

/// A function that we stand before.
pub struct Real(&'static str, AtomicUsize);

impl Real {
    /// The function of this name.
    pub const fn new(name: &'static str) -> Real {
        Real(name, AtomicUsize::new(0))
    }

    /// Looks for it; before the program runs, because later it may be a signal handler that asks.
    pub fn look(&self) {
        self.1.store(loaded::find_behind(self.0).unwrap_or(0), Ordering::Relaxed);
    }

    /// The function, if it is there.
    ///
    /// # Safety
    /// `F` is the type of a function of that name.
    pub unsafe fn function<F: Copy>(&self) -> Option<F> {
        if self.1.load(Ordering::Relaxed) == 0 {
            // Another library's initialiser came before ours.
            self.look();
        }
        let address = self.1.load(Ordering::Relaxed);
        // SAFETY: by the caller.
        (address != 0).then(|| unsafe { loaded::function(address) })
    }
}
