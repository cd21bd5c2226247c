//! `bactrian heap show`: one block.

use std::io::Write;

use bactrian_analysis::heap::{NodeLine, ShowQuestion, Shown};
use bactrian_analysis::units::{show_bytes, show_time};

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, Table, line, show_number, show_share, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<ShowQuestion>(), long_about = long_about::<ShowQuestion>())]
#[command(after_help = "Examples:
  bactrian heap show server.1.heap 0x7f4b1c0a8
  bactrian heap show server.1.heap @1234
  bactrian heap show server.1.heap Main.table
  bactrian heap show server.1.heap Main.table --types server.types --depth 6 --items 100")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<ShowQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let asked = args.heap.files().ask(&args.question.0, console)?;
    asked.tell("heap show", args.json, console, print)
}

fn print(answer: &Shown, console: &mut Console) -> Result<(), Failure> {
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    let short = |node: &NodeLine| format!("@{} {}", node.node, node.what);
    line(console, "block", &short(&answer.this))?;
    if let Some(address) = &answer.address {
        let space = answer.space.unwrap_or("unknown");
        line(console, "address", &format!("{address}, {space}"))?;
        line(console, "class", &answer.class)?;
        let stacks = match answer.fiber_stacks {
            0 => String::new(),
            stacks => format!(", {} of it stacks of fibers", bytes(stacks)),
        };
        line(console, "shallow", &format!("{}{stacks}", bytes(answer.shallow)))?;
    }
    if let Some(of) = &answer.of_type {
        let origin = of.origin.as_ref().map_or(String::new(), |origin| format!(", {origin}"));
        line(console, "type", &visible(&format!("{}{origin}", of.name)))?;
        if let Some(value) = &answer.value {
            line(console, "value", &visible(value))?;
        }
    }
    let share = show_share(answer.share);
    line(console, "retained", &format!("{}, {share} of the heap", bytes(answer.retained)))?;
    if answer.external > 0 {
        line(console, "external", &format!("{} outside the heap", bytes(answer.external)))?;
    }
    if let Some(text) = &answer.text {
        line(console, "begins with", &format!("\"{text}\""))?;
    }
    if let Some(dominator) = &answer.dominator {
        line(console, "dominator", &short(dominator))?;
    }
    if let Some(allocation) = &answer.allocation {
        let time = allocation.time.map_or(String::new(), |t| format!(" at {}", show_time(t.0)));
        let age = allocation.age.map_or(String::new(), |a| format!(", {} old", show_time(a.0)));
        let first = allocation.frames.first().map_or("at an unknown place", |frame| frame);
        line(console, "allocated", &format!("{}{time}{age}", visible(first)))?;
        for frame in allocation.frames.iter().skip(1) {
            line(console, "", &format!("called from {}", visible(frame)))?;
        }
    }
    for finaliser in &answer.finalisers {
        line(console, "finaliser", &short(finaliser))?;
    }
    if answer.weakly_held_by > 0 {
        let what = show_number(answer.weakly_held_by, "ephemeron or weak array");
        line(console, "weakly held", &format!("by {what}, which do not keep it alive"))?;
    }
    print_fields(answer, console)?;
    print_held_by(answer, console)
}

fn print_fields(answer: &Shown, console: &mut Console) -> Result<(), Failure> {
    if answer.fields.is_empty() {
        return Ok(());
    }
    writeln!(console.out())?;
    let first = if answer.address.is_some() { "field" } else { "" };
    let headings = [(first, Align::Right), ("retained", Align::Right), ("contents", Align::Left)];
    let mut table = Table::new(&headings);
    for field in &answer.fields {
        let (retained, what) = match (&field.block, &field.value) {
            (Some(block), _) => {
                (show_bytes(block.retained as f64), format!("@{} {}", block.node, block.what))
            }
            (None, value) => (String::new(), value.clone().unwrap_or_default()),
        };
        table.row(vec![field.place.clone(), retained, what]);
    }
    let left = answer.field_count - answer.fields.len() as u64;
    say_more(&mut table, left, 3);
    Ok(table.print(console)?)
}

fn print_held_by(answer: &Shown, console: &mut Console) -> Result<(), Failure> {
    if answer.held_by.is_empty() {
        return Ok(());
    }
    writeln!(console.out())?;
    let mut table = Table::new(&[("retained", Align::Right), ("pointed to by", Align::Left)]);
    for holder in &answer.held_by {
        let what = format!("@{} {}", holder.node, holder.what);
        table.row(vec![show_bytes(holder.retained as f64), what]);
    }
    say_more(&mut table, answer.holder_count.saturating_sub(answer.held_by.len() as u64), 2);
    Ok(table.print(console)?)
}

fn say_more(table: &mut Table, left: u64, columns: usize) {
    if left > 0 {
        let mut cells = vec![String::new(); columns - 1];
        cells.push(format!("{left} more; -n 0 shows all"));
        table.faint(cells);
    }
}
