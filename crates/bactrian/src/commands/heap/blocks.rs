//! `bactrian heap blocks`: the blocks of a type, one by one or grouped by the value of a field.

use std::io::Write;

use bactrian_analysis::heap::{BlockGroup, BlocksAnswer, BlocksQuestion};
use bactrian_analysis::units::{show_bytes, show_count, show_time};

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, HEADING, Table, show_number};

#[derive(clap::Args, Debug)]
#[command(about = about::<BlocksQuestion>(), long_about = long_about::<BlocksQuestion>())]
#[command(after_help = "Examples:
  bactrian heap blocks server.1.heap Main.entry --sort age
  bactrian heap blocks server.1.heap Main.entry --where state=Closed
  bactrian heap blocks server.1.heap Main.request --group-by path -n 5")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<BlocksQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap blocks", args.json, console, |answer, console| {
        print(answer, question, console)?;
        let shown = answer.rows.len() + answer.groups.len();
        say_more(&question.rows, shown, answer.row_count, console)
    })
}

fn print(
    answer: &BlocksAnswer,
    question: &BlocksQuestion,
    console: &mut Console,
) -> Result<(), Failure> {
    writeln!(
        console.out(),
        "{HEADING}{}{HEADING:#}: {} of {}",
        question.class,
        show_number(answer.blocks, "block"),
        show_bytes(answer.shallow as f64)
    )?;
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    if let Some(field) = &question.group_by {
        writeln!(console.out(), "{} different values of {field}", answer.row_count)?;
        return print_groups("blocks", &answer.groups, console);
    }
    if !answer.copies.is_empty() {
        print_groups("copies", &answer.copies, console)?;
        writeln!(console.out())?;
    }
    let mut table = Table::new(&[
        ("retained", Align::Right),
        ("shallow", Align::Right),
        ("age", Align::Right),
        ("block", Align::Right),
        ("value", Align::Left),
    ]);
    for row in &answer.rows {
        table.row(vec![
            bytes(row.retained),
            bytes(row.shallow),
            row.age.map_or(String::new(), |age| show_time(age.0)),
            format!("@{}", row.node),
            row.value.clone(),
        ]);
    }
    Ok(table.print(console)?)
}

fn print_groups(
    counted: &'static str,
    groups: &[BlockGroup],
    console: &mut Console,
) -> Result<(), Failure> {
    let mut table = Table::new(&[
        (counted, Align::Right),
        ("shallow", Align::Right),
        ("retained", Align::Right),
        ("one of them", Align::Right),
        ("value", Align::Left),
    ]);
    for group in groups {
        table.row(vec![
            show_count(group.blocks as f64),
            show_bytes(group.shallow as f64),
            show_bytes(group.retained as f64),
            format!("@{}", group.node),
            group.value.clone(),
        ]);
    }
    Ok(table.print(console)?)
}
