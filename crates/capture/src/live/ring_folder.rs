//! The folder into which a program that we start writes its rings of runtime_events.
//!
//! It must not go as long as anybody may write there: OCaml ends a program that cannot make its ring, and a program
//! that forks makes a new one. So it goes when it is empty, and only files of processes that have ended are removed
//! from it.
//!
//! It is in memory where possible: otherwise the kernel would write the rings to the disk again and again. There must be
//! room for whole rings, of which most is never written: a program that writes to a page for which there is none is
//! killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder whose files are in memory.
pub const IN_MEMORY: &str = "/dev/shm";

/// Bytes that must be free: the rings of a program, of 68 MB if it has all domains that it may have, and those of
/// some children.
const ROOM: u64 = 256 << 20;

/// A folder for rings.
#[derive(Debug)]
pub struct RingFolder(PathBuf);

impl RingFolder {
    /// Makes one that nobody else may look into.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new() -> io::Result<RingFolder> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("bactrian-events-");
        let places = [PathBuf::from(IN_MEMORY), std::env::temp_dir()];
        let mut folders = places.iter().filter(|place| has_room(place));
        let folder = folders.find_map(|place| builder.tempdir_in(place).ok());
        let folder = folder.ok_or_else(|| io::Error::other("there is no room for its rings"))?;
        Ok(RingFolder(folder.keep()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn has_room(place: &Path) -> bool {
    let free = rustix::fs::statvfs(place).map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
    free.is_ok_and(|free| free >= ROOM)
}

impl Drop for RingFolder {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let file = entry.path();
            let pid = file.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
            let has_ended = |pid| !Path::new("/proc").join(u32::to_string(&pid)).exists();
            if pid.is_some_and(has_ended) {
                // Somebody else may have been faster.
                let _ = fs::remove_file(file);
            }
        }
        // Not if there is anything left in it.
        let _ = fs::remove_dir(&self.0);
    }
}
