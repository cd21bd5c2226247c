//! `bactrian heap fields`: what is held through each field of a type.

use std::io::Write;

use bactrian_analysis::heap::{FieldRow, Fields, told_fields};
use bactrian_analysis::units::{show_bytes, show_count};

use super::{HeapArg, say_coverage};
use crate::commands::arguments::TableArgs;
use crate::failure::{Failure, Status};
use crate::output::{Align, Console, HEADING, SHARE, Table, show_number, show_share, visible};

/// What would be free without each field of a record or constructor.
///
/// What a block of the type dominates counts to the field that leads to it, and to the nearest such block above it, so
/// that nothing counts twice. `shared` are pointers to what somebody else holds as well, `same` those to other blocks of
/// the type, which count by themselves.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap fields server.1.heap Main.entry --types server.types
  bactrian heap fields server.1.heap 'tag 0, 5 fields'")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// The type, as `bactrian heap types` lists it, or a part of its name
    #[arg(value_name = "TYPE")]
    class: String,
    #[command(flatten)]
    table: TableArgs,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let heap = args.heap.open(console)?;
    let classes = heap.find_classes(&args.class).map_err(|error| args.heap.not_found(&error))?;
    let answer = told_fields(&heap, &classes, args.table.number());
    if args.table.json {
        args.heap.print_json("fields", &heap, &answer, console)?;
    } else {
        print(&answer.fields, console)?;
        args.table.say_more(answer.row_count, console)?;
        say_coverage(&heap, console)?;
    }
    args.heap.finish(&heap, console)
}

fn print(answer: &Fields, console: &mut Console) -> Result<(), Failure> {
    let names = visible(&answer.names.join(", ")).into_owned();
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    writeln!(
        console.out(),
        "{HEADING}{names}{HEADING:#}: {} of {}, which dominate {}",
        show_number(answer.blocks, "block"),
        bytes(answer.shallow),
        bytes(answer.dominated)
    )?;
    let headings = [
        ("dominated", Align::Right),
        (SHARE, Align::Right),
        ("pointers", Align::Right),
        ("shared", Align::Right),
        ("same", Align::Right),
        ("immediates", Align::Right),
        ("field", Align::Left),
    ];
    let mut table = Table::new(&headings);
    let count = |count: u64| if count > 0 { show_count(count as f64) } else { String::new() };
    for row in &answer.rows {
        table.row(vec![
            bytes(row.dominated),
            show_share(row.share),
            count(row.pointers),
            count(row.shared),
            count(row.same),
            count(row.immediates),
            title(row),
        ]);
    }
    if answer.together > 0 {
        let share = answer.together as f64 / (answer.dominated as f64).max(1.0);
        let mut cells = vec![bytes(answer.together), show_share(share)];
        cells.extend(vec![String::new(); 4]);
        cells.push("several fields together".to_owned());
        table.faint(cells);
    }
    Ok(table.print(console)?)
}

/// `Node.left: tree`.
fn title(row: &FieldRow) -> String {
    let of = row.constructor.as_ref().map_or(String::new(), |name| format!("{name}."));
    let of_type = row.type_name.as_ref().map_or(String::new(), |name| format!(": {name}"));
    format!("{of}{}{of_type}", row.field)
}
