//! `bactrian heap collections`: lists, arrays, hash tables and the like, by type.

use std::io::Write;

use bactrian_analysis::heap::{Collections, told_collections};
use bactrian_analysis::units::{show_bytes, show_count};

use super::{HeapArg, no_types, say_coverage};
use crate::commands::arguments::TableArgs;
use crate::failure::{Failure, Status};
use crate::output::{Align, Console, HEADING, SHARE, Table, show_share};

/// Lists, arrays, hash tables, maps, sets, queues, stacks, buffers, lazy values and sequences: how many, how large, how full.
///
/// Bytes are those of the collections themselves, without what they hold. `overhead` is in words for each element, beside
/// the element (key and value) itself; `fill` the part of buckets that is used, or of lazy values that was forced. Elements
/// of buffers are words of their bytes. Empty lists, maps and sets are no blocks, and cannot be counted.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap collections server.1.heap --types server.types")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    table: TableArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let heap = args.heap.open(console)?;
    let answer = told_collections(&heap, args.table.number()).ok_or_else(no_types)?;
    if args.table.json {
        args.heap.print_json("collections", &heap, &answer, console)?;
    } else {
        print(&answer.table, console)?;
        args.table.say_more(answer.row_count, console)?;
        say_coverage(&heap, console)?;
    }
    args.heap.finish(&heap, console)
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
