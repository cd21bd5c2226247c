//! The trace of a process that is being recorded by `bactrian record PID`: the injected agent knows its name.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bactrian_agent_abi::control::{Control, SETTINGS};
use bactrian_agent_abi::{token, variable};

use super::implant::Implant;
use super::placing::find_earlier;
use crate::agent::AGENT;
use crate::memory::{Memory, ProcessMemory};

/// A trace that an agent writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateTrace {
    /// The file.
    pub path: PathBuf,
    /// The number of the recording within the process, as in the agent's tokens.
    pub recording: u64,
}

impl LateTrace {
    /// The trace that `bactrian record PID` is recording of a process, if any.
    pub fn of(pid: u32) -> Option<LateTrace> {
        let memory = ProcessMemory::open(pid).ok()?;
        let implant = Implant::read(AGENT).ok()?;
        let control = find_earlier(&memory, &implant).ok()?? + implant.control;
        let asked = memory.word(control + offset_of!(Control, asked) as u64)?;
        if asked == 0 {
            return None;
        }
        let mut settings = vec![0; SETTINGS];
        let at = control + offset_of!(Control, settings) as u64;
        if !memory.read(at, &mut settings) {
            return None;
        }
        let entries = settings.split(|byte| *byte == 0);
        let mut paths = entries
            .filter_map(|entry| entry.strip_prefix(variable::TRACE.as_bytes())?.strip_prefix(b"="));
        let path = PathBuf::from(OsStr::from_bytes(paths.next()?));
        Some(LateTrace { path, recording: asked % token::RECORDINGS })
    }
}
