//! What the page shows: files of any kind and running programs, named on the command line.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use bactrian_analysis::heap::{Heap, HeapError, OpenOptions, Types, info};
use bactrian_capture::DEFAULT_RATE;
use bactrian_live::{Limits, recording};
use bactrian_web::{Evidence, File, HeapOpener, NewSnapshot};

use crate::commands::{fleet, gc};
use crate::failure::{Failure, Status};
use crate::indexes::IndexArg;
use crate::live::Session;
use crate::live::opening::{HowToWatch, WAITING, short_name, stay};
use crate::live::shared::SharedSession;
use crate::live::snapshots::SnapshotsOf;
use crate::live::source::Target;
use crate::open::{self, bad_snapshot, open_evidence};
use crate::output::{Color, Console};
use crate::python_engine::OtherEngine;
use crate::threads::{NO_THREAD, ReservedThread};
use crate::types::TypesArg;

/// The files to show.
#[derive(clap::Args, Clone, Debug)]
pub struct ShownArgs {
    /// Traces, heap snapshots, recordings and results of `bactrian gc`, in any order; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    types: TypesArg,
    #[command(flatten)]
    index: IndexArg,
}

/// What may be shown in addition to files.
pub struct Running<'c> {
    /// A program to start, with its arguments; empty for none.
    pub command: &'c [OsString],
    /// Whether the page may take snapshots of programs.
    pub may_take_snapshots: bool,
    /// What answers questions about stores of profiles, instead of our engine.
    pub fleet_engine: Option<&'c OtherEngine>,
}

/// What is shown, and the program that was started for it.
pub struct Shown {
    /// The evidence for the page.
    pub evidence: Evidence,
    /// The started program.
    pub started: Option<StartedProgram>,
}

/// A program that was started here.
pub struct StartedProgram {
    session: SharedSession,
    end: JoinHandle<Option<ExitStatus>>,
}

impl StartedProgram {
    /// Stops observing it, but waits until it ends.
    pub fn stay(self, console: &mut Console) -> Result<Status, Failure> {
        stay(Some(self.end), self.session.stop(), console)
    }
}

/// How programs are observed for the page: as by `bactrian live`, without capturing their output.
const HOW: HowToWatch<'_> = HowToWatch {
    every: Duration::from_millis(200),
    rate: DEFAULT_RATE,
    token: "",
    is_captured: false,
};

impl ShownArgs {
    /// These files, with default type tables.
    pub fn of(files: Vec<PathBuf>) -> ShownArgs {
        ShownArgs { files, types: TypesArg::default(), index: IndexArg::default() }
    }

    /// Likewise, for files that will be removed soon.
    pub fn of_passing(files: Vec<PathBuf>) -> ShownArgs {
        ShownArgs { index: IndexArg::NONE, ..ShownArgs::of(files) }
    }

    /// Opens only files, for a page that is written once: recordings are read to their end.
    pub fn open_files(&self, console: &mut Console) -> Result<Shown, Failure> {
        self.open(None, console)
    }

    /// Opens everything; large snapshots continue opening in the background. Words that are not files may
    /// name processes or listening programs, and a program may be started.
    pub fn open_all(&self, running: &Running<'_>, console: &mut Console) -> Result<Shown, Failure> {
        self.open(Some(running), console)
    }

    fn open(&self, running: Option<&Running<'_>>, console: &mut Console) -> Result<Shown, Failure> {
        let command = running.map_or(&[][..], |running| running.command);
        if self.files.is_empty() && command.is_empty() {
            return Err(Failure::Usage("nothing to show: name at least one file".to_owned()));
        }
        let mut files = Vec::new();
        for path in &self.files {
            if fleet::is_store(path) {
                files.push(store(path, running)?);
                continue;
            }
            if path.is_file() && gc::is_result(path).unwrap_or_default() {
                files.push(File::gc(path, gc::read_result(path)?));
                continue;
            }
            files.push(match self.running(path, running)? {
                Some(live) => live,
                None => self.file(path, console)?,
            });
        }
        let mut started = None;
        if let Some((name, arguments)) = command.split_first() {
            let (messages, incoming) = sync_channel(WAITING);
            let thread = ReservedThread::new().context(NO_THREAD)?;
            let program = HOW.start(name, arguments, messages)?;
            let session = Session::new(incoming, Limits::default()).with_wish(program.wish);
            let session = SharedSession::start(session, thread);
            let name = short_name(name);
            let file = File::live(Path::new(&name), Box::new(session.clone()));
            files.push(self.with_snapshots(file, program.pid, running));
            started = Some(StartedProgram { session, end: program.end });
        }
        Ok(Shown { evidence: Evidence::new(files), started })
    }

    /// A source of live numbers: a recording, or if running programs are permitted, a process or a listening
    /// program.
    fn running(&self, path: &Path, running: Option<&Running<'_>>) -> Result<Option<File>, Failure> {
        let is_live = running.is_some();
        let target = match path.to_str().map(Target::of) {
            Some(Ok(Target::File(path))) if !is_recording(&path) => return Ok(None),
            // Opening it as a file reports the error.
            Some(Err(_)) | None => return Ok(None),
            Some(Ok(target)) => target,
        };
        let is_file = matches!(target, Target::File(_));
        if !is_file && !is_live {
            let what = "a report is made from files: record the program first (bactrian live --record \
                 run.live)";
            return Err(Failure::Usage(format!("{}: {what}", path.display())));
        }
        let pid = if let Target::Process(pid) = target { Some(pid) } else { None };
        let (messages, incoming) = sync_channel(WAITING);
        let wish = HOW.open(target, messages)?;
        // Everything in a recording is shown.
        let window = if is_file { Duration::MAX } else { Limits::default().window };
        let mut session = Session::new(incoming, Limits { window, ..Limits::default() });
        if let Some(wish) = wish {
            session = session.with_wish(wish);
        }
        let session = SharedSession::start(session, ReservedThread::new().context(NO_THREAD)?);
        if !is_live {
            session.wait();
        }
        let file = File::live(path, Box::new(session));
        Ok(Some(match pid {
            Some(pid) => self.with_snapshots(file, pid, running),
            None => file,
        }))
    }

    /// A process, with a way to take snapshots if that is permitted. They are opened like named ones.
    fn with_snapshots(&self, file: File, pid: u32, running: Option<&Running<'_>>) -> File {
        let may = running.is_some_and(|running| running.may_take_snapshots);
        let Some(process) = may.then(|| SnapshotsOf::process(pid)).flatten() else { return file };
        let named = self.clone();
        file.with_taker(Box::new(move |progress| {
            let (path, said) = process.take(progress)?;
            let opened = named.file(&path, &mut Console::new(Color::Never));
            let file = opened.map_err(|failure| failure.to_string())?;
            Ok(NewSnapshot { file, said })
        }))
    }

    /// Opens only the named files.
    pub fn files(&self, console: &mut Console) -> Result<Vec<File>, Failure> {
        self.files.iter().map(|path| self.file(path, console)).collect()
    }

    /// Opens a trace or a snapshot.
    pub fn file(&self, path: &Path, console: &mut Console) -> Result<File, Failure> {
        let snapshot = match open_evidence(path)? {
            open::Evidence::Trace(trace) => return Ok(File::trace(path, *trace)),
            open::Evidence::Snapshot(snapshot) => *snapshot,
        };
        let types = self.types.for_snapshot(path, console)?.map(Types::new);
        let header = info(&snapshot);
        let place = path.to_owned();
        let options = OpenOptions { indexes: self.index.store(console)?, types };
        // Data from a pipe can be read only once.
        let piped = Mutex::new((path == Path::new("-")).then_some(snapshot));
        let open: HeapOpener = Box::new(move |progress| {
            let piped = piped.lock().unwrap_or_else(PoisonError::into_inner).take();
            let opened = match piped {
                Some(snapshot) => Heap::with_types(snapshot, options.types.as_ref(), progress),
                None => Heap::open(&place, &options, progress),
            };
            opened.map_err(|error| match error {
                HeapError::Snapshot(error) => bad_snapshot(&place, &error).to_string(),
                HeapError::Graph(_) => format!("{}: {error}", place.display()),
            })
        });
        Ok(File::snapshot(path, header, open).with_options(self.types.words()))
    }
}

/// A store of profiles.
fn store(path: &Path, running: Option<&Running<'_>>) -> Result<File, Failure> {
    let Some(running) = running else {
        let what = "a report cannot show a store of profiles: `bactrian view` does";
        return Err(Failure::Usage(format!("{}: {what}", path.display())));
    };
    let file = File::fleet(path, fleet::engine_for_page(path, running.fleet_engine));
    Ok(match running.fleet_engine {
        Some(engine) => file.with_options(vec!["--engine".to_owned(), engine.to_string()]),
        None => file,
    })
}

/// Whether a file was written by `bactrian live --record`. Anything that cannot be read twice is not
/// examined.
pub fn is_recording(path: &Path) -> bool {
    let mut first = [0; recording::MAGIC.len()];
    let read = |mut file: fs::File| file.read_exact(&mut first).is_ok();
    path.is_file() && fs::File::open(path).is_ok_and(read) && first == *recording::MAGIC
}
