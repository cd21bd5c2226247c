//! `bactrian heap collections`: lists, arrays, hash tables and the like, by type.

use std::io::Write;

use bactrian_analysis::heap::{Collections, CollectionsQuestion};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, HEADING, SHARE, Table, show_share};

#[derive(clap::Args, Debug)]
#[command(about = about::<CollectionsQuestion>(), long_about = long_about::<CollectionsQuestion>())]
#[command(after_help = "Examples:
  bactrian heap collections server.1.heap --types server.types")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<CollectionsQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap collections", args.json, console, |answer, console| {
        print(&answer.table, console)?;
        say_more(&question.rows, answer.table.rows.len(), answer.row_count, console)?;
        asked.say_coverage(console)
    })
}

fn print(answer: &Collections, console: &mut Console) -> Result<(), Failure> {
    writeln!(console.out(), "{HEADING}Collections{HEADING:#} by type")?;
    let headings = [
        ("bytes", Align::Right),
        (SHARE, Align::Right),
        ("count", Align::Right),
        ("elements", Align::Right),
        ("mean", Align::Right),
        ("largest", Align::Right),
        ("empty", Align::Right),
        ("single", Align::Right),
        ("fill", Align::Right),
        ("overhead", Align::Right),
        ("type", Align::Left),
    ];
    let mut table = Table::new(&headings);
    let count = |count: u64| show_count(count as f64);
    for row in &answer.rows {
        table.row(vec![
            show_bytes(row.bytes as f64),
            show_share(row.share),
            count(row.count),
            count(row.elements),
            format!("{:.1}", row.mean),
            count(row.largest),
            row.empty.map_or(String::new(), count),
            count(row.single),
            row.fill.map_or(String::new(), show_share),
            row.overhead.map_or(String::new(), |words| format!("{words:.1}")),
            row.name.clone(),
        ]);
    }
    Ok(table.print(console)?)
}
