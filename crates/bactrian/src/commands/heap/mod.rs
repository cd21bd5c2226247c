//! `bactrian heap`: who holds the memory of a heap snapshot. One file per verb, each thin: open, ask, show.

mod classes;
mod collections;
pub mod diff;
mod dominators;
mod duplicates;
mod evolution;
pub mod export;
mod fields;
mod finalisers;
mod graph;
mod paths;
mod roots;
mod show;
mod summary;
mod suspects;
mod types;

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::heap::{
    ClassBy, Heap, HeapError, NO_TABLE, OpenOptions, TypeCoverage, Types, type_coverage,
};
use serde::Serialize;

use crate::evidence::Files;
use crate::failure::{Failure, Status};
use crate::indexes::IndexArg;
use crate::open::{account, bad_snapshot, file_progress};
use crate::output::{Console, FAINT, print_json, show_number, visible};
use crate::types::TypesArg;

/// Who holds the memory of a heap snapshot, and what it is.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap summary server.1.heap        what the memory is used for
  bactrian heap roots server.1.heap          who holds it
  bactrian heap types server.1.heap --types server.types   of which OCaml types the blocks are
  bactrian heap suspects server.1.heap       what is likely wrong
  bactrian heap dominators server.1.heap     what would be free without whom
  bactrian heap diff server.*.heap           what grows
  bactrian heap evolution server.*.heap --by module   what each module has in each snapshot
  bactrian heap duplicates server.1.heap     what is there more than once
  bactrian heap collections server.1.heap --types server.types   lists, tables, maps: how many, how full
  bactrian heap fields server.1.heap Main.entry --types server.types   what each field holds
  bactrian heap graph server.1.heap -o h.svg  all of it in one picture

What is computed is kept in an index, in ~/.cache/bactrian/indexes, so that the next question is answered at once
(--no-index keeps none).")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// One variant per verb; each is defined beside its code.
#[derive(clap::Subcommand, Debug)]
enum Verb {
    Summary(summary::Args),
    Roots(roots::Args),
    Types(types::Args),
    /// Blocks by their tags
    Tags(classes::ClassArgs),
    /// Blocks by the place that allocated them, estimated from samples
    Sites(classes::ClassArgs),
    /// Blocks by the function that allocated them, estimated from samples
    Functions(classes::ClassArgs),
    /// Blocks by the module that allocated them, estimated from samples
    Modules(classes::ClassArgs),
    Dominators(dominators::Args),
    Show(show::Args),
    Export(export::Args),
    Paths(paths::Args),
    Finalisers(finalisers::Args),
    Suspects(suspects::Args),
    Diff(diff::Args),
    Evolution(evolution::Args),
    Duplicates(duplicates::Args),
    Graph(graph::Args),
    Collections(collections::Args),
    Fields(fields::Args),
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    match &args.verb {
        Verb::Summary(args) => summary::run(args, console),
        Verb::Roots(args) => roots::run(args, console),
        Verb::Types(args) => types::run(args, console),
        Verb::Tags(args) => classes::run(args, ClassBy::Tag, console),
        Verb::Sites(args) => classes::run(args, ClassBy::Site, console),
        Verb::Functions(args) => classes::run(args, ClassBy::Function, console),
        Verb::Modules(args) => classes::run(args, ClassBy::Module, console),
        Verb::Dominators(args) => dominators::run(args, console),
        Verb::Show(args) => show::run(args, console),
        Verb::Export(args) => export::run(args, console),
        Verb::Paths(args) => paths::run(args, console),
        Verb::Finalisers(args) => finalisers::run(args, console),
        Verb::Suspects(args) => suspects::run(args, console),
        Verb::Diff(args) => diff::run(args, console),
        Verb::Evolution(args) => evolution::run(args, console),
        Verb::Duplicates(args) => duplicates::run(args, console),
        Verb::Graph(args) => graph::run(args, console),
        Verb::Collections(args) => collections::run(args, console),
        Verb::Fields(args) => fields::run(args, console),
    }
}

/// What is said to who asks for types without a table.
pub fn no_types() -> Failure {
    Failure::Usage(NO_TABLE.to_owned())
}

/// Says how well types are known, below a table that shows them.
pub fn say_coverage(heap: &Heap, console: &mut Console) -> Result<(), Failure> {
    say_coverage_of(type_coverage(heap).as_ref(), console)
}

fn say_coverage_of(coverage: Option<&TypeCoverage>, console: &mut Console) -> Result<(), Failure> {
    if let Some(coverage) = coverage {
        writeln!(console.out(), "{FAINT}types: {}{FAINT:#}", visible(&coverage.text()))?;
    }
    Ok(())
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
    types: TypesArg,
    #[command(flatten)]
    index: IndexArg,
}

/// Snapshots that a question is about, in the order in which they were taken.
#[derive(clap::Args, Debug)]
pub struct HeapsArg {
    /// Heap snapshots, the first one first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Fail (status 3) if anything in a file is lost or damaged
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    types: TypesArg,
    #[command(flatten)]
    index: IndexArg,
}

impl HeapsArg {
    /// Each by itself.
    pub fn each(&self) -> Vec<HeapArg> {
        let (strict, index) = (self.strict, self.index);
        let one = |file: &PathBuf| {
            let (file, types) = (file.clone(), self.types.clone());
            HeapArg { file, strict, types, index }
        };
        self.files.iter().map(one).collect()
    }

    /// The last of them, as it was named.
    pub fn last(&self) -> String {
        self.files.last().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// To ask questions of them.
    pub fn files(&self) -> Files {
        Files::snapshots(self.each(), self.strict)
    }
}

impl HeapArg {
    /// To ask questions of it.
    pub fn files(&self) -> Files {
        Files::snapshots([self.clone()], self.strict)
    }

    /// Opens it.
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

    /// To be called when the answer is told: keeps what was computed, and says what is lost of the file, or fails if
    /// nothing may be.
    pub fn finish(&self, heap: &Heap, console: &mut Console) -> Result<Status, Failure> {
        console.flush()?;
        if let Some(blocks @ 1..) = heap.unreached_if_known() {
            let what = show_number(blocks, "block");
            console.warn(&format!(
                "{}: {what} cannot be reached from any root that the snapshot has; nobody is said to \
                 hold them",
                self.file.display()
            ))?;
        }
        heap.keep();
        account(&self.file, self.strict, heap.losses(), console)?;
        Ok(Status::Done)
    }
}
