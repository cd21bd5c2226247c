//! Errors that concern a trace as a whole. Damage inside a trace is not an error: see [`Losses`].
//!
//! [`Losses`]: crate::Losses

use std::fmt;
use std::io;

/// Why a trace could not be opened or written.
#[derive(Debug)]
pub enum Error {
    /// The error of the operating system.
    Io(io::Error),
    /// The bytes are not a memtrace trace.
    NotATrace {
        /// The byte offset at which that shows.
        offset: u64,
        /// What was found there.
        reason: String,
    },
    /// A memtrace trace of an unsupported version.
    Version(u16),
}

/// The result of opening or writing a trace.
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
            // Display already prints the error itself.
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
