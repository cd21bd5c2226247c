//! Opens the sources of numbers that the command line names, for any display.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use bactrian_capture::launch::{Streams, end_like};
use bactrian_capture::live::{LaunchOptions, Watch};
use bactrian_capture::{DEFAULT_RATE, doctor, find_program};
use bactrian_live::client::Client;
use bactrian_live::recording;

use super::source::{self, Started, Target, Watched, Watcher};
use super::{Message, Wish};
use crate::commands::record::refused;
use crate::failure::{Failure, Status};
use crate::output::Console;
use crate::threads::NO_THREAD;

/// The capacity of a message channel; when it is full, sources wait.
pub const WAITING: usize = 100_000;

/// How programs are observed.
pub struct HowToWatch<'a> {
    /// The interval between reads of a process.
    pub every: Duration,
    /// The sampling rate per word of programs that are started here; 0 for none.
    pub rate: f64,
    /// The token for a program that listens on the network.
    pub token: &'a str,
    /// Whether to capture the output of a started program, because the terminal is in use.
    pub is_captured: bool,
}

impl HowToWatch<'_> {
    /// Starts a program and observes it.
    pub fn start(
        &self,
        name: &OsString,
        arguments: &[OsString],
        messages: SyncSender<Message>,
    ) -> Result<Started, Failure> {
        let program = find_program(name).map_err(anyhow::Error::from)?;
        // A program that cannot be sampled can still be observed.
        doctor::enterable(&program).map_err(refused)?;
        let (streams, output) =
            if self.is_captured { captured()? } else { (Streams::default(), Vec::new()) };
        let wanted = LaunchOptions {
            program,
            name: name.clone(),
            arguments: arguments.to_vec(),
            streams,
            rate: if self.rate > 0.0 { self.rate } else { DEFAULT_RATE },
            trace: None,
            sampling: self.rate > 0.0,
        };
        let cannot_start = || format!("cannot start {}", name.to_string_lossy());
        let watcher = Watcher::new(output).with_context(cannot_start)?;
        let watch = Watch::launch(wanted).with_context(cannot_start)?;
        let name = short_name(name);
        Ok(watcher.watch(Watched { watch, name, period: self.every }, messages))
    }

    /// Observes a running program, or plays a recording. Returns how to send requests to it, if that is
    /// possible.
    pub fn open(
        &self,
        target: Target,
        messages: SyncSender<Message>,
    ) -> Result<Option<Wish>, Failure> {
        match target {
            Target::Process(pid) => {
                let watch =
                    Watch::attach(pid).with_context(|| format!("there is no process {pid}"))?;
                let (name, period) = (process_name(pid), self.every);
                let watcher = Watcher::new(Vec::new()).context(NO_THREAD)?;
                Ok(Some(watcher.watch(Watched { watch, name, period }, messages).wish))
            }
            Target::Address(address) => {
                let client = Client::connect(address.clone(), self.token.as_bytes(), true)
                    .with_context(|| format!("cannot connect to {address}"))?;
                let wish = source::connect(client, false, messages).context(NO_THREAD)?;
                Ok(Some(wish))
            }
            Target::File(path) => {
                source::play(&path, messages).map_err(|error| bad_recording(&path, &error))?;
                Ok(None)
            }
        }
    }
}

/// The name of a program without its directory.
pub fn short_name(name: &OsStr) -> String {
    Path::new(name).file_name().unwrap_or(name).to_string_lossy().into_owned()
}

/// Pipes for the program's output, which is shown by whoever uses the terminal.
fn captured() -> Result<(Streams, Vec<PipeReader>), Failure> {
    let pipe = || io::pipe().context("cannot make a pipe");
    let ((output, program_output), (error, program_error)) = (pipe()?, pipe()?);
    let streams = Streams {
        input: Some(Stdio::null()),
        output: Some(program_output.into()),
        error: Some(program_error.into()),
    };
    Ok((streams, vec![output, error]))
}

/// Waits for a program that was started here, and exits with its status.
pub fn stay(
    end: Option<JoinHandle<Option<ExitStatus>>>,
    pid: u32,
    console: &mut Console,
) -> Result<Status, Failure> {
    let Some(end) = end else { return Ok(Status::Done) };
    if !end.is_finished() {
        // It may be about to exit.
        std::thread::sleep(Duration::from_millis(300));
        if !end.is_finished() {
            // If it cannot be said, it is waited for all the same.
            drop(console.note(&format!(
                "the program continues as process {pid}; waiting for it to \
                        exit"
            )));
        }
    }
    let status = end.join().ok().flatten();
    Ok(status.map_or(Status::Done, |status| Status::Program(end_like(status))))
}

pub fn bad_recording(path: &Path, error: &recording::RecordingError) -> anyhow::Error {
    let hint = match error {
        recording::RecordingError::NotARecording => {
            ". Recordings are written by `bactrian live --record`; use `bactrian top` for \
             traces, `bactrian heap` for snapshots"
        }
        _ => "",
    };
    anyhow::anyhow!("{}: {error}{hint}", path.display())
}

fn process_name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map_or_else(|_| pid.to_string(), |name| name.trim_end().to_owned())
}
