//! `bactrian heap diff`: changes from snapshot to snapshot.

use std::io::Write;
use std::path::{Path, PathBuf};

use bactrian_analysis::heap::{
    Counted, HeapDiff, HeapDiffAnswer, HeapDiffFlameQuestion, HeapDiffQuestion,
};
use bactrian_analysis::question::Rows;
use bactrian_analysis::units::{show_bytes, show_count, show_time};
use bactrian_trace::Micros;
use bactrian_web::heap_flame_svg;

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::evidence::Files;
use crate::failure::{Failure, Status};
use crate::file_args::{HeapsArg, say_coverage_of};
use crate::indexes::IndexArg;
use crate::output::{Align, BAD, Console, GOOD, HEADING, Table, show_number, write_file};
use crate::types::TypesArg;

#[derive(clap::Args, Debug)]
#[command(about = about::<HeapDiffQuestion>())]
#[command(long_about = format!("{}. Exit status 1 if the last heap is larger than the first", long_about::<HeapDiffQuestion>()))]
#[command(after_help = "Examples:
  bactrian heap diff before.heap after.heap
  bactrian heap diff before.heap after.heap --flame grown.svg      what grew and shrank, as a picture
  bactrian heap diff server.*.heap --max 2GB      when it will reach this size at the present rate")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    #[command(flatten)]
    question: DerivedArgs<HeapDiffQuestion>,
    /// Also draw a flame graph of retained sizes in the last snapshot: red frames grew since the first, blue ones shrank
    #[arg(long, value_name = "SVG")]
    flame: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The arguments of `bactrian diff` with two snapshots.
    pub fn of_two(files: Vec<PathBuf>, strict: bool, rows: &Rows, json: bool) -> Args {
        let heaps =
            HeapsArg { files, strict, types: TypesArg::default(), index: IndexArg::default() };
        let question = HeapDiffQuestion { rows: rows.clone(), ..HeapDiffQuestion::default() };
        Args { heaps, question: DerivedArgs(question), flame: None, json }
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heaps.files().ask(&args.question.0, console)?;
    let ended = asked.tell("heap diff", args.json, console, |answer, console| {
        print(answer, console)?;
        say_coverage_of(answer.coverage.as_ref(), console)
    })?;
    if let Some(path) = &args.flame {
        draw(args.heaps.files(), path, console)?;
    }
    Ok(if asked.answer.result.diff.all.change > 0 { Status::Finding } else { ended })
}

/// Writes the flame graph of the change.
fn draw(files: Files, path: &Path, console: &mut Console) -> Result<(), Failure> {
    let asked = files.ask(&HeapDiffFlameQuestion::default(), console)?;
    let notes = asked.answer.losses.iter().flat_map(|losses| losses.sentences()).collect();
    let svg = heap_flame_svg(&asked.answer.result, notes)
        .map_err(|fault| anyhow::anyhow!("cannot draw the flame graph: {fault}"))?;
    write_file(path, console, |out, _| Ok(out.write_all(svg.as_bytes())?))?;
    let size = show_bytes(svg.len() as f64);
    let news = format!("{}: what grew and what shrank ({size} of SVG)", path.display());
    Ok(console.note(&news)?)
}

fn signed(bytes: f64) -> String {
    format!("{}{}", if bytes > 0.0 { "+" } else { "" }, show_bytes(bytes))
}

fn print(answer: &HeapDiffAnswer, console: &mut Console) -> Result<(), Failure> {
    let HeapDiffAnswer { diff: answer, row_count, limit, .. } = answer;
    let sizes: Vec<_> = answer.all.bytes.iter().map(|bytes| show_bytes(*bytes as f64)).collect();
    let change = signed(answer.all.change as f64);
    writeln!(console.out(), "{HEADING}Heaps{HEADING:#}: {}; change {change}", sizes.join(", "))?;
    let all = &answer.all;
    match (&answer.not_matched, all.new, all.gone, all.surviving) {
        (None, Some(new), Some(gone), Some(surviving)) => {
            let show = |of: Counted| {
                format!("{} in {}", show_bytes(of.bytes as f64), show_number(of.blocks, "block"))
            };
            let (new, gone, surviving) = (show(new), show(gone), show(surviving));
            writeln!(console.out(), "{new} are new, {gone} are gone, {surviving} are still there")?;
        }
        (reason, ..) => {
            let reason = reason.as_deref().unwrap_or("the reason is unknown");
            writeln!(console.out(), "blocks cannot be matched one by one: {reason}")?;
        }
    }
    if let Some(rate) = all.rate {
        let points = answer.snapshots.len();
        let rate = signed(rate);
        writeln!(
            console.out(),
            "rate: {rate} per second, by least squares over {points} snapshots"
        )?;
    }
    if let Some(limit) = limit {
        let size = show_bytes(limit.bytes as f64);
        let when = match limit.seconds {
            None => "never at this rate".to_owned(),
            Some(0.0) => "reached already".to_owned(),
            Some(seconds) => {
                let micros = (seconds * 1e6).min(u64::MAX as f64) as u64;
                format!("{} after the last snapshot, at this rate", show_time(Micros(micros)))
            }
        };
        writeln!(console.out(), "{size}: {when}")?;
    }
    print_rows(answer, console)?;
    match row_count.saturating_sub(answer.rows.len()) {
        0 => Ok(()),
        left => Ok(writeln!(console.out(), "{left} more changed less; -n 0 shows all")?),
    }
}

fn print_rows(answer: &HeapDiff, console: &mut Console) -> Result<(), Failure> {
    let is_matched = answer.not_matched.is_none();
    let mut headings = vec![("first", Align::Right), ("last", Align::Right)];
    headings.extend([("change", Align::Right), ("blocks", Align::Right)]);
    if answer.all.rate.is_some() {
        headings.push(("per second", Align::Right));
    }
    if is_matched {
        headings.extend([("new", Align::Right), ("gone", Align::Right), ("still", Align::Right)]);
    }
    if answer.snapshots.len() > 2 {
        headings.push(("grows", Align::Left));
    }
    headings.push(("class", Align::Left));
    let mut table = Table::new(&headings);
    let bytes = |of: Option<Counted>| show_bytes(of.unwrap_or_default().bytes as f64);
    for row in &answer.rows {
        let [first, last] = [row.bytes.first(), row.bytes.last()]
            .map(|bytes| show_bytes(*bytes.unwrap_or(&0) as f64));
        let [before, after] =
            [row.blocks.first(), row.blocks.last()].map(|count| *count.unwrap_or(&0));
        let blocks = after as f64 - before as f64;
        let sign = if blocks > 0.0 { "+" } else { "" };
        let mut cells =
            vec![first, last, signed(row.change as f64), format!("{sign}{}", show_count(blocks))];
        if answer.all.rate.is_some() {
            cells.push(row.rate.map_or(String::new(), signed));
        }
        if is_matched {
            cells.extend([bytes(row.new), bytes(row.gone), bytes(row.surviving)]);
        }
        if answer.snapshots.len() > 2 {
            cells.push(if row.grows_always { "always" } else { "" }.to_owned());
        }
        cells.push(row.class.clone());
        let style = match row.change {
            1.. => BAD,
            0 => anstyle::Style::new(),
            _ => GOOD,
        };
        table.styled(cells, style);
    }
    Ok(table.print(console)?)
}
