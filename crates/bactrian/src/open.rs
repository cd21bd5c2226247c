//! Opening traces, with progress on long reads and a word on what was lost.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use bactrian_analysis::TraceFile;
use bactrian_trace::Losses;

use crate::failure::Failure;
use crate::output::Console;

/// Files over this size get a progress bar.
const LONG: usize = 50_000_000;

/// The trace a command is about.
#[derive(clap::Args, Debug)]
pub struct TraceArg {
    /// Trace file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Fail (status 3) if anything in the file was lost or damaged
    #[arg(long)]
    pub strict: bool,
}

impl TraceArg {
    /// Opens it.
    pub fn open(&self) -> Result<TraceFile, Failure> {
        open(&self.file)
    }

    /// Tells what was lost, or fails if nothing may be.
    pub fn account(&self, losses: &Losses, console: &mut Console) -> Result<(), Failure> {
        account(&self.file, self.strict, losses, console)
    }
}

/// Opens the trace at `path`.
pub fn open(path: &Path) -> Result<TraceFile, Failure> {
    let trace = TraceFile::open(path).map_err(|error| {
        let hint = match error {
            bactrian_trace::Error::NotATrace { .. } => {
                ". A trace is the file that MEMTRACE names when a program linked with memtrace runs"
            }
            bactrian_trace::Error::Version(_) => ". A newer Bactrian may read it",
            bactrian_trace::Error::Io(_) => "",
        };
        anyhow::anyhow!("{}: {error}{hint}", name(path))
    })?;
    if trace.bytes().len() > LONG && std::io::stderr().is_terminal() {
        return Ok(trace.with_progress(progress_bar()));
    }
    Ok(trace)
}

/// Tells what was lost in reading, or fails if nothing may be.
pub fn account(
    path: &Path,
    strict: bool,
    losses: &Losses,
    console: &mut Console,
) -> Result<(), Failure> {
    for sentence in losses.sentences() {
        console.warn(&format!("{}: {sentence}", name(path)))?;
    }
    if strict && !losses.is_clean() {
        let place = match losses.incidents.first() {
            Some(first) => format!(", first at byte {}: {}", first.offset, first.what),
            None => String::new(),
        };
        let what = anyhow::anyhow!(
            "{} is damaged{place}. Without --strict, what can be read is used",
            name(path)
        );
        return Err(Failure::Input(what));
    }
    Ok(())
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy() }
}

/// A bar on standard error that goes away when it is full.
fn progress_bar() -> bactrian_analysis::Progress {
    const WIDTH: usize = 40;
    let shown = Cell::new(None);
    Box::new(move |share| {
        let percent = (share * 100.0) as usize;
        if shown.replace(Some(percent)) == Some(percent) {
            return;
        }
        let mut err = std::io::stderr().lock();
        // A progress bar that cannot be drawn is no reason to fail.
        let _ = if percent >= 100 {
            write!(err, "\r{:width$}\r", "", width = WIDTH + 20)
        } else {
            let done = percent * WIDTH / 100;
            write!(
                err,
                "\rreading [{:#<done$}{:.<left$}] {percent:3} %",
                "",
                "",
                left = WIDTH - done
            )
        };
        let _ = err.flush();
    })
}
