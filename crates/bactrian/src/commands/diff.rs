//! `bactrian diff`: differences between two traces.

use std::io::Write;
use std::path::PathBuf;

use anstyle::Style;
use bactrian_analysis::units::show_time;
use bactrian_analysis::{Change, Delta, DiffAnswer, DiffQuestion, Unit};
use bactrian_snapshot::is_snapshot_file;

use super::arguments::{long_about, say_more};
use super::heap;
use crate::derived_args::DerivedArgs;
use crate::evidence::Files;
use crate::failure::{Failure, Status};
use crate::output::{
    Align, BAD, Console, GOOD, HEADING, INTERVAL, Table, show_estimate, show_number, show_value,
};

#[derive(clap::Args, Debug)]
#[command(about = "What changed between two traces or heap snapshots, significant changes first")]
#[command(long_about = format!("{}. Exit status 1 if there is a significant change, 0 if not", long_about::<DiffQuestion>()))]
#[command(after_help = "Examples:
  bactrian diff before.ctf after.ctf
  bactrian diff before.ctf after.ctf --by site --metric peak
  bactrian diff 4.13.ctf 5.3.ctf --hide '/^(Base|Lwt)/'")]
pub struct Args {
    /// Earlier trace or snapshot; `-` is standard input
    before: PathBuf,
    /// Later trace or snapshot
    after: PathBuf,
    /// Fail (status 3) if anything in a file is lost or damaged
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    question: DerivedArgs<DiffQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    // An unreadable file is reported when it is opened.
    let is_snapshot = |path: &PathBuf| is_snapshot_file(path).unwrap_or(false);
    let files = [args.before.clone(), args.after.clone()];
    if files.iter().all(is_snapshot) {
        let diff = heap::diff::Args::of_two(files.into(), args.strict, &question.rows, args.json);
        return heap::diff::run(&diff, console);
    }
    let asked = Files::traces(files, args.strict).ask(question, console)?;
    let ended = asked.tell("diff", args.json, console, |answer, console| {
        print_headings(answer, console)?;
        print_rows(answer, console)?;
        say_more(&question.rows, answer.rows.len(), answer.row_count, console)?;
        let changes = show_number(answer.significant as u64, "significant change");
        Ok(writeln!(console.out(), "{changes}")?)
    })?;
    let answer = &asked.answer.result;
    let is_finding = answer.significant > 0 || answer.all.significant;
    Ok(if is_finding { Status::Finding } else { ended })
}

fn print_headings(answer: &DiffAnswer, console: &mut Console) -> Result<(), Failure> {
    let (title, unit) = (answer.measure.title(), answer.measure.unit);
    let Delta { before, after, change, significant } = &answer.all;
    let [a, b] = answer.durations.map(|duration| show_time(duration.0));
    let verdict = if *significant { "significant" } else { "not significant" };
    Ok(writeln!(
        console.out(),
        "{HEADING}{title}{HEADING:#}: {} in {a} before, {} in {b} after; change {} ({verdict})",
        show_estimate(unit, before),
        show_estimate(unit, after),
        show_change(unit, change.value),
    )?)
}

fn print_rows(answer: &DiffAnswer, console: &mut Console) -> Result<(), Failure> {
    let unit = answer.measure.unit;
    let mut table = Table::new(&[
        ("", Align::Left),
        ("self before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
        (INTERVAL, Align::Right),
        ("", Align::Left),
        ("total change", Align::Right),
        (INTERVAL, Align::Right),
        (answer.by.title(), Align::Left),
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

/// Half the width of a change's confidence interval.
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
