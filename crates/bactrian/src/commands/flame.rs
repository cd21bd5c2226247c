//! `bactrian flame`: a flame graph.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::units::show_bytes;
use bactrian_analysis::{DiffFlameQuestion, FlameQuestion, StacksOptions};
use bactrian_web::{FlameAbout, flame_svg};

use crate::derived_args::DerivedArgs;
use crate::evidence::Files;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::output::{Console, show_estimate, write_file};

/// Draw a flame graph as one SVG file; for two traces, what changed.
///
/// The picture zooms and searches in any browser.
/// The width of a frame is what is kept, or allocated, in it and in everything it calls. For two traces, widths are those of
/// the second: red frames grew, blue ones shrank, and pale ones changed no more than chance explains.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian flame trace.ctf -o flame.svg
  bactrian flame before.ctf after.ctf -o grown.svg
  bactrian flame trace.ctf --metric peak --hide '/^(Base|Lwt)/' -o peak.svg")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// A later trace of the same program, or a changed one, to compare with
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    /// Where to write the SVG; `-` is standard output
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

/// Frames narrower than this many pixels are omitted.
const NARROWEST: f64 = 0.5;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let stacks = args.stacks.0.clone();
    let min_share = 100.0 * NARROWEST / f64::from(args.width);
    let asked = match &args.after {
        None => {
            let question = FlameQuestion { stacks, min_share, ..FlameQuestion::default() };
            args.trace.files().ask(&question, console)?
        }
        Some(after) => {
            let question = DiffFlameQuestion { stacks, min_share, ..DiffFlameQuestion::default() };
            let both = [args.trace.file.clone(), after.clone()];
            Files::traces(both, args.trace.strict).ask(&question, console)?
        }
    };
    let flame = &asked.answer.result;
    let lost = asked.answer.losses.iter().flat_map(|losses| losses.sentences());
    let notes = lost.chain(asked.answer.notes.iter().cloned()).collect();
    let about = FlameAbout { notes, up: args.up, width: args.width };
    let svg = flame_svg(flame, &about).map_err(|fault| {
        anyhow::anyhow!(
            "cannot draw the flame \
        graph: {fault}"
        )
    })?;
    write_file(&args.output, console, |out, _| Ok(out.write_all(svg.as_bytes())?))?;
    if args.output.as_os_str() != "-" {
        let (title, size) = (flame.measure.title(), show_bytes(svg.len() as f64));
        let (path, all) = (args.output.display(), show_estimate(flame.measure.unit, &flame.all));
        writeln!(console.out(), "{path}: {title}, {all} in all ({size} of SVG)")?;
    }
    asked.finish(console)
}
