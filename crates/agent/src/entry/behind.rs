//! The functions that we interpose, as the program would find them without us: those of libc, or of another
//! library that interposes before libc.

use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_os::loaded;

/// A function that we interpose.
pub struct Real(&'static str, AtomicUsize);

impl Real {
    /// The function with this name, not looked up yet.
    pub const fn new(name: &'static str) -> Real {
        Real(name, AtomicUsize::new(0))
    }

    /// Looks it up. Done before the program runs, because later a signal handler may be the caller.
    pub fn look(&self) {
        self.1.store(loaded::find_behind(self.0).unwrap_or(0), Ordering::Relaxed);
    }

    /// The function, if it exists.
    ///
    /// # Safety
    /// `F` is the type of the function of that name.
    pub unsafe fn function<F: Copy>(&self) -> Option<F> {
        if self.1.load(Ordering::Relaxed) == 0 {
            // The initialiser of another library ran before ours.
            self.look();
        }
        let address = self.1.load(Ordering::Relaxed);
        // SAFETY: by the caller.
        (address != 0).then(|| unsafe { loaded::function(address) })
    }
}
