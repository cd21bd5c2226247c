//! `bactrian snapshot`: every block of a heap at one moment, from a running program or a core file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_capture::attach::FreezeMethod;
use bactrian_capture::snapshot::{self, SnapshotOptions, Written};
use bactrian_capture::temporary::TemporaryFolder;
use bactrian_fleet::Store;
use bactrian_trace::Micros;

use crate::commands::heap_summaries;
use crate::engine::{self, Engine};
use crate::failure::{Failure, Status};
use crate::open;
use crate::origin_args::OriginArgs;
use crate::output::{Console, show_number};

/// Take a snapshot of a program's heap: every live block, and what holds it.
///
/// The program continues at once; its frozen copy is read. It need not have been started by `record`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian snapshot 1234                             into PROGRAM.pid1234.heap
  bactrian snapshot 1234 -o before.heap
  bactrian snapshot --core core.1234 --exe ./server  a program that crashed
  gcore 1234; bactrian snapshot --core core.1234 --exe ./server
  bactrian snapshot 1234 --summary --to /mnt/profiles    only what it holds by class and root, for `bactrian fleet`

To take snapshots at chosen moments: bactrian record --snapshots --help")]
pub struct Args {
    /// The process id
    #[arg(value_name = "PID", required_unless_present = "core", conflicts_with = "core")]
    pid: Option<u32>,
    /// A core file, written by the kernel or by gcore
    #[arg(long, value_name = "FILE", requires = "exe")]
    core: Option<PathBuf>,
    /// The program that wrote the core file
    #[arg(long, value_name = "FILE", requires = "core")]
    exe: Option<PathBuf>,
    /// Do not keep the snapshot: send sums by class and root, a few kilobytes, into the store of a fleet
    #[arg(long, requires = "to", conflicts_with_all = ["output", "strings"])]
    summary: bool,
    /// That store: a folder, or s3://BUCKET/FOLDER (also gs://, az://), which needs bactrian-query
    #[arg(long, value_name = "STORE", requires = "summary")]
    to: Option<String>,
    /// Where to write the snapshot
    /// [default: the program's name and process id, with .heap, in the current directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Keep the first N bytes of each string; by default, no contents are kept
    #[arg(long, value_name = "N", default_value_t = 0)]
    strings: u32,
    /// Seconds to wait for the program to reach a point at which its heap is consistent
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    wait: f64,
    /// Print no summary at the end, only what could not be read
    #[arg(long, short)]
    quiet: bool,
    // The last, because the heading goes on for all that follow.
    #[command(flatten, next_help_heading = "Options for --summary")]
    origin: OriginArgs,
}

pub fn run(
    args: &Args,
    engine: Option<&dyn Engine>,
    console: &mut Console,
) -> Result<Status, Failure> {
    match (&args.to, engine) {
        // Only the engine can use object stores.
        (Some(to), None) if to.contains("://") => engine::become_engine(),
        (Some(to), _) => summarise(args, &*engine::open_store(to, engine)?, console),
        (None, _) => take(args, args.output.clone(), console),
    }
}

/// Sends the summary of a heap to a store. The snapshot itself is temporary.
fn summarise(args: &Args, store: &dyn Store, console: &mut Console) -> Result<Status, Failure> {
    let folder =
        TemporaryFolder::new("summary").context("cannot make a folder for the snapshot")?;
    let path = folder.file("summary.heap");
    let status = take(args, Some(path.clone()), console)?;
    if let Status::Done = status {
        heap_summaries::ship_unkept(&path, &args.origin, store, console)?;
        if !args.quiet {
            console
                .note(&format!("what it holds is in {}", args.to.as_deref().unwrap_or_default()))?;
        }
    }
    Ok(status)
}

/// Takes a snapshot into this file, or into one named after the program.
fn take(args: &Args, output: Option<PathBuf>, console: &mut Console) -> Result<Status, Failure> {
    let strings = (args.strings > 0).then_some(args.strings);
    let wait = Duration::try_from_secs_f64(args.wait)
        .map_err(|_| Failure::Usage("--wait needs a number of seconds".to_owned()))?;
    match (args.pid, &args.core, &args.exe) {
        (Some(pid), ..) => {
            let path = output.unwrap_or_else(|| default_name(pid));
            let wanted = SnapshotOptions { path, replaces: true, strings, wait };
            let progress = open::progress(!args.quiet);
            let taken = match snapshot::of_process(pid, &wanted, &progress) {
                // The shell's convention for signals.
                Err(snapshot::Failure::Interrupted(signal)) => {
                    return Ok(Status::Program(128 + u8::try_from(signal).unwrap_or(0)));
                }
                taken => Taken::new(taken.map_err(failure)?),
            };
            taken.tell(args.quiet, console)?;
        }
        (None, Some(core), Some(exe)) => {
            let path = output.unwrap_or_else(|| {
                let mut name = core.file_name().unwrap_or(OsStr::new("core")).to_owned();
                name.push(".heap");
                name.into()
            });
            let progress = open::progress(!args.quiet);
            let written = snapshot::of_core(core, exe, &path, strings, &progress);
            Taken::of_core(&written.map_err(failure)?).tell(args.quiet, console)?;
        }
        _ => return Err(Failure::Usage("give a process id, or --core FILE --exe FILE".to_owned())),
    }
    Ok(Status::Done)
}

/// The entry point of walkers, started by frozen copies.
pub fn walk_frozen() -> Result<Status, Failure> {
    snapshot::walk_frozen().map_err(failure)?;
    Ok(Status::Done)
}

/// The entry point of a trial process, started by `record`.
pub fn try_copying() -> Result<Status, Failure> {
    bactrian_capture::seccomp::try_copying()?;
    Ok(Status::Done)
}

/// The messages about a snapshot, for the terminal and the page.
pub struct Taken {
    /// Its contents, its path, and how the program was affected.
    about: Vec<String>,
    /// What it lacks, which is always reported.
    gaps: Vec<String>,
}

impl Taken {
    /// For a snapshot of a process.
    pub fn new((written, way, pause): (Written, FreezeMethod, Duration)) -> Taken {
        let mut taken = Taken::of_core(&written);
        let pause = show_time(Micros(u64::try_from(pause.as_micros()).unwrap_or(u64::MAX)));
        taken.about.push(match way {
            FreezeMethod::Copied => format!("the program was paused for {pause}"),
            FreezeMethod::Stopped { reason } => format!(
                "the program was paused until it was read: it could not be copied ({reason})"
            ),
        });
        taken
    }

    /// For a snapshot from a core file.
    fn of_core(Written { path, summary }: &Written) -> Taken {
        let blocks = show_number(summary.blocks(), "block");
        let live = show_bytes((summary.words() * 8) as f64);
        let file = show_bytes(summary.bytes as f64);
        Taken {
            about: vec![format!("{blocks} of {live} in {} ({file})", path.display())],
            gaps: summary.gaps.iter().map(|gap| format!("missing: {gap}")).collect(),
        }
    }

    fn tell(&self, quiet: bool, console: &mut Console) -> Result<(), Failure> {
        let about = self.about.iter().filter(|_| !quiet);
        for what in about.chain(&self.gaps) {
            console.note(what)?;
        }
        Ok(())
    }

    /// All messages.
    pub fn sentences(self) -> Vec<String> {
        [self.about, self.gaps].concat()
    }
}

/// The error for a snapshot that could not be taken.
pub fn failure(failure: snapshot::Failure) -> Failure {
    match failure {
        snapshot::Failure::Refused(what) => Failure::NotSupported(what),
        other => Failure::Input(other.into()),
    }
}

fn default_name(pid: u32) -> PathBuf {
    PathBuf::from(format!("{}.heap", stem(pid)))
}

/// The stem of the names of a process's snapshots.
pub fn stem(pid: u32) -> String {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let program = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let program = program.as_deref().map(|name| name.trim_end_matches(" (deleted)"));
    format!("{}.pid{pid}", program.unwrap_or("program"))
}
