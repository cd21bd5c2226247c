//! Why a process cannot be frozen, and what the user can do.

use std::fmt;
use std::io;

use crate::doctor::{Process, Tracing};

/// What prevents freezing a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There is no such process, or it ended meanwhile.
    Gone,
    /// We may not trace it.
    Forbidden,
    /// It is not a supported OCaml program.
    Unknown,
    /// It did not come to a safe point in the time given.
    Busy,
    /// The user interrupted us with this signal.
    Interrupted(i32),
    /// The kernel did something unexpected.
    Failed,
}

/// Why a process was not frozen. It continues as if nothing had happened.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The cause, as a code.
    pub cause: Cause,
    /// The cause, as a sentence.
    pub reason: String,
    /// What the user can do; empty if nothing helps.
    pub way_out: String,
}

/// Advice for every refusal: a way that needs no tracing.
const START_UNDER_RECORD: &str =
    "start the program under `bactrian record --snapshots signal`, which needs no ptrace";

/// Advice if a process cannot be recorded while it runs.
pub(super) const WITHOUT_TRACING: &str = "Start the program under `bactrian record`";

impl Refusal {
    /// A process that cannot be recorded while it runs.
    pub(super) fn late(reason: impl Into<String>) -> Refusal {
        Refusal::new(Cause::Failed, reason, WITHOUT_TRACING)
    }

    pub(crate) fn new(
        cause: Cause,
        reason: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Refusal {
        Refusal { cause, reason: reason.into(), way_out: way_out.into() }
    }

    /// The process has ended.
    pub(super) fn gone(pid: u32) -> Refusal {
        Refusal::new(Cause::Gone, format!("process {pid} has ended"), "")
    }

    /// There is no such process, or it is a zombie.
    pub(super) fn missing(pid: u32) -> Refusal {
        let reason = match is_zombie(pid) {
            true => format!("process {pid} has ended (its parent has not reaped it yet)"),
            false => format!("there is no process {pid}"),
        };
        Refusal::new(Cause::Gone, reason, "")
    }

    /// A system call failed unexpectedly.
    pub(super) fn failed(doing: &str, error: &io::Error) -> Refusal {
        if error.raw_os_error() == Some(libc::ESRCH) {
            return Refusal::new(Cause::Gone, format!("the process ended while {doing}"), "");
        }
        let way_out = "Try again; a core file (gcore) is another way";
        Refusal::new(Cause::Failed, format!("{doing}: {error}"), way_out)
    }

    /// The kernel did not let us open the memory of `pid`.
    pub(crate) fn opening(pid: u32, error: &io::Error) -> Refusal {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => Refusal::missing(pid),
            Some(libc::EPERM | libc::EACCES) => Refusal::forbidden(pid),
            _ => Refusal::failed("opening its memory", error),
        }
    }

    /// The kernel did not let us trace `pid`.
    pub(super) fn seizing(pid: u32, error: &io::Error) -> Refusal {
        match error.raw_os_error() {
            Some(libc::ESRCH) => Refusal::missing(pid),
            Some(libc::EPERM | libc::EACCES) => Refusal::forbidden(pid),
            _ => Refusal::failed("asking to trace it", error),
        }
    }

    /// The kernel does not let us trace `pid`. Only root may open the memory of a zombie.
    fn forbidden(pid: u32) -> Refusal {
        if is_zombie(pid) { Refusal::missing(pid) } else { forbidden(pid) }
    }
}

/// Whether a process has ended and waits to be reaped.
fn is_zombie(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| state.trim_start().starts_with('Z'))
}

/// Explains why the kernel does not let us trace a process.
fn forbidden(pid: u32) -> Refusal {
    let (reason, way_out) = match Process::look(pid).map(|process| process.tracing) {
        Ok(Tracing::No { reason, way_out }) => (reason, way_out),
        Ok(Tracing::Yes) => (
            "the kernel refuses it for an unknown reason: the process may protect its memory \
             (PR_SET_DUMPABLE) or be outside this container, or a security module may forbid it"
                .to_owned(),
            "Run as root, outside the container".to_owned(),
        ),
        Err(refusal) => (refusal.reason, refusal.way_out),
    };
    let way_out = match way_out.as_str() {
        "" => format!("Instead, {START_UNDER_RECORD}"),
        some => format!("{some}; or {START_UNDER_RECORD}"),
    };
    Refusal::new(Cause::Forbidden, format!("process {pid} may not be traced: {reason}"), way_out)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        if !self.way_out.is_empty() {
            write!(f, ". {}", self.way_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
