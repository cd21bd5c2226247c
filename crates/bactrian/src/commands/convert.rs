//! `bactrian convert`: rewrites a trace.

use std::path::PathBuf;

use bactrian_analysis::units::{Between, Time};
use bactrian_analysis::{Changes, TraceFile, rewrite};
use bactrian_trace::{Event, Losses, Stacks};

use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::filters::FilterArgs;
use crate::output::{Console, write_file};

/// Rewrite a trace: smaller, repaired, or without names.
///
/// Change the format version, lower the sampling rate, keep a time window or only some objects, remove names; options can
/// be combined. Without options, an intact trace is copied byte for byte; from a damaged one, everything that can be read
/// is written as an intact trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian convert big.ctf -o small.ctf --subsample 1e-6
  bactrian convert trace.ctf -o start.ctf --window ..10s
  bactrian convert broken.ctf -o mended.ctf
  bactrian convert trace.ctf -o to-share.ctf --strip-names")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Where to write the new trace; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Format version [default: that of the trace; 2 for version 1]
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Lower the sampling rate to this
    #[arg(long, value_name = "RATE")]
    subsample: Option<f64>,
    /// Seed of the random choice of --subsample; the same seed keeps the same samples
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "subsample")]
    seed: u64,
    /// Keep only events in this time window, of objects allocated in it
    #[arg(long, value_name = "TIMES", conflicts_with = "allocated")]
    window: Option<Between<Time>>,
    /// Remove names of functions, files, program and host, and the context; code addresses, sizes, times and the process id
    /// stay
    #[arg(long)]
    strip_names: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

/// Versions that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Version {
    /// Read by memtrace 0.1 to 0.2 and its viewer; domains are merged
    V2,
    /// Read by newer memtrace; domains are kept apart
    V3,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let mut filter = args.filters.filter()?;
    if !filter.hidden.is_empty() {
        let what = "--hide changes what is shown, not what is recorded: use it with the command \
            that shows the trace";
        return Err(Failure::Usage(what.to_owned()));
    }
    if let Some(window) = args.window {
        filter.allocated = window;
    }
    if let Some(rate) = args.subsample
        && !(rate > 0.0 && rate <= trace.info().sample_rate)
    {
        let own = trace.info().sample_rate;
        let what = format!("--subsample must be above 0 and at most the trace's own rate, {own}");
        return Err(Failure::Usage(what));
    }
    let changes = Changes {
        version: args.to.map(|version| if version == Version::V2 { 2 } else { 3 }),
        subsample: args.subsample.map(|rate| (rate, args.seed)),
        until: args.window.and_then(|window| window.to).map(|time| time.0),
        filter,
        strip_names: args.strip_names,
    };
    // Losses are reported before the file appears, so that with --strict it does not appear.
    write_file(&args.output, console, |out, console| {
        let sound = changes.change_nothing().then(|| read_all(&trace)).filter(Losses::is_clean);
        let losses = match sound {
            Some(losses) => {
                out.write_all(trace.bytes())?;
                losses
            }
            None => rewrite(&trace, &changes, out)?.losses,
        };
        args.trace.account(&losses, console)
    })?;
    Ok(Status::Done)
}

/// Reads all events and returns the losses.
fn read_all(trace: &TraceFile) -> Losses {
    let mut reader = trace.reader(Stacks::Decode);
    reader.for_each(|_: Event<'_>, _| std::ops::ControlFlow::Continue(()));
    reader.losses()
}
