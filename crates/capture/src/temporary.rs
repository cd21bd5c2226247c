//! Where temporary files go, and how those of killed processes are cleaned up.
//!
//! What we share with programs is in directories that are removed when we end. If we are killed they stay,
//! and the next process that creates one removes them: a directory is locked as long as its owner lives, and
//! the kernel releases the lock however the owner ends. Other machines may see the directory, too, but not
//! the lock, so the kernel's boot id is in its name.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bactrian_private::PrivateFolder;
use rustix::fs::{Access, FlockOperation, flock};
use tempfile::TempDir;

/// A directory whose files are in memory.
pub const IN_MEMORY: &str = "/dev/shm";
/// The prefix of locked directories, which no others have. It is followed by the boot id of the kernel.
const PREFIX: &str = "bactrian-run-";
static KERNEL: LazyLock<Option<String>> = LazyLock::new(|| {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    id.split('-').next().map(str::to_owned)
});
/// Another process may remove a directory before its owner has locked it. That happens at most once per
/// process.
const TRIALS: usize = 100;

/// A directory that only this user can access, until this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _locked: File,
}

impl TemporaryFolder {
    /// Creates one among temporary files; `what` describes its purpose and is part of its name.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new(what: &str) -> io::Result<TemporaryFolder> {
        TemporaryFolder::within(&tempfile::env::temp_dir(), what)
    }

    /// The same, in memory if possible.
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
        Err(io::Error::other(
            "cannot create a temporary folder: each was removed before it could be locked",
        ))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether a file is in a directory that was created for this purpose.
    pub fn has(what: &str, file: &Path) -> bool {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let rest = folder.strip_prefix(PREFIX).and_then(|rest| Some(rest.split_once('-')?.1));
        rest.and_then(|rest| rest.strip_prefix(what)).is_some_and(|rest| rest.starts_with('-'))
    }

    /// The path of a file in it, which need not exist.
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
    /// The user and group that a process runs as; None if unknown.
    pub fn of_process(pid: u32) -> Option<Owner> {
        let process = fs::metadata(format!("/proc/{pid}")).ok()?;
        Some(Owner { user: process.uid(), group: process.gid() })
    }

    /// Gives a file or directory to them, unless it already belongs to that user.
    ///
    /// # Errors
    /// If we are not permitted to.
    pub fn gets(self, path: &Path) -> io::Result<()> {
        match self.user == rustix::process::geteuid().as_raw() {
            true => Ok(()),
            false => lchown(path, Some(self.user), Some(self.group)),
        }
    }
}

/// Locks a directory that was just created; None if it has been removed, or is about to be. Where directories
/// cannot be locked, nobody removes it.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    let is_ours = !matches!(
        flock(&file, FlockOperation::NonBlockingLockExclusive),
        Err(rustix::io::Errno::WOULDBLOCK)
    );
    (is_ours && folder.exists()).then_some(file)
}

/// Removes the directories of this user that are not locked. If the boot id is unknown, nothing is removed.
fn sweep(place: &Path) {
    let Some(kernel) = &*KERNEL else { return };
    PrivateFolder::each_within(place, &format!("{PREFIX}{kernel}-"), |found| {
        let lock = FlockOperation::NonBlockingLockExclusive;
        if flock(found.folder.descriptor(), lock).is_ok() {
            found.remove(|_| true);
        }
    });
}

/// Alternatives if `TMPDIR` is unusable, the best first.
const OTHERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Chooses another directory for temporary files if the one in `TMPDIR` is unusable. Only for this process:
/// programs that it starts inherit the variable unchanged.
pub fn settle() {
    let named = std::env::temp_dir();
    if is_usable(&named) {
        return;
    }
    if let Some(other) = OTHERS.iter().map(Path::new).find(|other| is_usable(other)) {
        // It has not been used before, so it can still be set.
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
    fn only_directories_of_killed_owners_are_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let make = || TemporaryFolder::within(place.path(), "test").expect("room");
        let [alive, killed] = [make(), make()];
        fs::write(killed.file("board"), "").expect("room");
        let other = place.path().join("bactrian-0");
        fs::create_dir(&other).expect("room");
        // The owner is killed: its lock is released, the directory stays.
        let TemporaryFolder { folder, _locked: locked } = killed;
        let left = folder.keep();
        drop(locked);
        // By its name it belongs to another machine.
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
    fn directories_created_concurrently_survive_the_sweep() {
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
