//! Snapshots of a process that the page observes: like `bactrian snapshot PID`, to a new file each time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bactrian_capture::live::process::Process;
use bactrian_capture::snapshot::{self, SnapshotOptions};

use crate::commands::snapshot::{Taken, failure, stem};

/// The default wait of the command.
const WAIT: Duration = Duration::from_secs(5);

/// A process of which snapshots can be taken.
pub struct SnapshotsOf {
    pid: u32,
    /// Process ids are reused; this handle detects that the process has ended.
    process: Process,
}

impl SnapshotsOf {
    /// A running process; None if it does not exist.
    pub fn process(pid: u32) -> Option<SnapshotsOf> {
        Some(SnapshotsOf { pid, process: Process::open(pid).ok()? })
    }

    /// Takes a snapshot to a new file in the current directory. Returns its path and the messages about it.
    ///
    /// # Errors
    /// Why there is no snapshot, as the command would print it.
    pub fn take(&self, progress: &dyn Fn(f64)) -> Result<(PathBuf, Vec<String>), String> {
        let pid = self.pid;
        if self.process.usage().is_none() {
            return Err(format!("process {pid} has ended"));
        }
        let path = unused(&stem(pid));
        let place = std::path::absolute(&path).map_err(|error| error.to_string())?;
        let wanted = SnapshotOptions { path: place, replaces: false, strings: None, wait: WAIT };
        let taken = snapshot::of_process(pid, &wanted, progress);
        let taken = taken.map_err(|why| failure(why).to_string())?;
        Ok((path, Taken::new(taken).sentences()))
    }
}

/// The first unused name: `server.pid1234.1.heap`.
fn unused(stem: &str) -> PathBuf {
    let names = (1_u64..).map(|number| PathBuf::from(format!("{stem}.{number}.heap")));
    let is_unused = |path: &PathBuf| Path::symlink_metadata(path).is_err();
    names.into_iter().find(is_unused).unwrap_or_else(|| PathBuf::from(stem))
}
