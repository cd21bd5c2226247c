//! `bactrian heap roots`: who holds the memory.

use std::io::Write;

use bactrian_analysis::heap::{RootRow, Roots, RootsQuestion, roots};
use bactrian_analysis::units::show_bytes;

use super::HeapArg;
use crate::failure::{Failure, Status};
use crate::output::{Align, Console, FAINT, HEADING, SHARE, Table, show_share};

/// Who holds the memory: kinds of roots, modules, threads and finalisers, their fields and frames.
///
/// `retained` is all that can be reached from a root, `dominated` what would be free without it, `fair share` its part
/// if each block is divided among those that point to it, `shallow` the blocks it points to itself.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap roots server.1.heap               kinds of roots, modules, threads
  bactrian heap roots server.1.heap --depth 3     their fields and frames, too
  bactrian heap roots server.1.heap --depth 1     kinds only")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// Levels: 1 for kinds of roots, 2 for modules, threads and the like too, 3 for their fields and frames
    #[arg(long, value_name = "LEVELS", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    depth: u8,
    /// How many rows below each; 0 for all
    #[arg(
        short = 'n',
        long = "number",
        visible_alias = "limit",
        value_name = "ROWS",
        default_value_t = 10
    )]
    number: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let heap = args.heap.open(console)?;
    let answer = roots(&heap, &RootsQuestion { depth: args.depth, limit: args.number });
    match args.json {
        true => args.heap.print_json("roots", &heap, &answer, console)?,
        false => print(&answer, args.depth, console)?,
    }
    args.heap.finish(&heap, console)
}

fn print(answer: &Roots, depth: u8, console: &mut Console) -> Result<(), Failure> {
    let all = &answer.all;
    writeln!(
        console.out(),
        "{HEADING}roots{HEADING:#}: {} are held",
        show_bytes(all.retained as f64)
    )?;
    let numbers = ["retained", "dominated", "fair share", "shallow"];
    let mut headings: Vec<_> =
        numbers.iter().flat_map(|&name| [(name, Align::Right), (SHARE, Align::Right)]).collect();
    headings.push(("root", Align::Left));
    let mut table = Table::new(&headings);
    // Rows that are still to be told, the next one last, with their levels.
    let mut waiting: Vec<(usize, Line<'_>)> = vec![(0, Line::Row(all))];
    while let Some((level, line)) = waiting.pop() {
        let indent = "  ".repeat(level);
        match line {
            Line::Row(row) => {
                let sizes =
                    [row.retained as f64, row.dominated as f64, row.share, row.shallow as f64];
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
                let (dominated, share) = (rest.dominated as f64, rest.share);
                let cells = vec![
                    none(),
                    none(),
                    show_bytes(dominated),
                    part(dominated, all),
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
    /// What is left out below a row.
    Rest(&'a RootRow),
}

fn part(bytes: f64, all: &RootRow) -> String {
    match all.retained {
        0 => String::new(),
        all => show_share(bytes / all as f64),
    }
}
