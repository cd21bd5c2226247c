//! The folder into which a program that we start writes its rings of runtime_events.
//!
//! It must not go as long as anybody may write there: OCaml ends a program that cannot make its ring, and a program
//! that forks makes a new one. So it goes when it is empty, and only files of processes that have ended are removed
//! from it. What is left, because a program went on when nobody watched it any more, is removed by who comes later.
//!
//! It is in memory where possible: otherwise the kernel would write the rings to the disk again and again. There must be
//! room for whole rings, of which most is never written: a program that writes to a page for which there is none is
//! killed.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A folder whose files are in memory.
pub const IN_MEMORY: &str = "/dev/shm";

/// Bytes that must be free: the rings of a program, of 68 MB if it has all domains that it may have, and those of
/// some children.
const ROOM: u64 = 256 << 20;

const PREFIX: &str = "bactrian-events-";
/// A folder that was not touched for so long is of nobody who is about to use it.
const OLD: Duration = Duration::from_secs(3600);

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
        builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700));
        let places = [PathBuf::from(IN_MEMORY), std::env::temp_dir()];
        places.iter().for_each(|place| sweep(place));
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

/// Removes what others have left there because their programs went on without them.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = || changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD));
        if is_one && is_old() {
            clear(&entry.path());
        }
    }
}

/// Removes the rings of processes that have ended, and the folder if nothing is left in it.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.path();
        let pid = file.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        let has_ended = |pid| !Path::new("/proc").join(u32::to_string(&pid)).exists();
        if pid.is_some_and(has_ended) {
            // Somebody else may have been faster.
            let _ = fs::remove_file(file);
        }
    }
    // Not if there is anything left in it.
    let _ = fs::remove_dir(folder);
}

impl Drop for RingFolder {
    fn drop(&mut self) {
        clear(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn folders_of_the_dead_are_removed_and_no_others() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = |name: &str, pid: Option<u32>, age: u64| {
            let path = place.path().join(name);
            fs::create_dir(&path).expect("room");
            let _ = pid.map(|pid| fs::write(path.join(format!("{pid}.events")), ""));
            let time = SystemTime::now() - Duration::from_secs(age);
            fs::File::open(&path).and_then(|folder| folder.set_modified(time)).expect("it is ours");
            path
        };
        let dead = folder("bactrian-events-dead", Some(u32::MAX / 2), 10_000);
        let empty = folder("bactrian-events-empty", None, 10_000);
        let alive = folder("bactrian-events-alive", Some(std::process::id()), 10_000);
        let new = folder("bactrian-events-new", None, 10);
        let other = folder("other", None, 10_000);
        sweep(place.path());
        assert!(!dead.exists() && !empty.exists());
        assert!(alive.exists() && new.exists() && other.exists());
    }
}
