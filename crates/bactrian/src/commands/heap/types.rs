//! `bactrian heap types`: blocks by type, and where types contradict each other.

use std::io::Write;

use bactrian_analysis::heap::{ClassBy, Conflicts, conflicts};

use super::{classes, no_types};
use crate::commands::arguments::say_more;
use crate::failure::{Failure, Status};
use crate::output::{Console, FAINT, HEADING, show_number, visible};

/// Blocks by type: how many, shallow size and retained size.
///
/// With a table of types, blocks are grouped by OCaml type. Blocks of unknown type, and all blocks without a table, are
/// grouped by function, identifier, tag and size.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap types server.1.heap --types server.types
  bactrian heap types server.1.heap --types server.types --module Cache    what a module allocated
  bactrian heap sites server.1.heap --types server.types --type Ast.expr   where blocks of a type were allocated
  bactrian heap types server.1.heap --types server.types --conflicts")]
pub struct Args {
    #[command(flatten)]
    of: classes::ClassArgs,
    /// List blocks for which two incompatible types were found, and where each type comes from
    #[arg(long)]
    conflicts: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if !args.conflicts {
        return classes::run(&args.of, ClassBy::Type, console);
    }
    let (arg, rows) = (&args.of.heap, &args.of.question.0.rows);
    let heap = arg.open(console)?;
    let mut answer = conflicts(&heap).ok_or_else(no_types)?;
    let all = rows.cut(&mut answer.rows, |row| row.other.clone());
    if args.of.json {
        arg.print_json("types", &heap, &answer, console)?;
    } else {
        print(&answer, console)?;
        say_more(rows, answer.rows.len(), all, console)?;
    }
    arg.finish(&heap, console)
}

fn print(answer: &Conflicts, console: &mut Console) -> Result<(), Failure> {
    let blocks = show_number(answer.blocks, "block");
    writeln!(console.out(), "{HEADING}Conflicts{HEADING:#}: {blocks} of two types")?;
    if answer.told < answer.blocks {
        writeln!(console.out(), "{FAINT}only the first {} are listed{FAINT:#}", answer.told)?;
    }
    for row in &answer.rows {
        let nodes: Vec<String> = row.nodes.iter().map(|node| format!("@{node}")).collect();
        let blocks = show_number(row.blocks, "block");
        writeln!(console.out(), "\n{blocks}, as {}", nodes.join(" "))?;
        let kept = match &row.kept {
            Some(kept) => format!("{kept}, {}", row.kept_origin),
            None => format!("tag {}, {} words, according to its header", row.tag, row.words),
        };
        writeln!(console.out(), "  is     {}", visible(&kept))?;
        let other = format!("{}, {}", row.other, row.other_origin);
        writeln!(console.out(), "  not    {}", visible(&other))?;
    }
    Ok(())
}
