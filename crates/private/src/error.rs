//! Why a folder or file is rejected.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::process::geteuid;

/// Why a folder or file is rejected.
#[derive(Debug)]
pub enum PrivateError {
    /// It belongs to another user, given by user id.
    OtherOwner(PathBuf, u32),
    /// Others may write to it; with its mode.
    WritableByOthers(PathBuf, u32),
    /// It is a symbolic link.
    Link(PathBuf),
    /// It is not a folder, or not a regular file.
    OtherType(PathBuf),
    /// The error of the operating system.
    Io(PathBuf, io::Error),
}

impl fmt::Display for PrivateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrivateError::OtherOwner(path, owner) => {
                let (path, us) = (path.display(), geteuid().as_raw());
                write!(f, "{path} belongs to user {owner}, not to this user ({us})")
            }
            PrivateError::WritableByOthers(path, mode) => {
                write!(f, "other users may write to {} (mode {mode:o})", path.display())
            }
            PrivateError::Link(path) => write!(f, "{} is a symbolic link", path.display()),
            PrivateError::OtherType(path) => {
                write!(f, "{} is neither a folder nor a regular file of ours", path.display())
            }
            PrivateError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for PrivateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PrivateError::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<PrivateError> for io::Error {
    fn from(error: PrivateError) -> io::Error {
        let kind = match &error {
            PrivateError::Io(_, error) => error.kind(),
            _ => io::ErrorKind::PermissionDenied,
        };
        io::Error::new(kind, error)
    }
}
