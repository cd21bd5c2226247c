//! `bactrian heap what-if`: what would be freed without some references.

use std::io::Write;

use bactrian_analysis::heap::{WhatIf, WhatIfQuestion};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about, say_more};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, HEADING, SHARE, Table, show_number, show_share};

#[derive(clap::Args, Debug)]
#[command(about = about::<WhatIfQuestion>(), long_about = long_about::<WhatIfQuestion>())]
#[command(after_help = "Examples:
  bactrian heap what-if server.1.heap --cut Cache.entry.session --cut Log.lines
  bactrian heap what-if server.1.heap --cut finalisers")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<WhatIfQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap what-if", args.json, console, |answer, console| {
        print(&answer.what_if, console)?;
        say_more(&question.rows, answer.what_if.rows.len(), answer.row_count, console)
    })
}

fn print(answer: &WhatIf, console: &mut Console) -> Result<(), Failure> {
    let bytes = |bytes: u64| show_bytes(bytes as f64);
    let freed = &answer.freed;
    writeln!(
        console.out(),
        "{HEADING}What if{HEADING:#}: {} in {} would be freed, {} of {}",
        bytes(freed.bytes),
        show_number(freed.blocks, "block"),
        show_share(freed.share),
        bytes(answer.total)
    )?;
    let headings = [
        ("alone", Align::Right),
        (SHARE, Align::Right),
        ("references", Align::Right),
        ("without", Align::Left),
    ];
    let mut table = Table::new(&headings);
    for cut in &answer.cuts {
        table.row(vec![
            bytes(cut.freed.bytes),
            show_share(cut.freed.share),
            show_count(cut.references as f64),
            cut.what.clone(),
        ]);
    }
    table.print(console)?;
    let headings =
        [("bytes", Align::Right), ("blocks", Align::Right), ("what would be freed", Align::Left)];
    let mut table = Table::new(&headings);
    for row in &answer.rows {
        table.row(vec![bytes(row.bytes), show_count(row.blocks as f64), row.name.clone()]);
    }
    Ok(table.print_apart(console)?)
}
