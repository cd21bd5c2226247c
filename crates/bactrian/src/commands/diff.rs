//! `bactrian diff`: what changed between two traces.

use std::io::Write;
use std::path::PathBuf;

use anstyle::Style;
use bactrian_analysis::units::show_time;
use bactrian_analysis::{Change, Delta, Diff, TraceFile, Unit, diff, top};
use bactrian_snapshot::is_snapshot_file;
use serde_json::json;

use super::arguments::{ByArg, Metric, TableArgs};
use super::heap;
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::{account, open};
use crate::output::{
    Align, BAD, Console, GOOD, HEADING, INTERVAL, Table, print_json_of_files, show_estimate,
    show_number, show_value,
};

/// What changed between two traces, or heap snapshots; significant changes first
///
/// A change is significant (marked *) if it stands out of what sampling alone would show in a table of this
/// size: of the changes marked, no more than 5 in 100 are chance. Status 1 if there is one, 0 if not.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian diff before.ctf after.ctf
  bactrian diff before.ctf after.ctf --by site --metric peak
  bactrian diff 4.13.ctf 5.3.ctf --hide '/^Stdlib/'")]
pub struct Args {
    /// Trace before; `-` is standard input
    before: PathBuf,
    /// Trace after
    after: PathBuf,
    /// Fail (status 3) if anything in a file was lost or damaged
    #[arg(long)]
    strict: bool,
    /// What to tell apart
    #[arg(long, value_name = "WHAT", default_value = "function")]
    by: ByArg,
    /// What to measure
    #[arg(long, short, value_name = "METRIC", default_value = "allocated")]
    metric: Metric,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    filters: FilterArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    // A file that cannot be read is told of when it is opened.
    let is_snapshot = |path: &PathBuf| is_snapshot_file(path).unwrap_or(false);
    if is_snapshot(&args.before) && is_snapshot(&args.after) {
        let files = vec![args.before.clone(), args.after.clone()];
        let (number, json) = (args.table.number(), args.table.json);
        return heap::diff::run(
            &heap::diff::Args::of_two(files, args.strict, number, json),
            console,
        );
    }
    let (before, after) = (open(&args.before)?, open(&args.after)?);
    let filter = args.filters.filter()?;
    let measure = args.metric.measure();
    let [first, second] = [&before, &after].map(|trace| top(trace, &filter, args.by.by(), measure));
    let mut answer = diff(&first, &second);
    let significant = answer.significant().count();
    let all_rows = args.table.cut(&mut answer.rows);
    if args.table.json {
        let files = [(&*args.before, &first.losses), (&*args.after, &second.losses)];
        let result = json!({
            "by": args.by.by(),
            "measure": measure,
            "filter": filter,
            "all": answer.all,
            "row_count": all_rows,
            "significant": significant,
            "rows": answer.rows,
        });
        print_json_of_files(console, "diff", &files, &result)?;
    } else {
        print_headings(&answer, &[&before, &after], measure.title(), measure.unit, console)?;
        print_rows(&answer, args.by, measure.unit, console)?;
        args.table.say_more(all_rows, console)?;
        let changes = show_number(significant as u64, "significant change");
        writeln!(console.out(), "{changes}")?;
    }
    args.filters.warn_if_empty(&filter, &answer.all.after, console)?;
    account(&args.before, args.strict, &first.losses, console)?;
    account(&args.after, args.strict, &second.losses, console)?;
    Ok(if significant > 0 || answer.all.significant { Status::Finding } else { Status::Done })
}

fn print_headings(
    answer: &Diff,
    traces: &[&TraceFile; 2],
    title: String,
    unit: Unit,
    console: &mut Console,
) -> Result<(), Failure> {
    let Delta { before, after, change, significant } = &answer.all;
    let [a, b] = traces.map(|trace| show_time(trace.index().duration()));
    let verdict = if *significant { "significant" } else { "not significant" };
    Ok(writeln!(
        console.out(),
        "{HEADING}{title}{HEADING:#}: {} in {a} before, {} in {b} after; change {} ({verdict})",
        show_estimate(unit, before),
        show_estimate(unit, after),
        show_change(unit, change.value),
    )?)
}

fn print_rows(answer: &Diff, by: ByArg, unit: Unit, console: &mut Console) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("self before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
        (INTERVAL, Align::Right),
        ("", Align::Left),
        ("total change", Align::Right),
        (INTERVAL, Align::Right),
        (by.title(), Align::Left),
    ]);
    let mark = |delta: &Delta| if delta.significant { "*" } else { "" }.to_owned();
    for Change { label, own, total } in &answer.rows {
        let style = match (own, total) {
            (delta, _) | (Delta { significant: false, .. }, delta) if delta.significant => {
                if delta.change.value > 0.0 { BAD } else { GOOD }
            }
            _ => Style::new(),
        };
        let cells = vec![
            mark(own),
            show_value(unit, own.before.value),
            show_value(unit, own.after.value),
            show_change(unit, own.change.value),
            show_half_width(unit, own),
            mark(total),
            show_change(unit, total.change.value),
            show_half_width(unit, total),
            label.text(),
        ];
        table.styled(cells, style);
    }
    Ok(table.print(console)?)
}

/// Half the width of a change's interval.
fn show_half_width(unit: Unit, delta: &Delta) -> String {
    match (delta.change.high - delta.change.low) / 2.0 {
        0.0 => "exact".to_owned(),
        half => format!("±{}", show_value(unit, half)),
    }
}

/// A change with its sign.
fn show_change(unit: Unit, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", show_value(unit, value))
}
