//! Samples and pauses of a running process while it is observed: it is recorded as by `bactrian record PID`,
//! to a file that is removed at the end. The observer finds this file like any other recording.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use bactrian_capture::Settings;
use bactrian_capture::attach::{LateRecording, RecordingState};
use bactrian_capture::live::page::Page;
use bactrian_capture::temporary::TemporaryFolder;

use crate::commands::record_running::refused;
use crate::failure::Failure;
use crate::threads::{NO_THREAD, ReservedThread};

const NAP: Duration = Duration::from_millis(2);
/// Sampling ends at this file size, in bytes: nobody looks after the file.
const MOST: u64 = 1 << 30;

/// A process is sampled while this exists.
pub struct LateSamples {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LateSamples {
    /// Starts sampling a process.
    pub fn begin(pid: u32, rate: f64) -> Result<LateSamples, Failure> {
        let folder = TemporaryFolder::new("live").context("cannot make a folder for samples")?;
        let path = folder.file("samples.ctf");
        // The observer finds the page as it finds the file.
        let page = Page::for_process(pid).context("cannot make a page to share with it")?;
        let settings = Settings {
            rate,
            page: page.path().map(|path| path.into_os_string().into_vec()),
            ..Settings::new(path.as_os_str().as_bytes().to_vec())
        };
        // Before the process is touched, for there may be no thread.
        let thread = ReservedThread::new().context(NO_THREAD)?;
        let mut recording = LateRecording::begin(pid, &settings).map_err(refused)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = thread.run(move || {
            let is_small = || path.metadata().map_or(0, |file| file.len()) < MOST;
            while !told.load(Ordering::Acquire) && is_small() {
                match recording.look() {
                    Ok(RecordingState::Waiting | RecordingState::Sampling(_)) => thread::sleep(NAP),
                    // The numbers show what happened.
                    Ok(RecordingState::Trouble(_) | RecordingState::Gone) | Err(_) => break,
                }
            }
            // If the process cannot be stopped once more, the agent ends by itself.
            let _ = recording.end();
            drop((folder, page));
        });
        Ok(LateSamples { is_over, thread: Some(thread) })
    }
}

impl Drop for LateSamples {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and there would be nothing left to do.
            let _ = thread.join();
        }
    }
}
