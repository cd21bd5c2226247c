//! `bactrian heap paths`: why something is alive.

use std::io::Write;

use bactrian_analysis::heap::{
    ClassPaths, NodeLine, PathStep, Paths, PathsAnswer, PathsQuestion, ShapeMembers, ShapeRow,
    ShapesLeftOut,
};
use bactrian_analysis::units::{show_bytes, show_count};

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{
    Align, Console, FAINT, HEADING, LAST, Table, show_number, show_share, tree_marks, visible,
};

#[derive(clap::Args, Debug)]
#[command(about = about::<PathsQuestion>(), long_about = long_about::<PathsQuestion>())]
#[command(after_help = "Examples:
  bactrian heap paths server.1.heap 0x7f4b1c0a8
  bactrian heap paths server.1.heap 'closure Server.handle'
  bactrian heap paths server.1.heap Session.t --members @1234   the blocks of the row that contains @1234")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<PathsQuestion>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let DerivedArgs(question) = &args.question;
    let asked = args.heap.files().ask(question, console)?;
    asked.tell("heap paths", args.json, console, |answer, console| match answer {
        PathsAnswer::Block { block, row_count } => print_paths(block, *row_count, console),
        PathsAnswer::Class { class } => {
            print_tree(class, question.min_share / 100.0, console)?;
            asked.say_coverage(console)
        }
    })
}

fn print_paths(answer: &Paths, all: usize, console: &mut Console) -> Result<(), Failure> {
    let target = format!("@{} {}", answer.target.node, answer.target.what);
    let roots = show_number(answer.roots, "root");
    let more = if answer.more { " or more" } else { "" };
    let target = visible(&target);
    writeln!(console.out(), "{HEADING}Paths to {target}{HEADING:#}: {roots}{more}")?;
    for row in &answer.rows {
        writeln!(console.out())?;
        let alike = match row.count {
            1 => String::new(),
            count => format!("; {count} paths look like this one"),
        };
        let blocks = show_number(row.length, "block");
        writeln!(console.out(), "{FAINT}{blocks}{alike}{FAINT:#}")?;
        print_steps(&row.steps, console)?;
    }
    if answer.rows.len() < all {
        let left = all - answer.rows.len();
        writeln!(console.out(), "{FAINT}{left} more; -n 0 shows all{FAINT:#}")?;
    }
    Ok(())
}

/// Prints the steps of a path, one per line.
pub fn print_steps(steps: &[PathStep], console: &mut Console) -> Result<(), Failure> {
    let width = steps.iter().map(|step| step.step.chars().count()).max().unwrap_or(0);
    for PathStep { node, step, what, site, times } in steps {
        let times = match times {
            1 => String::new(),
            times => format!(" × {times}"),
        };
        let site = site.as_ref().map_or(String::new(), |site| format!(", allocated in {site}"));
        let text = format!("{step:>width$}  @{node} {what}{times}{site}");
        writeln!(console.out(), "  {}", visible(&text))?;
    }
    Ok(())
}

fn print_tree(answer: &ClassPaths, min_share: f64, console: &mut Console) -> Result<(), Failure> {
    let (blocks, bytes) = (show_number(answer.blocks, "block"), show_bytes(answer.bytes as f64));
    writeln!(console.out(), "{HEADING}Paths{HEADING:#} to {blocks} of {bytes}")?;
    let table = Table::new(&[
        ("bytes", Align::Right),
        ("", Align::Right),
        ("blocks", Align::Right),
        ("here", Align::Right),
        ("", Align::Left),
    ]);
    let all = answer.bytes as f64;
    let mut printing = Printing { table, all, least: min_share * all };
    printing.rows(&answer.rows, answer.left_out, "");
    printing.table.print(console)?;
    if answer.unreached > 0 {
        let blocks = show_number(answer.unreached, "block");
        writeln!(console.out(), "{blocks} of them are not reachable from any root")?;
    }
    answer.members.as_ref().map_or(Ok(()), |members| print_members(members, console))
}

/// Prints the blocks of one row.
fn print_members(members: &ShapeMembers, console: &mut Console) -> Result<(), Failure> {
    let blocks = show_number(members.count, "block");
    writeln!(console.out(), "\n{HEADING}One row{HEADING:#} stands for {blocks}")?;
    let mut table = Table::new(&[("retained", Align::Right), ("", Align::Left)]);
    for NodeLine { node, what, retained } in &members.rows {
        table.row(vec![show_bytes(*retained as f64), format!("@{node} {what}")]);
    }
    if let left @ 1.. = members.count - members.rows.len() as u64 {
        table.faint(vec![String::new(), format!("{LAST}… {left} more; -n 0 shows all")]);
    }
    Ok(table.print(console)?)
}

struct Printing {
    table: Table,
    /// The bytes of the class, and the number of bytes from which omissions are shown.
    all: f64,
    least: f64,
}

impl Printing {
    /// Prints the rows of a level with those below; the answer limits the depth.
    fn rows(&mut self, rows: &[ShapeRow], left_out: ShapesLeftOut, indent: &str) {
        let tells_rest = left_out.rows > 0 && left_out.bytes as f64 >= self.least;
        let lines = rows.len() + usize::from(tells_rest);
        for (at, row) in rows.iter().enumerate() {
            let (mark, below) = tree_marks(at, lines);
            let step = if row.step.is_empty() { String::new() } else { format!("{}: ", row.step) };
            let repeats = if row.repeats { ", and so on" } else { "" };
            // An example of them, with which `--members` lists all.
            let many = match row.nodes {
                0 | 1 => String::new(),
                nodes => format!(" ({}, such as @{})", show_count(nodes as f64), row.node),
            };
            let here = if row.here > 0 { show_count(row.here as f64) } else { String::new() };
            self.table.row(vec![
                show_bytes(row.bytes as f64),
                show_share(row.bytes as f64 / self.all.max(1.0)),
                show_count(row.blocks as f64),
                here,
                format!("{indent}{mark}{step}{}{repeats}{many}", row.what),
            ]);
            self.rows(&row.rows, row.left_out, &format!("{indent}{below}"));
        }
        if tells_rest {
            let bytes = show_bytes(left_out.bytes as f64);
            let what = format!("{indent}{LAST}… {} more", left_out.rows);
            self.table.faint(vec![bytes, String::new(), String::new(), String::new(), what]);
        }
    }
}
