//! `bactrian heap graph`: a heap in one picture, or what is around a block.

use std::path::{Path, PathBuf};

use bactrian_analysis::heap::{AroundQuestion, Heap, MOST_SETS, around, reduced};
use bactrian_export::{Picture, write_graph_dot, write_graph_svg};
use serde::Serialize;

use super::HeapArg;
use crate::failure::{Failure, Status};
use crate::output::{Console, show_number, write_file};

/// The heap in one picture: what hangs together is one, the largest sets are shown with ways from the roots. Or, with
/// --around, the blocks near one block.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian heap graph server.heap -o server.svg
  bactrian heap graph server.heap --nodes 200 | dot -Tpdf > server.pdf
  bactrian heap graph server.heap --around Main.table --steps 3 -o table.svg")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    /// Draw what is around a block, block by block: 0xADDRESS, #NUMBER, or a module or value of one (Main.table, Main.3)
    #[arg(long, value_name = "BLOCK")]
    around: Option<String>,
    /// With --around: how many pointers away, whichever way they go
    #[arg(long, value_name = "STEPS", default_value_t = 2, requires = "around")]
    steps: u32,
    /// About how many sets to show; with --around, how many blocks at most, the nearest and largest
    #[arg(long, short, visible_alias = "limit", value_name = "SETS", default_value_t = 50)]
    nodes: usize,
    /// Format to write; if not given it is that of the file's name, or dot
    #[arg(long, value_name = "FORMAT")]
    format: Option<GraphFormat>,
    /// Where to write it; standard output if not given
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["format", "output"])]
    json: bool,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GraphFormat {
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
    /// For scripts
    Json,
}

impl Args {
    fn format(&self) -> GraphFormat {
        let extension = self.output.as_deref().and_then(Path::extension);
        match (self.json, self.format, extension.and_then(|text| text.to_str())) {
            (true, _, _) | (_, None, Some("json")) => GraphFormat::Json,
            (_, Some(format), _) => format,
            (_, None, Some("svg")) => GraphFormat::Svg,
            (_, None, _) => GraphFormat::Dot,
        }
    }
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if !(1..=MOST_SETS).contains(&args.nodes) {
        return Err(Failure::Usage(format!("--nodes is a number from 1 to {MOST_SETS}")));
    }
    let heap = args.heap.open(console)?;
    let title = args.heap.file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
    match &args.around {
        None => {
            let answer = reduced(&heap, args.nodes);
            let picture = Picture::of_reduced(&answer, &title);
            let what = show_number(answer.sets.len() as u64, "set");
            write(args, &heap, &answer, &picture, &what, console)?;
        }
        Some(block) => {
            let centre = heap.find_node(block).map_err(|error| args.heap.not_found(&error))?;
            let question = AroundQuestion { centre, steps: args.steps, most: args.nodes };
            let answer = around(&heap, &question);
            let picture = Picture::of_around(&answer, &title);
            let what = format!("{} of {} blocks and roots", answer.told, answer.near);
            write(args, &heap, &answer, &picture, &what, console)?;
        }
    }
    args.heap.finish(&heap, console)
}

/// Writes an answer in the format that is wanted; `what` is said of a file.
fn write(
    args: &Args,
    heap: &Heap,
    answer: &impl Serialize,
    picture: &Picture,
    what: &str,
    console: &mut Console,
) -> Result<(), Failure> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    match args.format() {
        GraphFormat::Json if output == Path::new("-") => {
            args.heap.print_json("graph", heap, answer, console)?;
        }
        format => write_file(output, console, |mut out, _| {
            match format {
                GraphFormat::Dot => write_graph_dot(picture, &mut out)?,
                GraphFormat::Svg => write_graph_svg(picture, &mut out)?,
                GraphFormat::Json => {
                    serde_json::to_writer_pretty(&mut out, answer).map_err(std::io::Error::from)?;
                    writeln!(out)?;
                }
            }
            Ok(())
        })?,
    }
    if output != Path::new("-") {
        console.note(&format!("{}: {what}", output.display()))?;
    }
    Ok(())
}
