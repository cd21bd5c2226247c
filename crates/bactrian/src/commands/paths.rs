//! `bactrian paths`: the call stacks that retain or allocate most.

use std::io::Write;

use bactrian_analysis::{HotPath, HotPathsQuestion, Unit};

use super::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::output::{
    Console, FAINT, HEADING, shorten, show_error, show_estimate, show_share, show_value, visible,
};

#[derive(clap::Args, Debug)]
#[command(about = about::<HotPathsQuestion>(), long_about = long_about::<HotPathsQuestion>())]
#[command(after_help = "Examples:
  bactrian paths trace.ctf                       call stacks of the memory that is kept
  bactrian paths trace.ctf --metric allocated -n 3
  bactrian paths trace.ctf --search Cache --frames 50")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    #[command(flatten)]
    question: DerivedArgs<HotPathsQuestion>,
    /// How many frames of each stack to print, innermost first; 0 for all
    #[arg(long, value_name = "N", default_value_t = 12)]
    frames: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.trace.files().ask(question, console)?;
    asked.tell("paths", args.json, console, |answer, console| {
        let unit = answer.measure.unit;
        let (title, all) = (answer.measure.long_title(), show_estimate(unit, &answer.all));
        writeln!(console.out(), "{HEADING}{title}{HEADING:#}: {all} in all")?;
        let most = if args.frames == 0 { usize::MAX } else { args.frames };
        for path in &answer.rows {
            print(path, unit, most, console)?;
        }
        say_more(&question.rows, answer.rows.len(), answer.row_count, console)
    })
}

/// Width of the numbers before the frames.
const NUMBERS: usize = 9 + 1 + 8 + 1 + 10 + 2;

fn print(path: &HotPath, unit: Unit, most: usize, console: &mut Console) -> Result<(), Failure> {
    let value = show_value(unit, path.own.value);
    let (share, error) = (show_share(path.share), show_error(&path.own));
    let mut numbers = format!("{value:>9} {share:>8} {FAINT}{error:>10}{FAINT:#}  ");
    let room = console.width().map_or(usize::MAX, |width| width.saturating_sub(NUMBERS));
    let left_out = path.left_out + path.frames.len().saturating_sub(most);
    let frames = path.frames.iter().take(most).map(|frame| frame.label.text());
    let rest = (left_out > 0).then(|| format!("… {left_out} more"));
    for line in frames.chain(rest) {
        writeln!(console.out(), "{numbers}{}", shorten(&visible(&line), room))?;
        numbers = " ".repeat(NUMBERS);
    }
    Ok(())
}
