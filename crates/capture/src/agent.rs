//! The agent that this binary carries, and where it is put so that the dynamic linker finds it.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

/// The agent, a shared library. Empty where programs cannot be observed.
pub static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.so"));

/// Puts the agent into a directory of this user's and returns its path; if it is there, nothing is done.
///
/// # Errors
/// If there is no directory that it can be put into and loaded from.
pub fn install() -> io::Result<PathBuf> {
    let mut last = io::Error::other("there is no directory for it: set XDG_CACHE_HOME");
    for directory in candidates() {
        match install_into(&directory) {
            Ok(path) => return Ok(path),
            Err(error) => {
                let what = format!("{}: {error}", directory.display());
                last = io::Error::new(error.kind(), what);
            }
        }
    }
    Err(last)
}

/// Directories to try, the best first.
fn candidates() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = rustix::process::geteuid().as_raw();
    let own = [
        variable("XDG_CACHE_HOME").map(|path| path.join("bactrian")),
        variable("HOME").map(|path| path.join(".cache/bactrian")),
        variable("XDG_RUNTIME_DIR").map(|path| path.join("bactrian")),
        Some(env::temp_dir().join(format!("bactrian-{user}"))),
    ];
    own.into_iter().flatten().collect()
}

/// Puts the agent into `directory`, which is made if need be.
///
/// # Errors
/// If it cannot be put there, or not be loaded from there.
pub fn install_into(directory: &Path) -> io::Result<PathBuf> {
    // The dynamic linker takes these for separators and for names of its own.
    if directory.as_os_str().as_bytes().iter().any(|byte| b": $".contains(byte)) {
        return Err(io::Error::other(
            "LD_PRELOAD cannot name a path with a space, ':' or '$' in it",
        ));
    }
    DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    let flags = rustix::fs::statvfs(directory)?.f_flag;
    if flags.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("it is on a file system from which no code may be loaded"));
    }
    let path =
        directory.join(format!("agent-{}-{:016x}.so", env!("CARGO_PKG_VERSION"), hash(AGENT)));
    if is_there(&path) {
        return Ok(path);
    }
    let mut file = tempfile::Builder::new().prefix(".agent").tempfile_in(directory)?;
    file.write_all(AGENT)?;
    file.as_file().set_permissions(Permissions::from_mode(0o755))?;
    file.persist(&path)?;
    Ok(path)
}

/// Whether the agent is there, from somebody whom we trust with what is loaded into our programs.
fn is_there(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let user = rustix::process::geteuid().as_raw();
    let trusted = [user, 0].contains(&metadata.uid()) && metadata.mode() & 0o022 == 0;
    metadata.is_file() && trusted && fs::read(path).is_ok_and(|bytes| bytes == AGENT)
}

/// FNV-1a: enough to tell builds apart.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
