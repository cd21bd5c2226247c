//! The folders above a private one: a user that may write to one of them can put another folder in its place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::geteuid;

use crate::PrivateError;

/// Bits of a mode by which others may write.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;
const WRITABLE_BY_GROUP: u32 = 0o020;
/// Who may write to such a folder can neither rename nor remove what belongs to others.
const STICKY: u32 = 0o1000;

/// What the kernel says of users that this user namespace does not have, and whether there are any.
static UNKNOWN_USER: LazyLock<Option<u32>> = LazyLock::new(|| {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let number = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    let has_all = counts.sum::<u64>() >= u64::from(u32::MAX);
    number.trim().parse().ok().filter(|_| !has_all)
});

/// Whether what belongs to a user may be trusted: this user's own, and root's, which could do anything anyway.
pub fn is_trusted(owner: u32) -> bool {
    [geteuid().as_raw(), 0].contains(&owner)
}

/// Refuses a folder, named without links, if another user could replace anything on the way to it.
pub fn check(folder: &Path) -> Result<(), PrivateError> {
    for folder in folder.ancestors() {
        let found = fs::symlink_metadata(folder);
        let found = found.map_err(|error| PrivateError::Io(folder.to_owned(), error))?;
        // In a container without root's number, root's folders seem to be nobody's.
        if !is_trusted(found.uid()) && Some(found.uid()) != *UNKNOWN_USER {
            return Err(PrivateError::OtherOwner(folder.to_owned(), found.uid()));
        }
        let writable = found.mode() & WRITABLE_BY_OTHERS;
        // By convention the group of a user's own number has no other members: then umask is often 002.
        let is_own_group = writable == WRITABLE_BY_GROUP && found.gid() == geteuid().as_raw();
        if writable != 0 && found.mode() & STICKY == 0 && !is_own_group {
            let mode = found.mode() & 0o7777;
            return Err(PrivateError::WritableByOthers(folder.to_owned(), mode));
        }
    }
    Ok(())
}
