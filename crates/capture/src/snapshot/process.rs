//! A snapshot of a running process that was not prepared for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bactrian_agent_abi::variable;
use bactrian_snapshot::{Info, Reason, SnapshotMethod};
use bactrian_trace::{Index, Input};

use super::file::{self, Destination};
use super::{Failure, Written, describe, info_of};
use crate::attach::{self, Cause, LateTrace, freeze};
use crate::heap::{Options, Subject};

/// Options of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// The file to write.
    pub path: PathBuf,
    /// Whether an existing file may be replaced.
    pub replaces: bool,
    /// How many bytes of each string to keep.
    pub strings: Option<u32>,
    /// The time limit for the program to come to a safe point.
    pub wait: Duration,
}

/// Freezes a process and takes a snapshot of it. `progress` is called with the fraction of the work that is
/// done, from 0 to 1.
///
/// # Errors
/// If it cannot be frozen, or the file cannot be written.
pub fn of_process(
    pid: u32,
    wanted: &SnapshotOptions,
    progress: &dyn Fn(f64),
) -> Result<(Written, attach::FreezeMethod, Duration), Failure> {
    let options = attach::Options { wait: wanted.wait, ..attach::Options::default() };
    let frozen = freeze(pid, options).map_err(|refusal| match refusal.cause {
        Cause::Interrupted(signal) => Failure::Interrupted(signal),
        _ => Failure::Refused(refusal.to_string()),
    })?;
    let taken = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (way, pause) = (frozen.way.clone(), frozen.pause);
    let mut info = Info {
        pid,
        taken: u64::try_from(taken.as_micros()).unwrap_or(u64::MAX),
        reason: Reason::Asked,
        way: match &way {
            attach::FreezeMethod::Copied => SnapshotMethod::Attach,
            attach::FreezeMethod::Stopped { .. } => SnapshotMethod::Copy,
        },
        pause: match &way {
            attach::FreezeMethod::Copied => u64::try_from(pause.as_nanos()).ok(),
            // It stays stopped while it is read.
            attach::FreezeMethod::Stopped { .. } => None,
        },
        ..info_of(&frozen.target)
    };
    describe(pid, &frozen.target, &mut info);
    let options = Options { strings: wanted.strings, ..Options::default() };
    let late = LateTrace::of(pid);
    let subject = Subject {
        memory: &frozen.memory,
        target: &frozen.target,
        listing: frozen.listing.as_ref(),
        process: Some(format!("/proc/{}", frozen.pid).into()),
        recording: late.as_ref().map(|late| late.recording),
        trace: own_trace(pid),
        gaps: frozen.gaps.clone(),
        asked: Some(&frozen.asked),
        progress,
        info,
    };
    // The handle is dropped at the end of this function; the copy is idle until then.
    let destination =
        Destination { path: &wanted.path, replaces: wanted.replaces, most_bytes: None };
    let written = file::write(&subject, &options, destination, |_| ())?;
    Ok((written, way, pause))
}

/// The trace that a process, or its parent, was told to write.
pub(crate) fn trace_of(pid: u32) -> Option<PathBuf> {
    if let Some(late) = LateTrace::of(pid) {
        return Some(late.path);
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(variable::TRACE.as_bytes())?.strip_prefix(b"="))?;
    let folder = PathBuf::from(format!("/proc/{pid}/cwd"));
    Some(folder.join(OsStr::from_bytes(value)))
}

/// The trace that the agent in this process writes, if there is one.
fn own_trace(pid: u32) -> Option<PathBuf> {
    let path = trace_of(pid)?;
    // Children inherit the variable, but write to other files.
    let index = Index::skim(&Input::open(&path).ok()?).ok()?;
    (index.info().pid == u64::from(pid)).then_some(path)
}
