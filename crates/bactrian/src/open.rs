//! Opens traces and snapshots, with progress on long reads, and reports losses.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use bactrian_advice::file::GcResult;
use bactrian_analysis::TraceFile;
use bactrian_analysis::question::EvidenceLosses;
use bactrian_live::recording;
use bactrian_snapshot::{Snapshot, is_snapshot};
use bactrian_trace::Input;
use bactrian_types::Table;

use crate::failure::Failure;
use crate::output::Console;

/// Larger files get a progress bar, in bytes.
const LONG: usize = 50_000_000;
/// As do larger snapshots while the graph is built: they are about a hundred times smaller than the heap.
const LONG_SNAPSHOT: u64 = 2_000_000;

/// The contents of a file.
pub enum Evidence {
    /// A trace.
    Trace(Box<TraceFile>),
    /// A heap snapshot.
    Snapshot(Box<Snapshot>),
}

/// Opens the file at `path`, whatever it contains.
pub fn open_evidence(path: &Path) -> Result<Evidence, Failure> {
    let input = open_input(path)?;
    if is_snapshot(&input) {
        return Ok(Evidence::Snapshot(Box::new(snapshot(path, input)?)));
    }
    trace(path, input).map(|trace| Evidence::Trace(Box::new(trace)))
}

/// Opens the snapshot at `path`.
pub fn open_snapshot(path: &Path) -> Result<Snapshot, Failure> {
    snapshot(path, open_input(path)?)
}

fn snapshot(path: &Path, input: Input) -> Result<Snapshot, Failure> {
    Ok(Snapshot::from_bytes(input).map_err(|error| bad_snapshot(path, &error))?)
}

/// Opens a type table.
pub fn open_types(path: &Path) -> Result<Table, Failure> {
    let bytes = std::fs::read(path).map_err(|error| anyhow::anyhow!("{}: {error}", name(path)))?;
    Ok(Table::read(&bytes).map_err(|error| {
        let hint = match error {
            bactrian_types::TypeTableError::NotATable => {
                ". Tables of types are written by `bactrian \
                types build`"
            }
            _ => ". Build it again with `bactrian types build`",
        };
        anyhow::anyhow!("{}: {error}{hint}", name(path))
    })?)
}

/// Why a snapshot cannot be opened.
pub fn bad_snapshot(path: &Path, error: &bactrian_snapshot::SnapshotError) -> anyhow::Error {
    let hint = match error {
        bactrian_snapshot::SnapshotError::Version(version)
            if *version < bactrian_snapshot::VERSION =>
        {
            ". It was taken by an older Bactrian: take a new one"
        }
        bactrian_snapshot::SnapshotError::Version(_) => NEWER,
        bactrian_snapshot::SnapshotError::NotASnapshot { .. } => {
            ". Snapshots are written by `bactrian record --snapshots` and `bactrian snapshot`; \
             use `bactrian top` and others for traces"
        }
        _ => "",
    };
    anyhow::anyhow!("{}: {error}{hint}", name(path))
}

/// Opens the trace at `path`.
pub fn open(path: &Path) -> Result<TraceFile, Failure> {
    trace(path, open_input(path)?)
}

const NEWER: &str = ". A newer Bactrian may read it";

fn open_input(path: &Path) -> Result<Input, Failure> {
    Ok(Input::open(path).map_err(|error| anyhow::anyhow!("{}: {error}", name(path)))?)
}

fn trace(path: &Path, input: Input) -> Result<TraceFile, Failure> {
    let hint = match input.get(..) {
        Some(bytes) if is_snapshot(bytes) => {
            ". It is a heap snapshot: use `bactrian heap`, `info` or `check`"
        }
        Some(bytes) if bytes.starts_with(recording::MAGIC) => {
            ". It is a recording: use `bactrian live`"
        }
        Some(bytes) if GcResult::is_one(bytes.get(..64).unwrap_or(bytes)) => {
            ". It is a result of `bactrian gc`: use that, or `bactrian view`"
        }
        _ => {
            ". Traces are written by `bactrian record`, and by programs linked with memtrace to \
            the file that MEMTRACE names"
        }
    };
    let trace = TraceFile::new(input).map_err(|error| {
        let hint = match error {
            bactrian_trace::TraceError::NotATrace { .. } => hint,
            bactrian_trace::TraceError::Version(_) => NEWER,
            bactrian_trace::TraceError::Io(_) => "",
        };
        anyhow::anyhow!("{}: {error}{hint}", name(path))
    })?;
    if trace.bytes().len() > LONG && std::io::stderr().is_terminal() {
        return Ok(trace.with_progress(progress_bar("reading")));
    }
    Ok(trace)
}

/// Progress of reading a snapshot: a bar on long reads, otherwise nothing.
pub fn snapshot_progress(snapshot: &Snapshot) -> impl FnMut(f64) + use<> {
    progress(snapshot.file_bytes() > LONG as u64)
}

/// Likewise, for a snapshot that is not yet open and will be read completely.
pub fn file_progress(path: &Path) -> impl FnMut(f64) + use<> {
    progress(path.metadata().is_ok_and(|metadata| metadata.len() > LONG_SNAPSHOT))
}

/// A bar on standard error, if that is a terminal and the operation is long.
pub fn progress(is_long: bool) -> impl Fn(f64) + use<> {
    let bar = (is_long && std::io::stderr().is_terminal()).then(|| progress_bar("reading"));
    move |share| {
        if let Some(bar) = &bar {
            bar(share);
        }
    }
}

/// Reports the losses of a file, or fails with `strict`.
pub fn account(
    path: &Path,
    strict: bool,
    losses: &(impl Into<EvidenceLosses> + Clone),
    console: &mut Console,
) -> Result<(), Failure> {
    let losses = losses.clone().into();
    for sentence in losses.sentences() {
        console.warn(&format!("{}: {sentence}", name(path)))?;
    }
    if strict && !losses.is_clean() { Err(damaged(path, losses.first())) } else { Ok(()) }
}

fn damaged(path: &Path, first: Option<(u64, &str)>) -> Failure {
    let place = match first {
        Some((offset, what)) => format!(", first at byte {offset}: {what}"),
        None => String::new(),
    };
    Failure::Input(anyhow::anyhow!(
        "{} is damaged{place}. Without --strict, what can be read is used",
        name(path)
    ))
}

/// The name of a file for people.
pub fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() }
}

/// A progress bar on standard error, with a title, that disappears when it is full.
pub fn progress_bar(what: &'static str) -> bactrian_analysis::Progress {
    const WIDTH: usize = 40;
    let shown = AtomicUsize::new(usize::MAX);
    Box::new(move |share| {
        let percent = (share * 100.0) as usize;
        let before = shown.swap(percent, Ordering::Relaxed);
        // A bar that never appeared need not disappear.
        if before == percent || before == usize::MAX && percent >= 100 {
            return;
        }
        let mut err = std::io::stderr().lock();
        // Failing to draw a progress bar is no reason to fail.
        let _ = if percent >= 100 {
            write!(err, "\r{:width$}\r", "", width = WIDTH + 20)
        } else {
            let done = percent * WIDTH / 100;
            write!(
                err,
                "\r{what} [{:#<done$}{:.<left$}] {percent:3} %",
                "",
                "",
                left = WIDTH - done
            )
        };
        let _ = err.flush();
    })
}
