//! The folders above a private one: a user with write access to one of them can put another folder in its
//! place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::geteuid;

use crate::PrivateError;

/// Mode bits that let other users write.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;
const WRITABLE_BY_GROUP: u32 = 0o020;
/// In a folder with this bit, users can neither rename nor remove files of others.
const STICKY: u32 = 0o1000;

/// The user id that the kernel reports for users outside this user namespace; None if there are no such users.
static UNKNOWN_USER: LazyLock<Option<u32>> = LazyLock::new(|| {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let number = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    let has_all = counts.sum::<u64>() >= u64::from(u32::MAX);
    number.trim().parse().ok().filter(|_| !has_all)
});

/// Whether files of this owner may be trusted: this user's own, and those of root, who could do anything
/// anyway.
pub fn is_trusted(owner: u32) -> bool {
    [geteuid().as_raw(), 0].contains(&owner)
}

/// Rejects a folder, given by a path without symbolic links, if another user could replace anything on the
/// path.
pub fn check(folder: &Path) -> Result<(), PrivateError> {
    for folder in folder.ancestors() {
        let found = fs::symlink_metadata(folder);
        let found = found.map_err(|error| PrivateError::Io(folder.to_owned(), error))?;
        // In a container without a mapping for root, root's folders seem to belong to nobody.
        if !is_trusted(found.uid()) && Some(found.uid()) != *UNKNOWN_USER {
            return Err(PrivateError::OtherOwner(folder.to_owned(), found.uid()));
        }
        let writable = found.mode() & WRITABLE_BY_OTHERS;
        // By convention a group with the same number as the user has no other members; umask is then often 002.
        let is_own_group = writable == WRITABLE_BY_GROUP && found.gid() == geteuid().as_raw();
        if writable != 0 && found.mode() & STICKY == 0 && !is_own_group {
            let mode = found.mode() & 0o7777;
            return Err(PrivateError::WritableByOthers(folder.to_owned(), mode));
        }
    }
    Ok(())
}
