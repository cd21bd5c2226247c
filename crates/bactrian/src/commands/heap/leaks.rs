//! `bactrian heap leaks`: what appeared in one round and still exists after the next.

use std::io::Write;

use bactrian_analysis::heap::{LeaksAnswer, LeaksQuestion};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapsArg;
use crate::output::{Align, Console, HEADING, Table, show_number, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<LeaksQuestion>())]
#[command(long_about = format!("{}. Exit status 1 if anything stayed", long_about::<LeaksQuestion>()))]
#[command(after_help = "Examples:
  bactrian heap leaks before.heap after.heap later.heap
  bactrian heap leaks server.*.heap -n 5           compares the first, the middle and the last")]
pub struct Args {
    #[command(flatten)]
    heaps: HeapsArg,
    #[command(flatten)]
    question: DerivedArgs<LeaksQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heaps.files().ask(&args.question.0, console)?;
    let ended = asked.tell("heap leaks", args.json, console, |answer, console| {
        print(answer, console)?;
        say_more(&args.question.0.rows, answer.leaks.rows.len(), answer.row_count, console)
    })?;
    Ok(if asked.answer.result.leaks.all.blocks > 0 { Status::Finding } else { ended })
}

fn print(answer: &LeaksAnswer, console: &mut Console) -> Result<(), Failure> {
    let LeaksAnswer { leaks, compared: [first, second, third], .. } = answer;
    let (bytes, blocks) =
        (show_bytes(leaks.all.bytes as f64), show_number(leaks.all.blocks, "block"));
    let when = format!("appeared between {first} and {second}, and still exist in {third}");
    writeln!(console.out(), "{HEADING}Stayed{HEADING:#}: {bytes} in {blocks} {}", visible(&when))?;
    let mut table = Table::new(&[
        ("bytes", Align::Right),
        ("blocks", Align::Right),
        ("class", Align::Left),
        ("held by", Align::Left),
        ("allocated in", Align::Left),
    ]);
    for row in &leaks.rows {
        table.row(vec![
            show_bytes(row.bytes as f64),
            show_count(row.blocks as f64),
            row.class.clone(),
            row.holder.clone().unwrap_or_else(|| "several roots".to_owned()),
            row.site.clone().unwrap_or_else(|| "not sampled".to_owned()),
        ]);
    }
    table.print(console)?;
    Ok(())
}
