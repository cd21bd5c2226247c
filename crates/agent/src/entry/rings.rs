//! The folder in which OCaml 5 writes its rings of runtime_events, if it is ours: whoever watches the program has had it made.
//!
//! OCaml 5 ends a forked child that cannot make a ring of its own beside its parent's. So the folder goes to the user that the
//! program becomes. Who watches the program is still the former user, and may look.

use alloc::ffi::CString;
use alloc::format;

use bactrian_agent_os::confined;
use bactrian_agent_os::sys;

use crate::keeper::filters;
use crate::runtime::agent;

/// Whether we may make system calls for it.
fn is_free() -> bool {
    filters::ask();
    !confined::is_confined()
}

/// Gives the folder to the user that the program is about to become. Gives whose it was, if it was given.
pub fn give(user: u32) -> Option<u32> {
    /// Stands for no change.
    const SAME: u32 = u32::MAX;
    let rings = agent::prepared()?.rings.as_deref().filter(|_| user != SAME && is_free())?;
    let before = sys::effective_user();
    sys::give(rings, user);
    Some(before)
}

/// Removes the ring of this process, which ends.
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
