//! `bactrian export`: a profile in another tool's format.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bactrian_analysis::units::Bytes;
use bactrian_analysis::{Filter, Profile, Recursion, timeline};
use bactrian_export::{
    About, Format, HeapFormat, LivePoint, UnknownFormat, UnknownHeapFormat, export,
};
use bactrian_snapshot::is_snapshot_file;
use bactrian_tables::TraceTables;
use clap::builder::PossibleValuesParser;

use super::arguments::share;
use super::heap::{self, export::HeapTarget};
use super::tables::{self, PARQUET, write_recording};
use crate::failure::{Failure, Status};
use crate::file_args::{TraceArg, or_snapshot};
use crate::filters::{FilterArgs, warn_if_empty};
use crate::output::{Console, write_file};
use crate::shown::is_recording;

/// Write a profile for another tool.
///
/// folded: for flame graph scripts. pprof: for Go's pprof, with allocated and live bytes and objects. speedscope: for
/// speedscope.app. firefox: for profiler.firefox.com. csv and json: for spreadsheets and scripts. parquet: a folder of tables
/// for DuckDB, pandas, Spark and other engines; recordings can be exported to it, too.
/// For heap snapshots this is `bactrian heap export`, which has more options.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian export trace.ctf --to pprof -o heap.pb.gz && go tool pprof -http : heap.pb.gz
  bactrian export trace.ctf --to speedscope -o heap.speedscope.json
  bactrian export trace.ctf --to folded --live-at-peak | flamegraph.pl > peak.svg
  bactrian export trace.ctf --to parquet -o tables && duckdb -c \"from 'tables/objects.parquet'\"")]
#[command(mut_arg("file", or_snapshot))]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    to: String,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add stacks below this share of the total to their callers, in percent; 0 keeps all stacks
    #[arg(long, value_name = "PERCENT", default_value_t = 0.001)]
    min_share: f64,
    /// Show every call of a recursive function, instead of merging them into one
    #[arg(long)]
    recursion: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

/// The names of all formats, those for traces first.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let of_heaps = HeapFormat::ALL.iter().map(|format| format.name());
    names.extend(of_heaps.filter(|name| name.parse::<Format>().is_err()));
    names.push(PARQUET);
    names
}

/// The resolution of the memory track in the Firefox Profiler.
const TIMELINE_POINTS: usize = 1_000;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if is_snapshot_file(&args.trace.file).unwrap_or(false) {
        return export_snapshot(args, console);
    }
    if is_recording(&args.trace.file) {
        return match args.to == PARQUET {
            true => {
                let TraceArg { file, strict } = &args.trace;
                write_recording(file, *strict, args.output.as_deref(), console)
            }
            false => {
                let what = format!("recordings can only be exported to {PARQUET}");
                Err(Failure::Usage(what))
            }
        };
    }
    if args.to == PARQUET {
        return export_tables(args, console);
    }
    let to: Format = args.to.parse().map_err(|unknown: UnknownFormat| {
        let what = format!("{unknown}; `{}` is for heap snapshots", args.to);
        Failure::Usage(what)
    })?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    if output == Path::new("-") && to == Format::Pprof && std::io::stdout().is_terminal() {
        let what = "pprof files are binary: use -o FILE or redirect the output";
        return Err(Failure::Usage(what.to_owned()));
    }
    let min_share = share(args.min_share)?;
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let points = match to {
        Format::Firefox => live_points(&trace, &filter),
        _ => Vec::new(),
    };
    let (by, recursion) = (to.by(), if args.recursion { Recursion::Keep } else { Recursion::Fold });
    let profile = Profile::with(&trace, &filter, by, recursion, to.measures());
    let all_stacks = profile.tree.len() - 1;
    let profile = if min_share > 0.0 { profile.pruned(min_share) } else { profile };
    write_file(output, console, |out, _| {
        Ok(export(to, &profile, &About::of(&trace), &points, out)?)
    })?;
    if output != Path::new("-") {
        let (format, path, stacks) = (to, output.display(), profile.tree.len() - 1);
        let small = match all_stacks - stacks {
            0 => String::new(),
            small => format!(" ({small} below {} % added to their callers)", args.min_share),
        };
        writeln!(console.out(), "{path}: {format}, {stacks} distinct stacks{small}")?;
    }
    let column = profile.first();
    warn_if_empty(&filter, &column.estimate(column.total()), console)?;
    args.trace.account(&profile.losses, console)?;
    Ok(Status::Done)
}

fn live_points(trace: &bactrian_analysis::TraceFile, filter: &Filter) -> Vec<LivePoint> {
    let points = timeline(trace, filter, TIMELINE_POINTS).points;
    points
        .iter()
        .map(|point| LivePoint { time: point.time.0, live: Bytes(point.live.value.round() as u64) })
        .collect()
}

/// Exports a trace as tables.
fn export_tables(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if !args.filters.filter()?.admits_all() {
        let what =
            "tables contain all objects: filter them in your queries, such as `where words > 100`";
        return Err(Failure::Usage(what.to_owned()));
    }
    let of_trace = TraceTables::new(Arc::new(args.trace.open()?));
    tables::write(&of_trace, args.output.as_deref(), console)?;
    args.trace.account(&of_trace.losses(), console)?;
    Ok(Status::Done)
}

/// Does the same as `bactrian heap export`.
fn export_snapshot(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let to: HeapTarget = args
        .to
        .parse()
        .map_err(|unknown: UnknownHeapFormat| Failure::Usage(unknown.to_string()))?;
    if !args.filters.filter()?.admits_all() {
        let what = "filters are for traces; see `bactrian heap export --help` for heap snapshots";
        return Err(Failure::Usage(what.to_owned()));
    }
    let TraceArg { file, strict } = &args.trace;
    let args = heap::export::Args::of(file.clone(), *strict, to, args.output.clone());
    heap::export::run(&args, console)
}
