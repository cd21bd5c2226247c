//! `bactrian heap graph`: a picture of a heap, or of the neighbourhood of a block.

use std::path::{Path, PathBuf};

use bactrian_analysis::heap::{GraphAnswer, GraphQuestion};
use bactrian_export::{Picture, write_graph_dot};
use bactrian_web::graph_svg;

use crate::commands::arguments::{about, long_about};
use crate::derived_args::DerivedArgs;
use crate::evidence::Asked;
use crate::failure::{Failure, Status};
use crate::file_args::HeapArg;
use crate::output::{Console, show_number, write_file};

#[derive(clap::Args, Debug)]
#[command(about = about::<GraphQuestion>(), long_about = long_about::<GraphQuestion>())]
#[command(after_help = "Examples:
  bactrian heap graph server.heap -o server.svg
  bactrian heap graph server.heap --nodes 200 | dot -Tpdf > server.pdf
  bactrian heap graph server.heap --around Main.table --steps 3 -o table.svg")]
pub struct Args {
    #[command(flatten)]
    heap: HeapArg,
    #[command(flatten)]
    question: DerivedArgs<GraphQuestion>,
    /// Format to write [default: by the extension of the file, otherwise dot]
    #[arg(long, value_name = "FORMAT")]
    format: Option<GraphFormat>,
    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["format", "output"])]
    json: bool,
}

/// Formats of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GraphFormat {
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
    /// JSON, for scripts
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
    let asked = args.heap.files().ask(&args.question.0, console)?;
    let title = args.heap.file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
    let what = match &asked.answer.result {
        GraphAnswer::Reduced(answer) => show_number(answer.sets.len() as u64, "set"),
        GraphAnswer::Around(answer) => {
            format!("{} of {} blocks and roots", answer.told, answer.near)
        }
    };
    write(args, &asked, &title, &what, console)?;
    asked.finish(console)
}

/// Writes an answer in the requested format; `what` is printed about the file.
fn write(
    args: &Args,
    asked: &Asked<GraphAnswer>,
    title: &str,
    what: &str,
    console: &mut Console,
) -> Result<(), Failure> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    match args.format() {
        GraphFormat::Json if output == Path::new("-") => asked.print_json("heap graph", console)?,
        format => write_file(output, console, |mut out, _| {
            match format {
                GraphFormat::Dot => {
                    let picture = match &asked.answer.result {
                        GraphAnswer::Reduced(answer) => Picture::of_reduced(answer, title),
                        GraphAnswer::Around(answer) => Picture::of_around(answer, title),
                    };
                    write_graph_dot(&picture, &mut out)?;
                }
                GraphFormat::Svg => {
                    let svg = graph_svg(&asked.answer.result, title);
                    out.write_all(svg.map_err(std::io::Error::other)?.as_bytes())?;
                }
                GraphFormat::Json => {
                    serde_json::to_writer_pretty(&mut out, &asked.answer.result)
                        .map_err(std::io::Error::from)?;
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
