//! `bactrian report`: the page and its answers in one file.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use bactrian_analysis::units::{Bytes, show_bytes};
use bactrian_web::{ReportOptions, write_report};

use crate::failure::{Failure, Status};
use crate::open;
use crate::output::{Console, show_number, write_file};
use crate::shown::ShownArgs;

/// Write traces, snapshots, recordings and GC results as one HTML page to share.
///
/// The page needs no network and no Bactrian. It contains the answers for what `bactrian view` shows first and for the next
/// few clicks, as far as --max-size allows, and says what it leaves out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian report server.ctf -o server.html
  bactrian report server.*.heap -o growth.html
  bactrian report run.live -o numbers.html
  bactrian report prover.gc -o parameters.html
  bactrian report server.ctf server.1.heap --max-size 2MB -o small.html
  bactrian report server.ctf --no-sources -o server.html    for people who may not see the code")]
pub struct Args {
    #[command(flatten)]
    shown: ShownArgs,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Maximum size of the page
    #[arg(long, value_name = "SIZE", default_value = "10MB")]
    max_size: Bytes,
    /// Leave out source lines, which are included if the sources are found on this machine
    #[arg(long)]
    no_sources: bool,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let shown = args.shown.open_files(console)?;
    let most = usize::try_from(args.max_size.0).unwrap_or(usize::MAX);
    let options = ReportOptions { most_bytes: most, sources: !args.no_sources };
    let mut written = None;
    write_file(&args.output, console, |out, _| {
        let report = write_report(&shown.evidence, &options, out, &mut open::progress(true));
        written = Some(report.context("the report cannot be written")?);
        Ok(())
    })?;
    shown.evidence.end();
    let Some(report) = written else { return Ok(Status::Done) };
    if args.output.as_os_str() != "-" {
        let size = show_bytes(report.bytes as f64);
        writeln!(console.out(), "{}: {size}, {} answers", args.output.display(), report.answers)?;
    }
    if !report.left_out.is_empty() {
        let answers = show_number(report.left_out.len() as u64, "answer");
        console.warn(&format!(
            "{answers} did not fit into --max-size; the report lists the commands that print them"
        ))?;
    }
    if let Some(fault) = &report.fault {
        console.warn(&format!(
            "the page failed before its last view, and later views are missing: {fault}. Please \
             report this bug"
        ))?;
    }
    Ok(Status::Done)
}
