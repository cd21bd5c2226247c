//! The agent that this binary carries, and where it is put so that the dynamic linker finds it.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::StatVfsMountFlags;

use crate::cache::{self, Fingerprint};

/// The agent, a shared library. Empty where programs cannot be observed.
pub static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.so"));

/// Puts the agent into a directory of this user's and returns its path; if it is there, nothing is done.
///
/// # Errors
/// If there is no directory that it can be put into and loaded from.
pub fn install() -> io::Result<PathBuf> {
    let mut last = io::Error::other("there is no directory for it: set XDG_CACHE_HOME");
    for directory in cache::directories() {
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
    let print = Fingerprint::new().with(AGENT).number();
    let path = directory.join(format!("agent-{}-{print:016x}.so", env!("CARGO_PKG_VERSION")));
    if is_there(&path) {
        return Ok(path);
    }
    // Where files may not grow so long, we want the error and not the signal.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection, ObjectSymbol};

    /// What the agent takes from a program's libc: every libc has had these for twenty years. No version is
    /// asked of any, so a libc older or newer than the one on the machine of the build will do.
    const IMPORTS: [&str; 8] = [
        "__errno_location",
        "bcmp",
        "clock_gettime",
        "dl_iterate_phdr",
        "memcpy",
        "memmove",
        "memset",
        "strlen",
    ];
    /// The functions of libc that it stands before, a name to be known by, and what the library for program authors
    /// calls.
    const EXPORTS: [&str; 9] = [
        "__sigsetjmp",
        "_exit",
        "bactrian_agent",
        "bactrian_take_snapshot",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "readlink",
    ];

    #[test]
    fn the_agent_asks_little_of_a_libc_and_nothing_new() {
        let agent = object::File::parse(AGENT).expect("the agent is an ELF file");
        let (imports, exports): (Vec<_>, Vec<_>) =
            agent.dynamic_symbols().partition(ObjectSymbol::is_undefined);
        let names = |symbols: &[object::Symbol<'_, '_>]| {
            let mut names: Vec<_> =
                symbols.iter().map(|s| s.name().expect("a name").to_owned()).collect();
            names.retain(|name| !name.is_empty());
            names.sort();
            names
        };
        assert_eq!(names(&imports), IMPORTS);
        assert_eq!(names(&exports), EXPORTS);
        let versions = agent.section_by_name(".gnu.version_r");
        assert!(versions.is_none(), "it asks for versions of symbols");
        let dynamic = agent.section_by_name(".dynamic").expect("it is loaded dynamically");
        const NEEDED: u64 = 1;
        let data = dynamic.data().expect("it is in the file");
        let keys = data
            .chunks_exact(16)
            .map(|entry| u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")));
        assert!(keys.take_while(|key| *key != 0).all(|key| key != NEEDED), "it needs a library");
    }

    #[test]
    fn it_is_put_down_once_and_mended_if_it_is_not_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = install_into(folder.path()).expect("a path that LD_PRELOAD can name");
        assert_eq!(fs::read(&path).expect("it is there"), AGENT);
        let before = fs::metadata(&path).expect("it is there").ino();
        assert_eq!(install_into(folder.path()).expect("again"), path);
        assert_eq!(fs::metadata(&path).expect("it is there").ino(), before);
        fs::write(&path, b"something else").expect("it is ours");
        assert_eq!(install_into(folder.path()).expect("again"), path);
        assert_eq!(fs::read(&path).expect("it is there"), AGENT);
        let spaced = folder.path().join("a b");
        assert!(install_into(&spaced).is_err_and(|e| e.to_string().contains("LD_PRELOAD")));
    }
}
