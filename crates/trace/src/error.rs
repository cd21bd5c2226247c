//! What can go wrong with a trace as a whole. Damage inside a trace is not an error: see [`Losses`].
//!
//! [`Losses`]: crate::Losses

use std::fmt;
use std::io;

/// Why a trace could not be opened or written.
#[derive(Debug)]
pub enum Error {
    /// The operating system said no.
    Io(io::Error),
    /// These bytes are not a memtrace trace.
    NotATrace {
        /// Where that was seen.
        offset: u64,
        /// What was seen.
        reason: String,
    },
    /// A memtrace trace of a version that is not known here.
    Version(u16),
}

/// The result of opening or writing.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => write!(f, "{error}"),
            Error::NotATrace { offset, reason } => {
                write!(f, "not a readable memtrace trace: {reason} (at byte {offset})")
            }
            Error::Version(version) => write!(
                f,
                "a memtrace trace of format version {version}; this reads versions {} to {}",
                crate::READS.start(),
                crate::READS.end()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // What it says is said by Display already.
            Error::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}
