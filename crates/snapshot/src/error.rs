//! Errors in reading and writing snapshots.

use std::fmt;
use std::io;

/// Why a snapshot, or a part of it, could not be read or written.
#[derive(Debug)]
pub enum SnapshotError {
    /// The error of the operating system.
    Io(io::Error),
    /// The bytes are not a snapshot.
    NotASnapshot {
        /// The byte offset at which that shows.
        offset: u64,
        /// What was found there.
        reason: String,
    },
    /// A snapshot of an unsupported version.
    Version(u32),
    /// A part of the file is damaged or missing; the rest may be readable.
    Damaged {
        /// The byte offset where the part is, or would be.
        offset: u64,
        /// Which part, and what is wrong with it.
        reason: String,
    },
    /// Calls of the writer that contradict each other.
    Misuse(&'static str),
}

/// The result of reading or writing a snapshot.
pub type Result<T> = std::result::Result<T, SnapshotError>;

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Io(error) => write!(f, "{error}"),
            SnapshotError::NotASnapshot { offset, reason } => {
                write!(f, "not a readable heap snapshot: {reason} (at byte {offset})")
            }
            SnapshotError::Version(version) => write!(
                f,
                "a heap snapshot of format version {version}; this reads version {}",
                crate::VERSION
            ),
            SnapshotError::Damaged { offset, reason } => write!(f, "{reason} (at byte {offset})"),
            SnapshotError::Misuse(what) => {
                write!(f, "a snapshot cannot be written like this: {what}")
            }
        }
    }
}

impl std::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Display already prints the error itself.
            SnapshotError::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> SnapshotError {
        SnapshotError::Io(error)
    }
}
