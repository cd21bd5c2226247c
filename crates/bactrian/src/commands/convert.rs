//! `bactrian convert`: rewrites a trace.

use std::path::PathBuf;

use bactrian_analysis::units::{Between, Time};
use bactrian_analysis::{Changes, TraceFile, rewrite};
use bactrian_trace::{Event, Losses, Stacks};

use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::filters::FilterArgs;
use crate::output::{Console, write_file};

/// Write a trace anew: smaller, mended, without names.
///
/// Another version, fewer samples, a window of time, only some objects, no names; combined as you like.
/// Without options, a sound trace comes out byte for byte, and of a damaged one what can be read, as a
/// sound trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian convert big.ctf -o small.ctf --subsample 1e-6
  bactrian convert trace.ctf -o start.ctf --window ..10s
  bactrian convert broken.ctf -o mended.ctf
  bactrian convert trace.ctf -o to-share.ctf --strip-names")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Where to write it; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Format version; the trace's own if not given (of version 1, version 2)
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Come down to this sampling rate
    #[arg(long, value_name = "RATE")]
    subsample: Option<f64>,
    /// What --subsample draws lots with; the same number keeps the same samples
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "subsample")]
    seed: u64,
    /// Only what happens in this time, to objects allocated in it
    #[arg(long, value_name = "TIMES", conflicts_with = "allocated")]
    window: Option<Between<Time>>,
    /// Leave out names of functions, files, program and machine, and the context; code addresses, sizes, times
    /// and the process id stay
    #[arg(long)]
    strip_names: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

/// Versions that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Version {
    /// What memtrace 0.1 to 0.2 and its viewer read; domains are merged
    V2,
    /// What newer memtrace reads; domains are kept apart
    V3,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let mut filter = args.filters.filter()?;
    if !filter.hidden.is_empty() {
        let what = "--hide changes what is shown, not what is recorded: give it where you look";
        return Err(Failure::Usage(what.to_owned()));
    }
    if let Some(window) = args.window {
        filter.allocated = window;
    }
    if let Some(rate) = args.subsample
        && !(rate > 0.0 && rate <= trace.info().sample_rate)
    {
        let own = trace.info().sample_rate;
        let what = format!("--subsample must be above 0 and not above the trace's own rate, {own}");
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
