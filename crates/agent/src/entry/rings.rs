//! The directory in which OCaml 5 writes its runtime_events rings, if it is ours: the observer of the program
//! has asked for it.
//!
//! OCaml 5 aborts a forked child that cannot create its own ring next to its parent's. So the directory is
//! given to the user that the program becomes. The observer still runs as the former user, and may read it.

use alloc::ffi::CString;
use alloc::format;

use bactrian_agent_os::confined;
use bactrian_agent_os::sys;

use crate::keeper::filters;
use crate::runtime::agent;

/// Whether we may make system calls for this.
fn is_free() -> bool {
    filters::ask();
    !confined::is_confined()
}

/// Gives the directory to the user that the program is about to become; returns the previous owner if it did.
pub fn give(user: u32) -> Option<u32> {
    /// The argument that means no change.
    const SAME: u32 = u32::MAX;
    let rings = agent::prepared()?.rings.as_deref().filter(|_| user != SAME && is_free())?;
    let before = sys::effective_user();
    sys::give(rings, user);
    Some(before)
}

/// Removes the ring of this process, which is about to exit.
pub fn remove_ours() {
    if let Some(rings) = agent::prepared().and_then(|agent| agent.rings.as_deref())
        && is_free()
    {
        let ring = format!("/{}.events", sys::process_id().0);
        if let Ok(path) = CString::new([rings.to_bytes(), ring.as_bytes()].concat()) {
            sys::remove(&path);
        }
    }
}
