//! The directory into which a program that we start writes its runtime_events rings.
//!
//! It must exist as long as any process may write there: OCaml aborts a program that cannot create its ring,
//! and a forked child creates a new one. So the directory is removed once it is empty, and only files of
//! processes that have ended are removed from it. What is left, because a program continued when nobody
//! watched it any more, is removed by later runs.
//!
//! It is in memory where possible: otherwise the kernel would write the rings to the disk again and again.
//! There must be room for complete rings, although most of a ring is never written: a program that writes to
//! a page of a mapping for which there is no memory is killed.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bactrian_private::{FileFacts, FolderWithin, PrivateFolder};
use rustix::process::Resource;

use crate::temporary::IN_MEMORY;

/// Bytes that must be free: for the rings of a program, 68 MB with the maximal number of domains, and those
/// of some children.
const ROOM: u64 = 256 << 20;

const PREFIX: &str = "bactrian-events-";
/// A directory that has not been touched for this long is not about to be used.
const OLD: Duration = Duration::from_secs(3600);

/// A directory for rings.
#[derive(Debug)]
pub struct RingFolder {
    place: File,
    name: OsString,
    path: PathBuf,
    /// Kept open from the start, because the agent may give it to the user that the program becomes.
    folder: PrivateFolder,
}

impl RingFolder {
    /// Creates a directory that only this user can access.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new() -> io::Result<RingFolder> {
        // The program inherits the limit of file sizes, and OCaml extends each ring file to its maximal
        // length: the kernel would kill the program.
        let longest = rustix::process::getrlimit(Resource::Fsize).current;
        if longest.is_some_and(|bytes| bytes < ROOM) {
            return Err(io::Error::other("the file size limit is smaller than its rings"));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700));
        let places = [PathBuf::from(IN_MEMORY), tempfile::env::temp_dir()];
        places.iter().for_each(|place| sweep(place));
        let mut folders = places.iter().filter(|place| has_room(place));
        let folder = folders.find_map(|place| builder.tempdir_in(place).ok());
        let folder = folder.ok_or_else(|| io::Error::other("there is no space for its rings"))?;
        let (Some(place), Some(name)) = (folder.path().parent(), folder.path().file_name()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let (place, name) = (File::open(place)?, name.to_owned());
        let open = PrivateFolder::within(&place, &name)?;
        Ok(RingFolder { place, name, path: folder.keep(), folder: open })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn has_room(place: &Path) -> bool {
    let free = rustix::fs::statvfs(place).map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
    free.is_ok_and(|free| free >= ROOM)
}

/// Removes the directories of programs that continued without us and have ended since. Everybody may write in
/// this place: what belongs to other users is left alone, and links are not followed.
fn sweep(place: &Path) {
    PrivateFolder::each_within(place, PREFIX, |found| {
        if found.is_older_than(OLD) {
            found.remove(is_of_ended_process);
        }
    });
}

/// Whether a ring belongs to a process that has ended.
fn is_of_ended_process(ring: &FileFacts) -> bool {
    let stem = Path::new(&ring.name).file_stem();
    let pid = stem.and_then(|stem| stem.to_str()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

impl Drop for RingFolder {
    fn drop(&mut self) {
        let RingFolder { place, name, folder, .. } = self;
        FolderWithin { place: place.as_fd(), name, folder }.remove(is_of_ended_process);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_directories_of_ended_processes_are_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = |name: &str, pid: Option<u32>, age: u64| {
            let path = place.path().join(name);
            fs::create_dir(&path).expect("room");
            let _ = pid.map(|pid| fs::write(path.join(format!("{pid}.events")), ""));
            let time = SystemTime::now() - Duration::from_secs(age);
            File::open(&path).and_then(|folder| folder.set_modified(time)).expect("it is ours");
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

    /// Everybody may put such directories and links there.
    #[test]
    fn sweep_removes_nothing_of_others_and_nothing_behind_links() {
        let place = tempfile::tempdir().expect("a folder");
        let ring = format!("{}.events", u32::MAX / 2);
        let make = |path: &Path| {
            fs::create_dir(path).expect("room");
            fs::write(path.join(&ring), "").expect("room");
        };
        let age = |path: &Path| {
            let time = SystemTime::now() - Duration::from_secs(10_000);
            File::open(path).and_then(|folder| folder.set_modified(time)).expect("it is ours");
        };
        let elsewhere = place.path().join("elsewhere");
        make(&elsewhere);
        age(&elsewhere);
        let link = place.path().join("bactrian-events-link");
        symlink(&elsewhere, &link).expect("room");
        // The link needs an old timestamp of its own.
        let mut touch = std::process::Command::new("touch");
        touch.args(["-h", "-d", "2 days ago"]).arg(&link);
        assert!(touch.status().is_ok_and(|status| status.success()));
        let of_others = place.path().join("bactrian-events-theirs");
        make(&of_others);
        age(&of_others);
        let writable = place.path().join("bactrian-events-writable");
        make(&writable);
        age(&writable);
        fs::set_permissions(&writable, Permissions::from_mode(0o770)).expect("it is ours");
        // Only root can give directories away; everybody else cannot make this one another user's.
        let is_root = chown(&of_others, Some(12345), None).is_ok();
        sweep(place.path());
        assert!(elsewhere.join(&ring).exists(), "a link was followed");
        assert!(writable.join(&ring).exists(), "others may write to it");
        assert!(!is_root || of_others.join(&ring).exists(), "it is another user's");
    }
}
