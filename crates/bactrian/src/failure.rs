//! How commands end: exit statuses and errors.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// The outcome of a command. The numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Done,
    /// Success, with a finding that scripts want to know about (check, diff).
    Finding,
    /// The command line is invalid.
    Usage,
    /// The input cannot be read, or the output cannot be written.
    BadInput,
    /// Not possible with this program or on this machine.
    NotSupported,
    /// The exit status of the program that was run (record).
    Program(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Done => 0,
            Status::Finding => 1,
            Status::Usage => 2,
            Status::BadInput => 3,
            Status::NotSupported => 4,
            Status::Program(status) => status,
        })
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line is invalid.
    Usage(String),
    /// Reading or writing failed, with the file and the reason.
    Input(anyhow::Error),
    /// What is not possible here, why, and what helps.
    NotSupported(String),
}

impl Failure {
    /// Whether the reader of our output has closed it.
    pub fn is_broken_pipe(&self) -> bool {
        let Failure::Input(error) = self else { return false };
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<&Failure> for Status {
    fn from(failure: &Failure) -> Status {
        match failure {
            Failure::Usage(_) => Status::Usage,
            Failure::Input(_) => Status::BadInput,
            Failure::NotSupported(_) => Status::NotSupported,
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Input(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Input(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(what) | Failure::NotSupported(what) => f.write_str(what),
            // All causes on one line: what, then why.
            Failure::Input(error) => write!(f, "{error:#}"),
        }
    }
}
