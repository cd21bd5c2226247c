//! `bactrian query`: SQL over snapshots, traces and recordings.
//!
//! The engine is a separate program ([`crate::engine`]). It parses the same command line, opens files like
//! every command, and queries them ([`answer`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bactrian_analysis::heap::Heap;
use bactrian_tables::{HeapTables, RecordingTables, Tables, TraceTables};
use bactrian_web::QueryEngine;

use crate::commands;
use crate::engine::process::{self, Limits};
use crate::engine::{self, Engine};
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::indexes::IndexArg;
use crate::open::{self, Evidence, account, open_evidence};
use crate::output::Console;
use crate::shown::is_recording;
use crate::types::TypesArg;

/// Limits of an answer for the page.
const LIMITS: Limits = Limits { bytes: 8 << 20, time: Duration::from_secs(120) };

/// Query snapshots, traces and recordings in SQL.
///
/// Snapshots have the tables blocks, edges, roots, classes and strings; traces have objects, stacks and frames; recordings
/// have values. docs/tables.md lists their columns, with many examples. With several files, every table has the rows of all
/// files, and a column `file` says which file a row is from. Snapshots also have functions: path(id) is the path from a root
/// to a block; dominated_by(id), reachable(id) and paths_to_roots(id) are tables. Without a query, a prompt opens.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian query server.heap                                       a prompt
  bactrian query server.heap \"select type, count(*), sum(words) from blocks group by type order by 3 desc limit 10\"
  bactrian query server.heap \"select id, retained, path(id) from blocks order by retained desc limit 5\"
  bactrian query server.heap \"select * from dominated_by(1234) order by words desc limit 10\"
  bactrian query a.heap b.heap \"select file, sum(bytes) from classes group by file\"
  bactrian query server.ctf --to csv \"select leaf, sum(samples) from objects join stacks using (stack) group by leaf\"
  echo \"select count(*) from edges\" | bactrian query server.heap --to json")]
pub struct Args {
    /// Files, then the query: the last argument, unless a file has that name
    #[arg(value_name = "FILE.. [SQL]", required = true)]
    words: Vec<OsString>,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table")]
    to: Format,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print how the query would be executed, instead of executing it
    #[arg(long)]
    explain: bool,
    /// Fail (status 3) if anything in a file is lost or damaged
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    types: TypesArg,
    #[command(flatten)]
    index: IndexArg,
}

/// Output format of a query.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people.
    Table,
    /// An array of rows, each an object.
    Json,
    /// Comma-separated values, with a header line.
    Csv,
    /// A Parquet file, for other engines.
    Parquet,
}

/// A request to the engine.
pub struct Request {
    /// The open files.
    pub files: Vec<OpenedFile>,
    /// The query; None starts a prompt.
    pub sql: Option<String>,
    /// The format of the answer.
    pub to: Format,
    /// The output file; None for standard output.
    pub output: Option<PathBuf>,
    /// Print the query plan instead.
    pub explain: bool,
}

/// A file that can be queried.
pub struct OpenedFile {
    /// Its name.
    pub name: String,
    /// Its tables.
    pub tables: Arc<dyn Tables>,
    /// The heap, if it is a snapshot.
    pub heap: Option<Arc<Heap>>,
}

/// Executes the program that has the engine.
pub fn run(args: &Args) -> Result<Status, Failure> {
    // Errors in the command line are reported before that.
    split(&args.words)?;
    engine::become_engine()
}

/// Answers queries of the page; None without an engine.
pub(crate) fn engine_for_page() -> Option<QueryEngine> {
    let engine = engine::find()?;
    Some(Box::new(move |options, files, sql| {
        let words = ["query", "--to", "json"].into_iter();
        let words = words.chain(options.iter().map(String::as_str));
        // An SQL comment begins like an option.
        let words = words.chain(["--"]).chain(files.iter().map(String::as_str)).chain([sql]);
        process::ask(&engine, words.map(OsStr::new), LIMITS)
    }))
}

/// Opens the files of the command line, and passes them to the engine.
pub(crate) fn answer(
    args: &Args,
    engine: &dyn Engine,
    console: &mut Console,
) -> Result<Status, Failure> {
    let (paths, sql) = split(&args.words)?;
    let sql = match sql {
        Some(sql) => Some(sql),
        None if io::stdin().is_terminal() => None,
        None => {
            let mut sql = String::new();
            io::stdin().read_to_string(&mut sql)?;
            Some(sql)
        }
    };
    let opened = paths.iter().map(|path| args.open(path, console));
    let opened = opened.collect::<Result<Vec<Opened>, Failure>>()?;
    let files = opened.iter().map(Opened::file).collect();
    let Args { to, output, explain, .. } = args;
    let request = Request { files, sql, to: *to, output: output.clone(), explain: *explain };
    engine.query(request, console)?;
    for file in &opened {
        args.finish(file, console)?;
    }
    Ok(Status::Done)
}

/// Splits the words into files and query.
fn split(words: &[OsString]) -> Result<(Vec<PathBuf>, Option<String>), Failure> {
    let is_file = |word: &OsString| Path::new(word).exists();
    let (files, sql) = match words {
        [files @ .., last] if !files.is_empty() && !is_file(last) => {
            let Some(sql) = last.to_str() else {
                return Err(Failure::Usage("the query is not valid UTF-8".to_owned()));
            };
            (files, Some(sql.to_owned()))
        }
        files => (files, None),
    };
    Ok((files.iter().map(PathBuf::from).collect(), sql))
}

/// An open file, with what is needed to report its losses at the end.
enum Opened {
    Heap(HeapArg, Arc<Heap>, Arc<HeapTables>),
    Trace(PathBuf, Arc<TraceTables>),
    Recording(PathBuf, Arc<RecordingTables>),
}

impl Opened {
    fn file(&self) -> OpenedFile {
        let (path, tables, heap): (&Path, Arc<dyn Tables>, _) = match self {
            Opened::Heap(arg, heap, tables) => {
                (&arg.file, Arc::clone(tables) as _, Some(Arc::clone(heap)))
            }
            Opened::Trace(path, tables) => (path, Arc::clone(tables) as _, None),
            Opened::Recording(path, tables) => (path, Arc::clone(tables) as _, None),
        };
        OpenedFile { name: open::name(path).into_owned(), tables, heap }
    }
}

impl Args {
    fn open(&self, path: &Path, console: &mut Console) -> Result<Opened, Failure> {
        if is_recording(path) {
            let database = commands::tables::read_recording(path, self.strict, console)?;
            let tables = RecordingTables::new(Arc::new(database));
            return Ok(Opened::Recording(path.to_owned(), Arc::new(tables)));
        }
        match open_evidence(path)? {
            Evidence::Trace(trace) => {
                let tables = TraceTables::new(Arc::from(trace));
                Ok(Opened::Trace(path.to_owned(), Arc::new(tables)))
            }
            Evidence::Snapshot(_) => {
                let arg = HeapArg {
                    file: path.to_owned(),
                    strict: self.strict,
                    types: self.types.clone(),
                    index: self.index,
                };
                let heap = Arc::new(arg.open(console)?);
                let tables = HeapTables::new(Arc::clone(&heap));
                Ok(Opened::Heap(arg, heap, Arc::new(tables)))
            }
        }
    }

    /// Reports the losses of a file, or fails with `strict`.
    fn finish(&self, file: &Opened, console: &mut Console) -> Result<(), Failure> {
        match file {
            Opened::Heap(arg, heap, _) => arg.finish(heap, console).map(drop),
            Opened::Trace(path, tables) => account(path, self.strict, &tables.losses(), console),
            Opened::Recording(..) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_the_query_unless_it_is_a_file() {
        let split = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            split(&words).expect("text")
        };
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(
            split(&["missing.heap", manifest, "select 1"]),
            (vec!["missing.heap".into(), manifest.into()], Some("select 1".to_owned()))
        );
        assert_eq!(split(&["missing.heap", manifest]).1, None);
        assert_eq!(split(&["missing.heap"]), (vec!["missing.heap".into()], None));
    }
}
