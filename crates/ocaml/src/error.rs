//! Why something cannot be read.

use alloc::string::String;
use core::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It does not begin as anything that can be run, and no OCaml bytecode stands at its end.
    NotExecutable,
    /// It begins as an executable and then makes no sense.
    Damaged {
        /// Where that was seen.
        offset: u64,
        /// What was seen.
        reason: String,
    },
    /// Marshalled data that makes no sense, or of a kind that is not read here.
    Marshalled {
        /// Where that was seen.
        offset: u64,
        /// What was seen.
        reason: String,
    },
    /// There is no bytecode in it that can be read, for this reason.
    NoBytecode(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotExecutable => {
                f.write_str("not a program: neither an ELF file, nor a script that begins with #!, nor OCaml bytecode")
            }
            Error::Damaged { offset, reason } => {
                write!(f, "a damaged executable: {reason} (at byte {offset})")
            }
            Error::Marshalled { offset, reason } => {
                write!(f, "marshalled data that cannot be read: {reason} (at byte {offset})")
            }
            Error::NoBytecode(reason) => write!(f, "no bytecode that can be read: {reason}"),
        }
    }
}

impl core::error::Error for Error {}
