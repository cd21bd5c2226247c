//! What the page shows: files of any kind, named on the command line.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bactrian_analysis::heap::{Heap, HeapError, OpenOptions, Types, info};
use bactrian_web::{Evidence, File, HeapOpener};

use crate::failure::Failure;
use crate::open::{self, bad_snapshot, open_evidence};
use crate::output::Console;
use crate::types::TypesArg;

/// What is to be shown.
#[derive(clap::Args, Debug)]
pub struct ShownArgs {
    /// Traces, heap snapshots and recordings of live numbers, in any order; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    types: TypesArg,
    /// Neither use nor keep indices beside snapshots
    #[arg(long, hide = true)]
    no_index: bool,
}

impl ShownArgs {
    /// Opens them; large snapshots go on opening in the background.
    pub fn open(&self, console: &mut Console) -> Result<Evidence, Failure> {
        let files = self.files.iter().map(|path| self.file(path, console));
        Ok(Evidence::new(files.collect::<Result<_, _>>()?))
    }

    fn file(&self, path: &Path, console: &mut Console) -> Result<File, Failure> {
        let snapshot = match open_evidence(path)? {
            open::Evidence::Trace(trace) => return Ok(File::trace(path, *trace)),
            open::Evidence::Snapshot(snapshot) => *snapshot,
        };
        let types = self.types.for_snapshot(path, console)?.map(Types::new);
        let header = info(&snapshot);
        let place = path.to_owned();
        let index = !self.no_index;
        // What comes through a pipe can be read once only; others are opened by their names, which is how indices are found.
        let piped = Mutex::new((path == Path::new("-")).then_some(snapshot));
        let open: HeapOpener = Box::new(move |progress| {
            let piped = piped.lock().unwrap_or_else(PoisonError::into_inner).take();
            let opened = match piped {
                Some(snapshot) => Heap::with_types(snapshot, types.as_ref(), progress),
                None => Heap::open(&place, &OpenOptions { index, types: types.clone() }, progress),
            };
            opened.map_err(|error| match error {
                HeapError::Snapshot(error) => bad_snapshot(&place, &error).to_string(),
                HeapError::Graph(_) => format!("{}: {error}", place.display()),
            })
        });
        Ok(File::snapshot(path, header, open))
    }
}
