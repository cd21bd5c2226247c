//! The agent embedded in this binary, and where it is stored so that the dynamic linker finds it.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bactrian_private::PrivateFolder;
use rustix::fs::StatVfsMountFlags;

use crate::cache::{self, Fingerprint};

/// The agent, a shared library. Empty on platforms where programs cannot be observed.
pub static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.so"));

/// Stores the agent in a directory that only this user can change, unless it is there already, and returns
/// its path.
///
/// # Errors
/// If there is no directory in which it can be stored and loaded from.
pub fn install() -> io::Result<PathBuf> {
    cache::in_first(None, put)
}

/// Stores the agent in `directory`, which is created if necessary. Whoever can write there can replace it:
/// the user who names the directory must consider that.
///
/// # Errors
/// If it cannot be stored there, or not loaded from there.
pub fn install_into(directory: &Path) -> io::Result<PathBuf> {
    can_be_named(directory)?;
    put(&PrivateFolder::named_by_user(directory)?)
}

/// The dynamic linker treats some characters as separators or variables.
fn can_be_named(directory: &Path) -> io::Result<()> {
    match directory.as_os_str().as_bytes().iter().any(|byte| b": $".contains(byte)) {
        true => {
            Err(io::Error::other("LD_PRELOAD cannot name a path with a space, ':' or '$' in it"))
        }
        false => Ok(()),
    }
}

fn put(folder: &PrivateFolder) -> io::Result<PathBuf> {
    can_be_named(folder.path())?;
    let flags = rustix::fs::fstatvfs(folder.descriptor())?.f_flag;
    if flags.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("it is on a file system that is mounted noexec"));
    }
    let print = Fingerprint::new().with(AGENT).number();
    let name = format!("agent-{}-{print:016x}.so", env!("CARGO_PKG_VERSION"));
    if !is_there(folder, &name) {
        let mut file = folder.new_file(0o755)?;
        file.write_all(AGENT)?;
        file.persist(&name)?;
    }
    Ok(folder.path().join(name))
}

/// Whether the agent is there unchanged, and owned by somebody whom we trust with what is loaded into our
/// programs.
fn is_there(folder: &PrivateFolder, name: &str) -> bool {
    let mut bytes = Vec::new();
    let read =
        folder.find(name).map(|file| file.take(AGENT.len() as u64 + 1).read_to_end(&mut bytes));
    read.is_ok_and(|read| read.is_ok()) && bytes == AGENT
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use object::{Object, ObjectSection, ObjectSymbol};

    use super::*;

    /// What the agent imports from a program's libc: every libc has had these for twenty years. None is
    /// imported with a symbol version, so the libc may be older or newer than the one on the build machine.
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
    /// The functions of libc that it interposes, the symbol by which it is recognised, what the library for
    /// program authors calls, and what its injector looks up.
    const EXPORTS: [&str; 30] = [
        "__sigsetjmp",
        "_exit",
        "bactrian_agent",
        "bactrian_bcmp",
        "bactrian_control",
        "bactrian_dl_iterate_phdr",
        "bactrian_memcpy",
        "bactrian_memmove",
        "bactrian_memset",
        "bactrian_strlen",
        "bactrian_take_snapshot",
        "bactrian_told",
        "chroot",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "initgroups",
        "prctl",
        "readlink",
        "setegid",
        "seteuid",
        "setgid",
        "setgroups",
        "setregid",
        "setresgid",
        "setresuid",
        "setreuid",
        "setuid",
        "syscall",
    ];

    #[test]
    fn the_agent_imports_few_unversioned_libc_symbols() {
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
    fn the_agent_is_stored_once_and_replaced_if_it_was_changed() {
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
