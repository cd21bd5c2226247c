//! `bactrian heap roots`: who holds the memory.

use std::io::Write;

use bactrian_analysis::heap::{RootRow, Roots, RootsQuestion};
use bactrian_analysis::units::show_bytes;

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, FAINT, HEADING, SHARE, Table, show_share};

#[derive(clap::Args, Debug)]
#[command(about = about::<RootsQuestion>(), long_about = long_about::<RootsQuestion>())]
#[command(after_help = "Examples:
  bactrian heap roots server.1.heap               kinds of roots, modules, threads
  bactrian heap roots server.1.heap --depth 3     also their fields and frames
  bactrian heap roots server.1.heap --depth 1     only kinds of roots")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<RootsQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap roots", args.json, console, |answer, console| {
        print(answer, question.depth, console)
    })
}

fn print(answer: &Roots, depth: u8, console: &mut Console) -> Result<(), Failure> {
    let all = &answer.all;
    writeln!(
        console.out(),
        "{HEADING}roots{HEADING:#}: {} are held",
        show_bytes(all.reachable as f64)
    )?;
    let numbers = ["reachable", "retained", "fair share", "shallow"];
    let mut headings: Vec<_> =
        numbers.iter().flat_map(|&name| [(name, Align::Right), (SHARE, Align::Right)]).collect();
    headings.push(("root", Align::Left));
    let mut table = Table::new(&headings);
    // Rows that are still to be printed, the next one last, with their levels.
    let mut waiting: Vec<(usize, Line<'_>)> = vec![(0, Line::Row(all))];
    while let Some((level, line)) = waiting.pop() {
        let indent = "  ".repeat(level);
        match line {
            Line::Row(row) => {
                let sizes =
                    [row.reachable as f64, row.retained as f64, row.share, row.shallow as f64];
                let mut cells = Vec::new();
                for size in sizes {
                    cells.extend([show_bytes(size), part(size, all)]);
                }
                cells.push(format!("{indent}{}", row.name));
                table.row(cells);
                if level < usize::from(depth) {
                    if row.left_out.rows > 0 {
                        waiting.push((level + 1, Line::Rest(row)));
                    }
                    let rows = row.rows.iter().rev();
                    waiting.extend(rows.map(|row| (level + 1, Line::Row(row))));
                }
            }
            Line::Rest(row) => {
                let (rest, none) = (&row.left_out, String::new);
                let (retained, share) = (rest.retained as f64, rest.share);
                let cells = vec![
                    none(),
                    none(),
                    show_bytes(retained),
                    part(retained, all),
                    show_bytes(share),
                    part(share, all),
                    none(),
                    none(),
                    format!("{indent}{} more", rest.rows),
                ];
                table.styled(cells, FAINT);
            }
        }
    }
    Ok(table.print(console)?)
}

enum Line<'a> {
    Row(&'a RootRow),
    /// What is omitted below a row.
    Rest(&'a RootRow),
}

fn part(bytes: f64, all: &RootRow) -> String {
    match all.reachable {
        0 => String::new(),
        all => show_share(bytes / all as f64),
    }
}
