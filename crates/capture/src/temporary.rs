//! Where temporary files go, and what becomes of those of somebody who was killed.
//!
//! What we share with programs lies in folders that go when we do. If we are killed they stay, and whoever makes one later
//! removes them: as long as its owner lives a folder is locked. The kernel unlocks it, whatever became of the owner. Other machines may
//! see the folder, too, and not the lock, so that the kernel is in its name.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bactrian_private::PrivateFolder;
use rustix::fs::{Access, FlockOperation, flock};
use tempfile::TempDir;

/// A folder whose files are in memory.
pub const IN_MEMORY: &str = "/dev/shm";
/// Folders that are locked have names that begin so, and no others. The kernel, or rather its start, comes next.
const PREFIX: &str = "bactrian-run-";
static KERNEL: LazyLock<Option<String>> = LazyLock::new(|| {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    id.split('-').next().map(str::to_owned)
});
/// Somebody may remove a folder before its owner has locked it. That happens at most once to each of them.
const TRIALS: usize = 100;

/// A folder that nobody else may look into, until this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _locked: File,
}

impl TemporaryFolder {
    /// Makes one among temporary files; `what` it is for is in its name.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new(what: &str) -> io::Result<TemporaryFolder> {
        TemporaryFolder::within(&tempfile::env::temp_dir(), what)
    }

    /// The same, with files that are in memory where that is possible.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn in_memory(what: &str) -> io::Result<TemporaryFolder> {
        TemporaryFolder::within(Path::new(IN_MEMORY), what).or_else(|_| TemporaryFolder::new(what))
    }

    fn within(place: &Path, what: &str) -> io::Result<TemporaryFolder> {
        sweep(place);
        let mut builder = tempfile::Builder::new();
        let kernel = KERNEL.as_deref().unwrap_or_default();
        let prefix = format!("{PREFIX}{kernel}-{what}-");
        builder.prefix(&prefix).permissions(Permissions::from_mode(0o700));
        for _ in 0..TRIALS {
            let folder = builder.tempdir_in(place)?;
            if let Some(locked) = lock(folder.path()) {
                return Ok(TemporaryFolder { folder, _locked: locked });
            }
        }
        Err(io::Error::other("folders for temporary files are removed as soon as they are made"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether a file lies in a folder that was made for this.
    pub fn has(what: &str, file: &Path) -> bool {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let rest = folder.strip_prefix(PREFIX).and_then(|rest| Some(rest.split_once('-')?.1));
        rest.and_then(|rest| rest.strip_prefix(what)).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Where a file of this name is, or can be made.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// Whom a process runs as; none if that is not known.
    pub fn of_process(pid: u32) -> Option<Owner> {
        let process = fs::metadata(format!("/proc/{pid}")).ok()?;
        Some(Owner { user: process.uid(), group: process.gid() })
    }

    /// Gives a file or folder away, unless it is to be ours.
    ///
    /// # Errors
    /// If we may not.
    pub fn gets(self, path: &Path) -> io::Result<()> {
        match self.user == rustix::process::geteuid().as_raw() {
            true => Ok(()),
            false => lchown(path, Some(self.user), Some(self.group)),
        }
    }
}

/// Locks a folder that was just made; none if it is gone, or about to go. Where folders cannot be locked, nobody removes it.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    let is_ours = !matches!(
        flock(&file, FlockOperation::NonBlockingLockExclusive),
        Err(rustix::io::Errno::WOULDBLOCK)
    );
    (is_ours && folder.exists()).then_some(file)
}

/// Removes the folders of this user's that nobody has locked. Where it is not known which kernel this is, they stay.
fn sweep(place: &Path) {
    let Some(kernel) = &*KERNEL else { return };
    PrivateFolder::each_within(place, &format!("{PREFIX}{kernel}-"), |found| {
        let lock = FlockOperation::NonBlockingLockExclusive;
        if flock(found.folder.descriptor(), lock).is_ok() {
            found.remove(|_| true);
        }
    });
}

/// Where they may go if `TMPDIR` is of no use, the best first.
const OTHERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Takes another folder for temporary files if the one that `TMPDIR` names cannot be used. Only for this process: programs
/// that it starts have the variable as it is.
pub fn settle() {
    let named = std::env::temp_dir();
    if is_usable(&named) {
        return;
    }
    if let Some(other) = OTHERS.iter().map(Path::new).find(|other| is_usable(other)) {
        // Nobody has asked for it before, so it can still be set.
        let _ = tempfile::env::override_temp_dir(other);
    }
}

fn is_usable(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_killed_are_removed_and_no_others() {
        let place = tempfile::tempdir().expect("a folder");
        let make = || TemporaryFolder::within(place.path(), "test").expect("room");
        let [alive, killed] = [make(), make()];
        fs::write(killed.file("board"), "").expect("room");
        let other = place.path().join("bactrian-0");
        fs::create_dir(&other).expect("room");
        // The owner ends without a word: its lock goes, the folder stays.
        let TemporaryFolder { folder, _locked: locked } = killed;
        let left = folder.keep();
        drop(locked);
        // Another machine's, as far as its name tells.
        let elsewhere = place.path().join("bactrian-run-0-test-x");
        fs::create_dir(&elsewhere).expect("room");
        let next = make();
        assert!(elsewhere.exists());
        assert!(!left.exists() && alive.path().exists() && other.exists() && next.path().exists());
        assert!(TemporaryFolder::has("test", &alive.file("board")));
        assert!(!TemporaryFolder::has("tes", &alive.file("board")));
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    #[test]
    fn folders_that_are_made_at_once_stay() {
        let place = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let folder = TemporaryFolder::within(place.path(), "test").expect("room");
                        fs::write(folder.file("board"), "").expect("it is there");
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 0);
    }
}
