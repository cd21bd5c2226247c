//! The directory in which OCaml 5 writes its runtime_events rings, if it is ours: the observer of the program
//! has asked for it.
//!
//! OCaml 5 aborts a forked child that cannot create its own ring next to its parent's. So the directory is
//! given to the user that the program becomes. The observer still runs as the former user, and may read it.

use core::ffi::CStr;
use core::fmt::{self, Write};

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
        let mut path = Path { bytes: [0; LONGEST], length: 0 };
        let is_whole = path.put(rings.to_bytes()).is_ok()
            && write!(path, "/{}.events\0", sys::process_id().0).is_ok();
        if let Some(path) = CStr::from_bytes_until_nul(&path.bytes).ok().filter(|_| is_whole) {
            sys::remove(path);
        }
    }
}

/// The kernel does not open longer paths.
const LONGEST: usize = 4096;

/// A path that is put together without allocating: while the program ends, a lack of memory would end it with
/// a crash.
struct Path {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Path {
    fn put(&mut self, bytes: &[u8]) -> fmt::Result {
        let end = self.length + bytes.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes())
    }
}
