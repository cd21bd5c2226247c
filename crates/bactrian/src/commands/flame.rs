//! `bactrian flame`: a flame graph.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::units::show_bytes;
use bactrian_analysis::{Profile, StacksOptions, info};
use bactrian_export::flame::{self, FlameOptions, Growth};

use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::filters::warn_if_empty;
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
    /// Draw callees above their callers, like flames, instead of below
    #[arg(long)]
    up: bool,
    /// Width of the picture in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(300..=20_000))]
    width: u32,
    #[command(flatten)]
    stacks: DerivedArgs<StacksOptions>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(stacks) = &args.stacks;
    let trace = args.trace.open()?;
    let filter = stacks.filter.filter().map_err(|error| Failure::Usage(error.to_string()))?;
    let measure = stacks.metric.measure();
    let profile = Profile::with(&trace, &filter, stacks.by, stacks.recursion(), &[measure]);
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
    let column = profile.first();
    let all = column.estimate(column.total());
    if args.output.as_os_str() != "-" {
        let (title, size) = (measure.title(), show_bytes(bytes as f64));
        let (path, all) = (args.output.display(), show_estimate(measure.unit, &all));
        writeln!(console.out(), "{path}: {title}, {all} in all ({size} of SVG)")?;
    }
    warn_if_empty(&filter, &all, console)?;
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
