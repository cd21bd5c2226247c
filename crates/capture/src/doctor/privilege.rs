//! Programs that run with more privileges than their user. The dynamic linker does not load libraries from
//! `LD_PRELOAD` into them.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getgid, getuid};
use serde::Serialize;

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
/// Without this bit, the setgid bit means something else.
const GROUP_MAY_RUN: u32 = 0o0010;
/// An upper bound for the size of the capabilities attribute.
const CAPABILITIES: usize = 64;

/// A privilege that an executable file gives to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// It runs as another user.
    Setuid,
    /// It runs with another group.
    Setgid,
    /// It has file capabilities.
    Capabilities,
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Privilege::Setuid => "setuid",
            Privilege::Setgid => "setgid",
            Privilege::Capabilities => "file capabilities",
        })
    }
}

impl Privilege {
    /// What the file at `path` gives to us: privileges that we already have do not count.
    pub(super) fn of(path: &Path, metadata: &Metadata) -> Vec<Privilege> {
        let (user, group) = (getuid(), getgid());
        let mode = metadata.mode();
        let mut found = Vec::new();
        if mode & SETUID != 0 && metadata.uid() != user.as_raw() {
            found.push(Privilege::Setuid);
        }
        let is_setgid = mode & SETGID != 0 && mode & GROUP_MAY_RUN != 0;
        if is_setgid && metadata.gid() != group.as_raw() {
            found.push(Privilege::Setgid);
        }
        let length = rustix::fs::getxattr(path, "security.capability", &mut [0; CAPABILITIES]);
        if !user.is_root() && length.is_ok_and(|length| length > 0) {
            found.push(Privilege::Capabilities);
        }
        found
    }
}
