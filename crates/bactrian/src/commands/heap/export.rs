//! `bactrian heap export`: a heap in another tool's format.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bactrian_analysis::heap::MergedLimits;
use bactrian_export::{HeapFormat, HeapOptions, UnknownHeapFormat, Written, export_heap};
use bactrian_tables::HeapTables;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::commands::arguments::share;
use crate::commands::tables::{self, PARQUET};
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::indexes::IndexArg;
use crate::output::{Console, show_number, write_file};
use crate::types::TypesArg;

/// Write a heap for another tool.
///
/// hprof: for Eclipse MAT, VisualVM and other Java tools. heapsnapshot: for Chrome DevTools and memlab. pprof and dot: the
/// dominator tree, merged by class, for Go's pprof and Graphviz. json and csv: classes, or all blocks, for scripts. parquet: a
/// folder of tables of blocks, pointers, roots, classes and strings for DuckDB, pandas, Spark and other engines.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap export server.heap --to hprof -o server.hprof
  bactrian heap export server.heap --to pprof -o held.pb.gz && go tool pprof -http : held.pb.gz
  bactrian heap export server.heap --to csv --blocks -o blocks.csv
  bactrian heap export server.heap --to parquet -o tables && duckdb -c \"from 'tables/blocks.parquet'\"")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    to: HeapTarget,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// pprof, dot, json: merge what retains less than this share of the heap, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = MIN_SHARE)]
    min_share: f64,
    /// pprof, dot, json: levels of the dominator tree that are kept apart
    #[arg(long, value_name = "LEVELS", default_value_t = DEPTH)]
    depth: u32,
    /// json, csv: write every block
    #[arg(long)]
    blocks: bool,
}

const MIN_SHARE: f64 = 0.01;
const DEPTH: u32 = 100;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapTarget {
    /// One file.
    File(HeapFormat),
    /// A directory of tables.
    Parquet,
}

impl std::str::FromStr for HeapTarget {
    type Err = UnknownHeapFormat;

    fn from_str(name: &str) -> Result<HeapTarget, UnknownHeapFormat> {
        match name {
            PARQUET => Ok(HeapTarget::Parquet),
            name => name.parse().map(HeapTarget::File),
        }
    }
}

fn formats() -> impl TypedValueParser<Value = HeapTarget> {
    let names = HeapFormat::ALL.iter().map(|format| format.name()).chain([PARQUET]);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<HeapTarget>())
}

impl Args {
    /// The arguments for `bactrian export` of a heap.
    pub fn of(file: PathBuf, strict: bool, to: HeapTarget, output: Option<PathBuf>) -> Args {
        let heap = HeapArg { file, strict, types: TypesArg::default(), index: IndexArg::default() };
        Args { heap, to, output, min_share: MIN_SHARE, depth: DEPTH, blocks: false }
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let to = match args.to {
        HeapTarget::File(to) => to,
        HeapTarget::Parquet => {
            let heap = Arc::new(args.heap.open(console)?);
            tables::write(&HeapTables::new(Arc::clone(&heap)), args.output.as_deref(), console)?;
            return args.heap.finish(&heap, console);
        }
    };
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let is_stdout = output == Path::new("-");
    if is_stdout && to.is_binary() && std::io::stdout().is_terminal() {
        let what = "files are binary: use -o FILE or redirect the output";
        return Err(Failure::Usage(format!("{to} {what}")));
    }
    let limits = MergedLimits { min_share: share(args.min_share)?, depth: args.depth.max(1) };
    let options = HeapOptions { limits, blocks: args.blocks };
    let heap = args.heap.open(console)?;
    let mut written = None;
    write_file(output, console, |out, _| {
        written = Some(export_heap(to, &heap, &options, out)?);
        Ok(())
    })?;
    if let Some(Written::Blocks { cut: blocks @ 1.. }) = written {
        let what = show_number(blocks, "block");
        console.warn(&format!("{what} exceed the maximum size in {to}, and were truncated"))?;
    }
    if let Some(written) = written.filter(|_| !is_stdout) {
        let what = match written {
            Written::Blocks { .. } => show_number(heap.blocks() as u64, "block"),
            Written::Entries { shown, all } if shown < all => {
                format!("the {shown} largest of {all} entries of the merged dominator tree")
            }
            Written::Entries { all: 1, .. } => "1 entry of the merged dominator tree".to_owned(),
            Written::Entries { all, .. } => {
                format!("{all} entries of the merged dominator tree")
            }
            Written::Classes(1) => "1 class".to_owned(),
            Written::Classes(classes) => format!("{classes} classes"),
        };
        writeln!(console.out(), "{}: {to}, {what}", output.display())?;
    }
    args.heap.finish(&heap, console)
}
