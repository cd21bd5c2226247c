//! Why something cannot be read.

use alloc::string::String;
use core::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OcamlError {
    /// It does not begin like anything executable, and there is no OCaml bytecode at its end.
    NotExecutable,
    /// It begins like an executable and then makes no sense.
    Damaged {
        /// The byte offset at which that shows.
        offset: u64,
        /// What was found there.
        reason: String,
    },
    /// Marshalled data that makes no sense, or of a kind that is not supported.
    Marshalled {
        /// The byte offset at which that shows.
        offset: u64,
        /// What was found there.
        reason: String,
    },
    /// There is no readable bytecode in it, for this reason.
    NoBytecode(String),
}

impl fmt::Display for OcamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OcamlError::NotExecutable => {
                f.write_str("not a program: neither an ELF file, nor a script that begins with #!, nor OCaml bytecode")
            }
            OcamlError::Damaged { offset, reason } => {
                write!(f, "a damaged executable: {reason} (at byte {offset})")
            }
            OcamlError::Marshalled { offset, reason } => {
                write!(f, "marshalled data that cannot be read: {reason} (at byte {offset})")
            }
            OcamlError::NoBytecode(reason) => write!(f, "no bytecode that can be read: {reason}"),
        }
    }
}

impl core::error::Error for OcamlError {}
