//! `bactrian heap dominators`: what would be free without whom.

use std::io::Write;

use bactrian_analysis::heap::{
    DominatorRow, DominatorTree, DominatorsLeftOut, DominatorsQuestion, dominators,
};
use bactrian_analysis::units::{show_bytes, show_count};

use super::{HeapArg, say_coverage};
use crate::commands::arguments::share;
use crate::failure::{Failure, Status};
use crate::output::{Align, Console, HEADING, Table, show_number, show_share, tree_marks};

/// What would be free without whom: the tree of dominators, largest first.
///
/// A block dominates what can only be reached through it. At each level all blocks of a class are one row, and those
/// that are held by others of their class, directly or through others, belong to it too, so that a list or a tree is one
/// row. What several roots hold stands beside them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap dominators server.1.heap
  bactrian heap dominators server.1.heap --of Server --depth 8
  bactrian heap dominators server.1.heap --of 'closure Server.handle' --blocks")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// Begin at a block (0xADDRESS, #NUMBER), a module or value of one (Main.table), or a class
    #[arg(long, value_name = "WHAT")]
    of: Option<String>,
    /// Then go down to this row, by what it is called or #NUMBER; several, one after the other
    #[arg(long, value_name = "ROW", conflicts_with = "blocks")]
    below: Vec<String>,
    /// Each block by itself
    #[arg(long)]
    blocks: bool,
    /// How many levels
    #[arg(long, value_name = "N", default_value_t = 7)]
    depth: usize,
    /// How many rows at each place; 0 for all
    #[arg(short, long, visible_alias = "limit", value_name = "ROWS", default_value_t = 10)]
    number: usize,
    /// Leave out what dominates less than this part of the heap, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_share: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let min_share = share(args.min_share)?;
    let heap = args.heap.open(console)?;
    let of = args.of.as_ref().map(|of| args.heap.find(&heap, of)).transpose()?;
    let question = DominatorsQuestion {
        of,
        below: args.below.clone(),
        by_block: args.blocks,
        depth: args.depth,
        limit: args.number,
        min_share,
    };
    let answer = dominators(&heap, &question).map_err(|error| args.heap.not_found(&error))?;
    match args.json {
        true => args.heap.print_json("dominators", &heap, &answer, console)?,
        false => {
            print(&answer, min_share, console)?;
            say_coverage(&heap, console)?;
        }
    }
    args.heap.finish(&heap, console)
}

fn print(answer: &DominatorTree, min_share: f64, console: &mut Console) -> Result<(), Failure> {
    writeln!(
        console.out(),
        "{HEADING}Dominators{HEADING:#}: {} can be reached from roots",
        show_bytes(answer.total as f64)
    )?;
    let table = Table::new(&[
        ("dominated", Align::Right),
        ("", Align::Right),
        ("shallow", Align::Right),
        ("blocks", Align::Right),
        ("", Align::Left),
    ]);
    // What is left out is told where it would have been.
    let mut printing = Printing { table, least: min_share * answer.total as f64 };
    printing.rows(&answer.rows, answer.left_out, "");
    Ok(printing.table.print(console)?)
}

struct Printing {
    table: Table,
    /// What is left out is told from so many bytes on.
    least: f64,
}

impl Printing {
    /// Rows of one level with those below; the answer bounds how many levels there are.
    fn rows(&mut self, all: &[DominatorRow], left_out: DominatorsLeftOut, indent: &str) {
        let tells_rest = left_out.rows > 0 && left_out.dominated as f64 >= self.least;
        let lines = all.len() + usize::from(tells_rest);
        for (at, row) in all.iter().enumerate() {
            let (mark, below) = tree_marks(at, lines);
            let number = row.node.map_or(String::new(), |node| format!("#{node} "));
            let [shallow, blocks] = match row.objects {
                0 => [String::new(), String::new()],
                objects => [show_bytes(row.shallow as f64), show_count(objects as f64)],
            };
            self.table.row(vec![
                show_bytes(row.dominated as f64),
                show_share(row.share),
                shallow,
                blocks,
                format!("{indent}{mark}{number}{}", row.what),
            ]);
            self.rows(&row.rows, row.left_out, &format!("{indent}{below}"));
        }
        if tells_rest {
            let (mark, _) = tree_marks(all.len(), lines);
            let what = match all.is_empty() {
                true => show_number(left_out.rows, "row"),
                false => format!("{} more", left_out.rows),
            };
            let dominated = show_bytes(left_out.dominated as f64);
            let mut cells = vec![dominated, String::new(), String::new(), String::new()];
            cells.push(format!("{indent}{mark}… {what}"));
            self.table.faint(cells);
        }
    }
}
