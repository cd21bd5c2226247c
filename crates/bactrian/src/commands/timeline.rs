//! `bactrian timeline`: live bytes over time.

use std::io::Write;

use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_analysis::{Timeline, TimelineQuestion, Unit};

use super::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::output::{Console, FAINT, HEADING, chart, show_estimate};

#[derive(clap::Args, Debug)]
#[command(about = about::<TimelineQuestion>(), long_about = long_about::<TimelineQuestion>())]
#[command(after_help = "Examples:
  bactrian timeline trace.ctf
  bactrian timeline trace.ctf --in Cache.add       what Cache.add keeps live, compared with everything
  bactrian timeline trace.ctf --csv --points 500 > live.csv")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    #[command(flatten)]
    question: DerivedArgs<TimelineQuestion>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values: time in seconds, bytes
    #[arg(long)]
    csv: bool,
}

/// Width of the chart's scale.
const MARGIN: usize = 10;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let mut question = args.question.0.clone();
    if question.points.is_none() && !args.json && !args.csv {
        question.points = Some(console.width().unwrap_or(80).saturating_sub(MARGIN).max(20));
    }
    let asked = args.trace.files().ask(&question, console)?;
    asked.tell("timeline", args.json, console, |answer, console| {
        let print = if args.csv { print_csv } else { print_chart };
        print(&answer.all, answer.filtered.as_ref(), console)
    })
}

fn print_csv(
    all: &Timeline,
    wanted: Option<&Timeline>,
    console: &mut Console,
) -> Result<(), Failure> {
    let out = console.out();
    let columns = "live,live_low,live_high,max,allocated";
    write!(out, "time,{columns}")?;
    if wanted.is_some() {
        write!(out, ",filtered_{}", columns.replace(',', ",filtered_"))?;
    }
    writeln!(out)?;
    for (at, point) in all.points.iter().enumerate() {
        write!(out, "{:.6}", point.time.0.seconds())?;
        for point in [Some(point), wanted.map(|wanted| &wanted.points[at])].into_iter().flatten() {
            let live = &point.live;
            write!(out, ",{:.0},{:.0},{:.0}", live.value, live.low, live.high)?;
            write!(out, ",{:.0},{:.0}", point.max.value, point.allocated.value)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn print_chart(
    all: &Timeline,
    wanted: Option<&Timeline>,
    console: &mut Console,
) -> Result<(), Failure> {
    let front = wanted.unwrap_or(all);
    let peak = |timeline: &Timeline| {
        let size = show_estimate(Unit::Bytes, &timeline.peak);
        format!("{size} at {}", show_time(timeline.peak_time.0))
    };
    let out = console.out();
    writeln!(out, "{HEADING}bytes live{HEADING:#}: peak {}", peak(all))?;
    if let Some(wanted) = wanted {
        writeln!(out, "{HEADING}of these, filtered{HEADING:#} (in front): peak {}", peak(wanted))?;
    }
    let values = |timeline: &Timeline| -> Vec<f64> {
        timeline.points.iter().map(|point| point.max.value).collect()
    };
    let behind = wanted.map(|_| values(all));
    let lines = chart(&values(front), behind.as_deref(), show_bytes);
    let margin = lines[0].chars().position(|c| c == '│').unwrap_or(0);
    // A mark above the column of the peak.
    let peak_at = front.points.iter().position(|point| point.time >= front.peak_time);
    let peak_at = peak_at.unwrap_or(front.points.len() - 1);
    let column = margin + 1 + peak_at;
    writeln!(out, "{:column$}▼", "")?;
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    let width = front.points.len();
    writeln!(out, "{:margin$} └{}", "", "─".repeat(width)).map_err(Failure::from)?;
    let end = front.points.last().map_or_else(String::new, |point| show_time(point.time.0));
    let space = (width + 1).saturating_sub(end.chars().count() + 1);
    Ok(writeln!(out, "{FAINT}{:margin$} 0{:space$}{end}{FAINT:#}", "", "")?)
}
