//! A snapshot of a program from its core file.

use std::path::Path;
use std::time::SystemTime;

use bactrian_snapshot::{Info, Reason, SnapshotMethod};

use super::file::{self, Destination};
use super::{Failure, Written, info_of};
use crate::heap::target::Target;
use crate::heap::{Options, Subject};
use crate::memory::Core;

/// Takes a snapshot of a core file.
///
/// # Errors
/// If it is not a core file of a supported OCaml program, or the file cannot be written.
pub fn of_core(
    core: &Path,
    exe: &Path,
    path: &Path,
    strings: Option<u32>,
    progress: &dyn Fn(f64),
) -> Result<Written, Failure> {
    let memory = Core::open(core, exe).map_err(|bad| Failure::Io(bad.to_string()))?;
    let mut target = Target::find(&memory, &memory.files()).map_err(|unknown| {
        // The missing part may well be what would have identified it.
        let why = memory.cut().unwrap_or_else(|| unknown.to_string());
        Failure::Refused(format!("{}: {why}", core.display()))
    })?;
    target.threads = memory.threads().to_vec();
    // The time at which the core file was written is close enough to the time of its contents.
    let written = core.metadata().and_then(|data| data.modified()).ok();
    let taken = written.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let taken = taken.and_then(|time| u64::try_from(time.as_micros()).ok()).unwrap_or(0);
    let info = Info {
        program: target.bytecode_path.as_deref().unwrap_or(exe).display().to_string(),
        pid: memory.pid().unwrap_or(0),
        taken,
        reason: Reason::Asked,
        way: SnapshotMethod::Core,
        ..info_of(&target)
    };
    let options = Options { strings, ..Options::default() };
    let subject = Subject {
        memory: &memory,
        target: &target,
        listing: None,
        process: None,
        trace: None,
        recording: None,
        gaps: memory.gaps().to_vec(),
        asked: None,
        progress,
        info,
    };
    let destination = Destination { path, replaces: true, most_bytes: None };
    file::write(&subject, &options, destination, |_| ())
}
