//! Errors that concern a trace as a whole. Damage inside a trace is not an error: see [`Losses`].
//!
//! [`Losses`]: crate::Losses

use std::fmt;
use std::io;

/// Why a trace could not be opened or written.
#[derive(Debug)]
pub enum TraceError {
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
pub type Result<T> = std::result::Result<T, TraceError>;

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io(error) => write!(f, "{error}"),
            TraceError::NotATrace { offset, reason } => {
                write!(f, "not a readable memtrace trace: {reason} (at byte {offset})")
            }
            TraceError::Version(version) => write!(
                f,
                "a memtrace trace of format version {version}; this reads versions {} to {}",
                crate::READS.start(),
                crate::READS.end()
            ),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Display already prints the error itself.
            TraceError::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> TraceError {
        TraceError::Io(error)
    }
}
