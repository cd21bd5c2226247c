//! Defers signals that would end us while the traced program has our changes in it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use crate::inherited::is_default;

/// The signals by which users and systems end programs.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

#[derive(Debug)]
struct Registered {
    /// Set while there are no changes: signals have their default effect.
    is_idle: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    /// How many [`DeferredSignals`] exist.
    count: Mutex<usize>,
}

/// While this exists, signals that would end us only store their number.
#[derive(Debug)]
pub struct DeferredSignals {
    registered: &'static Registered,
}

impl DeferredSignals {
    pub fn begin() -> DeferredSignals {
        static REGISTERED: OnceLock<Registered> = OnceLock::new();
        let registered = REGISTERED.get_or_init(|| {
            let registered = Registered {
                is_idle: Arc::new(AtomicBool::new(true)),
                asked: Arc::default(),
                count: Mutex::new(0),
            };
            for signal in ENDING {
                // If there already is a handler, it stays in charge: `view` and `live` outlive the snapshots
                // that they take, and pass signals on. If this cannot be registered, the signal ends us as
                // usual.
                if is_default(signal) {
                    let _ = flag::register_conditional_default(signal, registered.is_idle.clone());
                }
                let number = usize::try_from(signal).unwrap_or(1);
                let _ = flag::register_usize(signal, registered.asked.clone(), number);
            }
            registered
        });
        let mut count = registered.count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count == 0 {
            registered.asked.store(0, Ordering::SeqCst);
            registered.is_idle.store(false, Ordering::SeqCst);
        }
        *count += 1;
        DeferredSignals { registered }
    }

    /// Holds the number of a signal that has arrived; 0 for none.
    pub fn asked(&self) -> Arc<AtomicUsize> {
        self.registered.asked.clone()
    }
}

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        let mut count = self.registered.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.registered.is_idle.store(true, Ordering::SeqCst);
        }
    }
}
