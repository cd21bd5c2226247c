//! Arguments that name files: a trace, a snapshot, several snapshots.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::TraceFile;
use bactrian_analysis::heap::{Heap, HeapError, OpenOptions, TypeCoverage, Types, type_coverage};
use bactrian_analysis::question::FileNumber;
use bactrian_trace::Losses;
use serde::Serialize;

use crate::evidence::Files;
use crate::failure::{Failure, Status};
use crate::indexes::IndexArg;
use crate::open::{account, bad_snapshot, file_progress, open};
use crate::output::{Console, FAINT, print_json, show_number, visible};
use crate::types::TypesArg;

/// The trace a command is about.
#[derive(clap::Args, Debug)]
pub struct TraceArg {
    /// Trace file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Fail (status 3) if anything in the file is lost or damaged
    #[arg(long)]
    pub strict: bool,
}

/// The help of [`TraceArg`]'s file in commands that also take snapshots.
pub fn or_snapshot(file: clap::Arg) -> clap::Arg {
    file.help("Trace or heap snapshot; `-` is standard input")
}

impl TraceArg {
    /// Opens the trace.
    pub fn open(&self) -> Result<TraceFile, Failure> {
        open(&self.file)
    }

    /// The trace as evidence for a question.
    pub fn files(&self) -> Files {
        Files::traces([self.file.clone()], self.strict)
    }

    /// Reports losses, or fails with `strict`.
    pub fn account(&self, losses: &Losses, console: &mut Console) -> Result<(), Failure> {
        account(&self.file, self.strict, losses, console)
    }
}

/// The snapshot that a question is about.
#[derive(clap::Args, Clone, Debug)]
pub struct HeapArg {
    /// Heap snapshot; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Fail (status 3) if anything in the file is lost or damaged
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub types: TypesArg,
    #[command(flatten)]
    pub index: IndexArg,
}

/// Snapshots that a question is about, in the order in which they were taken.
#[derive(clap::Args, Debug)]
pub struct HeapsArg {
    /// Heap snapshots, the earliest first
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Fail (status 3) if anything in a file is lost or damaged
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub types: TypesArg,
    #[command(flatten)]
    pub index: IndexArg,
}

impl HeapsArg {
    /// The arguments for each snapshot.
    pub fn each(&self) -> Vec<HeapArg> {
        let (strict, index) = (self.strict, self.index);
        let one = |file: &PathBuf| {
            let (file, types) = (file.clone(), self.types.clone());
            HeapArg { file, strict, types, index }
        };
        self.files.iter().map(one).collect()
    }

    /// The name of a snapshot, as it was given.
    pub fn name(&self, file: FileNumber) -> String {
        self.files.get(file.0).map(|file| file.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The snapshots as evidence for a question.
    pub fn files(&self) -> Files {
        Files::snapshots(self.each(), self.strict)
    }
}

impl HeapArg {
    /// The snapshot as evidence for a question.
    pub fn files(&self) -> Files {
        Files::snapshots([self.clone()], self.strict)
    }

    /// Opens the snapshot.
    pub fn open(&self, console: &mut Console) -> Result<Heap, Failure> {
        let types = self.types.for_snapshot(&self.file, console)?.map(Types::new);
        let options = OpenOptions { indexes: self.index.store(console)?, types };
        let opened = Heap::open(&self.file, &options, &mut file_progress(&self.file));
        Ok(opened.map_err(|error| match error {
            HeapError::Snapshot(error) => bad_snapshot(&self.file, &error),
            HeapError::Graph(_) => anyhow::anyhow!("{}: {error}", self.file.display()),
        })?)
    }

    /// Prints an answer as JSON.
    pub fn print_json(
        &self,
        verb: &str,
        heap: &Heap,
        result: &impl Serialize,
        console: &mut Console,
    ) -> Result<(), Failure> {
        Ok(print_json(console, &format!("heap {verb}"), &self.file, heap.losses(), result)?)
    }

    /// To be called after the answer was printed: saves what was computed, and reports the losses of the
    /// file, or fails with `strict`.
    pub fn finish(&self, heap: &Heap, console: &mut Console) -> Result<Status, Failure> {
        console.flush()?;
        if let Some(blocks @ 1..) = heap.unreached_if_known() {
            let what = show_number(blocks, "block");
            console.warn(&format!(
                "{}: {what} cannot be reached from any root that the snapshot has; they are attributed \
                 to no root",
                self.file.display()
            ))?;
        }
        heap.keep();
        account(&self.file, self.strict, heap.losses(), console)?;
        Ok(Status::Done)
    }
}

/// Prints how many types are known, below a table with types.
pub fn say_coverage(heap: &Heap, console: &mut Console) -> Result<(), Failure> {
    say_coverage_of(type_coverage(heap).as_ref(), console)
}

pub fn say_coverage_of(
    coverage: Option<&TypeCoverage>,
    console: &mut Console,
) -> Result<(), Failure> {
    if let Some(coverage) = coverage {
        writeln!(console.out(), "{FAINT}types: {}{FAINT:#}", visible(&coverage.text()))?;
    }
    Ok(())
}
