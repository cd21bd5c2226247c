//! `bactrian heap fields`: what is retained through each field of a type.

use std::io::Write;

use bactrian_analysis::heap::{FieldRow, Fields, FieldsQuestion};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, HEADING, SHARE, Table, show_number, show_share, visible};

#[derive(clap::Args, Debug)]
#[command(about = about::<FieldsQuestion>(), long_about = long_about::<FieldsQuestion>())]
#[command(after_help = "Examples:
  bactrian heap fields server.1.heap Main.entry --types server.types
  bactrian heap fields server.1.heap 'tag 0, 5 fields'")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<FieldsQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap fields", args.json, console, |answer, console| {
        print(&answer.fields, console)?;
        say_more(&question.rows, answer.fields.rows.len(), answer.row_count, console)?;
        asked.say_coverage(console)
    })
}

fn print(answer: &Fields, console: &mut Console) -> Result<(), Failure> {
    let names = visible(&answer.names.join(", ")).into_owned();
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    writeln!(
        console.out(),
        "{HEADING}{names}{HEADING:#}: {} of {}, which retain {}",
        show_number(answer.blocks, "block"),
        bytes(answer.shallow),
        bytes(answer.retained)
    )?;
    let headings = [
        ("retained", Align::Right),
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
            bytes(row.retained),
            show_share(row.share),
            count(row.pointers),
            count(row.shared),
            count(row.same),
            count(row.immediates),
            title(row),
        ]);
    }
    if answer.together > 0 {
        let share = answer.together as f64 / (answer.retained as f64).max(1.0);
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
