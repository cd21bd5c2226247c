//! Finds the file that a program's name stands for, as `execvp` does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType, access};
use rustix::io::Errno;

/// Where `execvp` of glibc searches if PATH is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why no file can be run under a name.
#[derive(Debug)]
pub enum ProgramError {
    /// There is no file with this name, there or in any directory of PATH.
    NotFound(OsString),
    /// The file exists, but is not executable.
    NotExecutable(PathBuf),
    /// The file cannot be examined.
    Io(PathBuf, io::Error),
}

impl ProgramError {
    /// The file that was found, if any.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ProgramError::NotFound(_) => None,
            ProgramError::NotExecutable(path) | ProgramError::Io(path, _) => Some(path),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::NotFound(name) if name.as_bytes().contains(&b'/') => {
                write!(f, "{}: no such file", name.display())
            }
            ProgramError::NotFound(name) => {
                write!(f, "{}: no program of this name in any folder of PATH", name.display())?;
                match Path::new(name).is_file() {
                    true => write!(f, ". The file here is ./{}", name.display()),
                    false => Ok(()),
                }
            }
            ProgramError::NotExecutable(path) => {
                write!(f, "{}: it is not executable (chmod +x changes that)", path.display())
            }
            ProgramError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ProgramError {}

/// Finds the file that runs if `name` is started: `name` itself if it contains a slash, otherwise the first
/// executable file of that name in PATH.
///
/// # Errors
/// If there is none. A file that is not executable is distinguished from no file at all.
pub fn find_program(name: &OsStr) -> Result<PathBuf, ProgramError> {
    find_in(name, env::var_os("PATH").as_deref())
}

fn find_in(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(ProgramError::NotFound(name.to_owned()));
    }
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match may_run(&file) {
            Ok(true) => Ok(file),
            Ok(false) => Err(ProgramError::NotExecutable(file)),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(ProgramError::NotFound(name.to_owned())),
            Err(errno) => Err(ProgramError::Io(file, errno.into())),
        };
    }
    let mut refused = None;
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    for folder in path.as_bytes().split(|&byte| byte == b':') {
        // An empty entry means the current directory.
        let folder = if folder.is_empty() { b"." } else { folder };
        let file = Path::new(OsStr::from_bytes(folder)).join(name);
        match may_run(&file) {
            Ok(true) => return Ok(file),
            Ok(false) => refused = refused.or(Some(file)),
            // What cannot be examined is skipped, as execvp does.
            Err(_) => {}
        }
    }
    Err(match refused {
        Some(file) => ProgramError::NotExecutable(file),
        None => ProgramError::NotFound(name.to_owned()),
    })
}

/// Whether `file` is a regular file that this user may execute.
fn may_run(file: &Path) -> Result<bool, Errno> {
    match FileType::from_raw_mode(rustix::fs::stat(file)?.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::NOEXEC),
    }
    match access(file, Access::EXEC_OK) {
        Ok(()) => Ok(true),
        Err(Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn file(folder: &Path, name: &str, mode: u32) {
        let path = folder.join(name);
        fs::write(&path, "").expect("room");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("our file");
    }

    #[test]
    fn names_are_looked_up_as_execvp_does() {
        let root = tempfile::tempdir().expect("a folder");
        let [first, second] = ["first", "second"].map(|name| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            folder
        });
        file(&first, "plain", 0o644);
        file(&first, "both", 0o644);
        file(&second, "both", 0o755);
        fs::create_dir(first.join("folder")).expect("a folder");
        let path = format!("{}:/nowhere:{}", first.display(), second.display());
        let find = |name: &str| find_in(OsStr::new(name), Some(OsStr::new(&path)));

        // The first executable one, not the first.
        assert_eq!(find("both").expect("found"), second.join("both"));
        assert!(
            matches!(find("plain"), Err(ProgramError::NotExecutable(path)) if path == first.join("plain"))
        );
        assert!(matches!(find("folder"), Err(ProgramError::NotFound(_))));
        let folder = first.join("folder");
        assert!(
            matches!(find(folder.to_str().expect("UTF-8")), Err(ProgramError::Io(path, _)) if path == folder)
        );
        assert!(matches!(find("none"), Err(ProgramError::NotFound(_))));
        assert!(matches!(find(""), Err(ProgramError::NotFound(_))));
        // With a slash, PATH is not searched.
        let both = second.join("both");
        assert_eq!(find(both.to_str().expect("UTF-8")).expect("found"), both);
        assert!(matches!(find("./both"), Err(ProgramError::NotFound(_))));
        assert!(matches!(find(&format!("{}/x", both.display())), Err(ProgramError::NotFound(_))));
    }

    #[test]
    fn without_a_path_the_usual_folders_are_searched() {
        assert!(find_in(OsStr::new("sh"), None).is_ok());
    }
}
