//! `bactrian agent`: how to start a program observed by other means than `record`.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bactrian_capture::{
    Children, DEFAULT_DEPTH, DEFAULT_RATE, MAX_DEPTH, Settings, agent, falling, launch,
};

use super::live::duration;
use super::signal_arg::Signal;
use super::snapshots::{SnapshotArgs, prefix};
use crate::failure::{Failure, Status};
use crate::output::Console;

/// Print the environment variables that make a service manager or container record a program.
///
/// Prints one variable per line. LD_PRELOAD names the agent, a library that this command writes into your cache
/// directory, or into --install. BACTRIAN_TRACE names the trace; if that file exists, the process id is inserted
/// before its extension.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  env $(bactrian agent -o /tmp/x.ctf) ./server
  bactrian agent --install /usr/local/lib -o /var/tmp/server.ctf > /etc/server.env    for systemd's
                                                         EnvironmentFile=/etc/server.env
  env $(bactrian agent --snapshots signal,peak --no-trace -o /tmp/x) ./server    then kill -USR2 PID")]
pub struct Args {
    #[command(flatten)]
    record: RecordArgs,
    /// File the trace is written to
    #[arg(long, short, value_name = "FILE", default_value = "bactrian.ctf")]
    output: PathBuf,
    /// Write the agent into this directory
    #[arg(long, value_name = "DIRECTORY")]
    install: Option<PathBuf>,
    /// Print only the path of the agent
    #[arg(long)]
    path: bool,
}

/// What the agent is to do, as record and agent take it.
#[derive(Clone, clap::Args, Debug)]
pub struct RecordArgs {
    /// Samples per allocated word, at most 1; auto: 1e-3 at first, falling to 8e-6 as the trace grows
    #[arg(long, value_name = "RATE", default_value = falling::WORD, value_parser = rate)]
    pub rate: Rate,
    /// Record every allocation (a rate of 1); the program becomes several times slower
    #[arg(long, conflicts_with = "rate")]
    pub exact: bool,
    /// How many frames of a call stack to keep, innermost first
    #[arg(long, value_name = "FRAMES", default_value_t = DEFAULT_DEPTH,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DEPTH)))]
    pub depth: u32,
    /// What to do with child processes that are OCaml programs [default: follow]
    #[arg(long, value_name = "WHAT")]
    pub children: Option<ChildrenArg>,
    /// Start and stop recording on this signal, such as USR2; recording is off until the first one
    #[arg(long, value_name = "SIGNAL", conflicts_with_all = ["after", "duration"])]
    pub signal: Option<Signal>,
    /// Start recording after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds)]
    pub after: f64,
    /// Stop recording after this many seconds
    #[arg(long = "for", id = "duration", value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<f64>,
    #[command(flatten)]
    pub snapshots: SnapshotArgs,
}

/// What to do with child processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ChildrenArg {
    /// Record them too, each into a file of its own
    Follow,
    /// Do not record them; they do not inherit our environment variables
    Ignore,
}

/// The sampling rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// The rate falls as the trace grows.
    Auto,
    /// The rate is constant.
    Fixed(f64),
}

fn rate(text: &str) -> Result<Rate, String> {
    if text == falling::WORD {
        return Ok(Rate::Auto);
    }
    let rate = text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0);
    rate.map(Rate::Fixed)
        .ok_or_else(|| "a rate is above 0 and up to 1, such as 1e-5, or auto".to_owned())
}

/// Parses a number of seconds, which may be 0, or a time with a unit as in `live --for`.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = match text.parse() {
        Ok(seconds) => seconds,
        Err(_) => duration(text)?.as_secs_f64(),
    };
    let is_possible = (0.0..=1e9).contains(&seconds);
    is_possible.then_some(seconds).ok_or_else(|| "not a time that can be waited for".to_owned())
}

impl RecordArgs {
    /// Whether the rate falls as the trace grows. It does not if recording begins later, because earlier
    /// samples do not make the trace grow.
    pub fn falls(&self) -> bool {
        self.rate == Rate::Auto && !self.exact && self.after == 0.0 && self.signal.is_none()
    }

    /// The same arguments for a process that runs already. Its rate does not fall, because it has run for
    /// long.
    pub fn of_running(&self) -> RecordArgs {
        let rate = match self.rate {
            Rate::Auto => Rate::Fixed(DEFAULT_RATE),
            fixed => fixed,
        };
        RecordArgs { rate, ..self.clone() }
    }

    /// The initial rate.
    pub fn first_rate(&self) -> f64 {
        match self.rate {
            _ if self.exact => 1.0,
            Rate::Fixed(rate) => rate,
            Rate::Auto if self.falls() => falling::FIRST,
            Rate::Auto => DEFAULT_RATE,
        }
    }

    /// The settings for an output at this path: the trace, or the stem of snapshot names.
    pub fn settings(&self, output: &Path, ledger: Option<&Path>) -> Result<Settings, Failure> {
        self.snapshots.check(self.signal)?;
        let trace = output.as_os_str().as_bytes().to_vec();
        let micros = |seconds: f64| (seconds * 1e6) as u64;
        Ok(Settings {
            trace: (!self.snapshots.no_trace).then_some(trace),
            snapshots: self.snapshots.settings(&prefix(output), ledger)?,
            rate: self.first_rate(),
            falls: self.falls(),
            depth: self.depth,
            children: match self.children {
                Some(ChildrenArg::Ignore) => Children::Ignore,
                Some(ChildrenArg::Follow) | None => Children::Follow,
            },
            signal: self.signal.map(|Signal(number)| number),
            after: micros(self.after),
            duration: self.duration.map(micros),
            ..Settings::new(Vec::new())
        })
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let path = match &args.install {
        Some(directory) => agent::install_into(&std::path::absolute(directory)?),
        None => agent::install(),
    };
    let path = path.context("cannot write the agent")?;
    if args.path {
        writeln!(console.out(), "{}", path.display())?;
        return Ok(Status::Done);
    }
    let settings = args.record.settings(&std::path::absolute(&args.output)?, None)?;
    for (name, value) in launch::variables(&path, &settings) {
        writeln!(console.out(), "{}={}", name.display(), value.display())?;
    }
    Ok(Status::Done)
}
