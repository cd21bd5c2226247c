//! Snapshots of a process that the page watches: what `bactrian snapshot PID` does, into a new file each time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bactrian_capture::live::process::Process;
use bactrian_capture::snapshot::{self, Wanted};

use crate::commands::snapshot::{Taken, failure, stem};

/// As long as the command waits if nobody says otherwise.
const WAIT: Duration = Duration::from_secs(5);

/// A process of which snapshots can be taken.
pub struct SnapshotsOf {
    pid: u32,
    /// Numbers of processes are used again: this one knows whether it has ended.
    process: Process,
}

impl SnapshotsOf {
    /// A process that runs; none if there is none of this number.
    pub fn process(pid: u32) -> Option<SnapshotsOf> {
        Some(SnapshotsOf { pid, process: Process::open(pid).ok()? })
    }

    /// Takes one into a new file in the current folder; gives its path, and what is said of it.
    ///
    /// # Errors
    /// Why there is none, as the command says it.
    pub fn take(&self, progress: &dyn Fn(f64)) -> Result<(PathBuf, Vec<String>), String> {
        let pid = self.pid;
        if self.process.usage().is_none() {
            return Err(format!("process {pid} has ended"));
        }
        let path = unused(&stem(pid));
        let place = std::path::absolute(&path).map_err(|error| error.to_string())?;
        let wanted = Wanted { path: place, replaces: false, strings: None, wait: WAIT };
        let taken = snapshot::of_process(pid, &wanted, progress);
        let taken = taken.map_err(|why| failure(why).to_string())?;
        Ok((path, Taken::new(taken).sentences()))
    }
}

/// The first name that no file has yet: `server.pid1234.1.heap`.
fn unused(stem: &str) -> PathBuf {
    let names = (1_u64..).map(|number| PathBuf::from(format!("{stem}.{number}.heap")));
    let is_unused = |path: &PathBuf| Path::symlink_metadata(path).is_err();
    names.into_iter().find(is_unused).unwrap_or_else(|| PathBuf::from(stem))
}
