//! `bactrian flame`: a flame graph.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::units::show_bytes;
use bactrian_analysis::{By, Profile, info};
use bactrian_export::flame::{self, FlameOptions, Growth};

use super::arguments::{Metric, RecursionArg};
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::TraceArg;
use crate::output::{Console, show_estimate, write_file};

/// A flame graph, as one SVG file that zooms and searches in any browser.
///
/// The width of a frame is what is allocated (or live) in it and in all it calls.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian flame trace.ctf -o flame.svg
  bactrian flame trace.ctf --metric live -o held.svg
  bactrian flame trace.ctf --metric peak --hide '/^Stdlib/' -o peak.svg")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Where to write the picture; `-` is standard output
    #[arg(long, short, value_name = "SVG")]
    output: PathBuf,
    /// What to measure
    #[arg(long, short, value_name = "METRIC", default_value = "allocated")]
    metric: Metric,
    /// Draw callees above their callers, like flames, instead of below
    #[arg(long)]
    up: bool,
    /// Width of the picture in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(300..=20_000))]
    width: u32,
    #[command(flatten)]
    recursion: RecursionArg,
    #[command(flatten)]
    filters: FilterArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let measure = args.metric.measure();
    let profile = Profile::with(&trace, &filter, By::Function, args.recursion.choice(), &[measure]);
    let facts = info(&trace);
    let options = FlameOptions {
        title: facts.program,
        subtitle: facts.context,
        width: args.width,
        growth: if args.up { Growth::Up } else { Growth::Down },
        losses: profile.losses.sentences(),
        ..FlameOptions::default()
    };
    let mut bytes = 0;
    write_file(&args.output, console, |out, _| {
        let mut out = Counted { out, bytes: 0 };
        flame::write(&profile, &options, &mut out)?;
        bytes = out.bytes;
        Ok(())
    })?;
    if args.output.as_os_str() != "-" {
        let column = profile.first();
        let all = show_estimate(measure.unit, &column.estimate(column.total()));
        let (title, size) = (measure.title(), show_bytes(bytes as f64));
        let path = args.output.display();
        writeln!(console.out(), "{path}: {title}, {all} in all ({size} of SVG)")?;
    }
    let column = profile.first();
    args.filters.warn_if_empty(&filter, &column.estimate(column.total()), console)?;
    args.trace.account(&profile.losses, console)?;
    Ok(Status::Done)
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
