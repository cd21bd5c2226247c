//! The signal that starts and stops recording.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use bactrian_agent_os::sys;

static ON: AtomicBool = AtomicBool::new(false);

/// Whether recording is on.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

extern "C" fn toggle(_signal: c_int) {
    ON.fetch_xor(true, Ordering::Relaxed);
}

/// From now on the signal starts and stops recording, unless the program installs its own handler.
pub fn install(signal: u8) {
    // If the kernel refuses, recording stays off, and the trace says that nothing was sampled.
    let _ = sys::handle_signal(signal, toggle);
}
