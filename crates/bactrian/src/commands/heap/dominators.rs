//! `bactrian heap dominators`: what would be freed without a block or a class.

use std::io::Write;

use bactrian_analysis::heap::{DominatorRow, DominatorTree, DominatorsLeftOut, DominatorsQuestion};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Align, Console, HEADING, Table, show_number, show_share, tree_marks};

#[derive(clap::Args, Debug)]
#[command(about = about::<DominatorsQuestion>(), long_about = long_about::<DominatorsQuestion>())]
#[command(after_help = "Examples:
  bactrian heap dominators server.1.heap
  bactrian heap dominators server.1.heap --of Server --depth 8
  bactrian heap dominators server.1.heap --of 'closure Server.handle' --blocks")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<DominatorsQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap dominators", args.json, console, |answer, console| {
        print(answer, question.min_share / 100.0, console)?;
        asked.say_coverage(console)
    })
}

fn print(answer: &DominatorTree, min_share: f64, console: &mut Console) -> Result<(), Failure> {
    writeln!(
        console.out(),
        "{HEADING}Dominators{HEADING:#}: {} reachable from roots",
        show_bytes(answer.total as f64)
    )?;
    let table = Table::new(&[
        ("retained", Align::Right),
        ("", Align::Right),
        ("shallow", Align::Right),
        ("blocks", Align::Right),
        ("", Align::Left),
    ]);
    // Omissions are shown where the rows would have been.
    let mut printing = Printing { table, least: min_share * answer.total as f64 };
    printing.rows(&answer.rows, answer.left_out, "");
    Ok(printing.table.print(console)?)
}

struct Printing {
    table: Table,
    /// Omissions of at least this many bytes are shown.
    least: f64,
}

impl Printing {
    /// Prints the rows of a level with those below; the answer limits the depth.
    fn rows(&mut self, all: &[DominatorRow], left_out: DominatorsLeftOut, indent: &str) {
        let tells_rest = left_out.rows > 0 && left_out.retained as f64 >= self.least;
        let lines = all.len() + usize::from(tells_rest);
        for (at, row) in all.iter().enumerate() {
            let (mark, below) = tree_marks(at, lines);
            let number = row.node.map_or(String::new(), |node| format!("@{node} "));
            let [shallow, blocks] = match row.objects {
                0 => [String::new(), String::new()],
                objects => [show_bytes(row.shallow as f64), show_count(objects as f64)],
            };
            self.table.row(vec![
                show_bytes(row.retained as f64),
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
            let retained = show_bytes(left_out.retained as f64);
            let mut cells = vec![retained, String::new(), String::new(), String::new()];
            cells.push(format!("{indent}{mark}… {what}"));
            self.table.faint(cells);
        }
    }
}
