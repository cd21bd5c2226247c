//! `bactrian annotate`: a source file with what each line allocates beside it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bactrian_analysis::{By, Estimate, Row, top};
use serde_json::json;

use super::arguments::Metric;
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open;
use crate::output::{
    BAD, Console, FAINT, HEADING, print_json, show_estimate, show_share, show_value, visible,
};

/// A source file with what each line allocates, or holds, beside it.
///
/// Of any trace, of native code or bytecode. Lines are those that debug information names; what a line
/// allocates through functions that it calls counts for the lines in those functions.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian annotate src/cache.ml --profile trace.ctf
  bactrian annotate src/cache.ml --profile trace.ctf --metric live --all")]
pub struct Args {
    /// Source file
    #[arg(value_name = "FILE")]
    source: PathBuf,
    /// Trace file
    #[arg(long, short, value_name = "TRACE")]
    profile: PathBuf,
    /// What to measure
    #[arg(long, short, value_name = "METRIC", default_value = "allocated")]
    metric: Metric,
    /// Print all lines, not only those near some that count
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

/// Lines around one that counts.
const AROUND: usize = 3;
/// Lines with this share of the file's total or more stand out.
const HOT: f64 = 0.1;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let context = || format!("cannot read {}", args.source.display());
    let source = std::fs::read(&args.source).with_context(context)?;
    let source = String::from_utf8_lossy(&source);
    let trace = open::open(&args.profile)?;
    let filter = args.filters.filter()?;
    let answer = top(&trace, &filter, By::Line, args.metric.measure());
    let lines = lines_of(&args.source, &answer.rows);
    if args.json {
        let rows = lines.iter().map(|(line, own)| json!({ "line": line, "self": own }));
        let result = json!({
            "source": args.source.display().to_string(),
            "measure": answer.measure,
            "filter": filter,
            "all": answer.all,
            "lines": rows.collect::<Vec<_>>(),
        });
        print_json(console, "annotate", &args.profile, &answer.losses, &result)?;
    } else {
        let unit = answer.measure.unit;
        let here: f64 = lines.values().map(|own| own.value).sum();
        let all = answer.all.value.max(f64::MIN_POSITIVE);
        writeln!(
            console.out(),
            "{HEADING}{} by line of {}{HEADING:#}: {}, {} of {}",
            answer.measure.title(),
            args.source.display(),
            show_value(unit, here),
            show_share(here / all),
            show_estimate(unit, &answer.all),
        )?;
        let mut last = 0;
        for (number, text) in (1u32..).zip(source.lines()) {
            let near = number.saturating_sub(AROUND as u32)..=number + AROUND as u32;
            if !args.all && lines.range(near).next().is_none() {
                continue;
            }
            if last + 1 < number && last > 0 {
                writeln!(console.out(), "{FAINT}{:>18}  ...{FAINT:#}", "")?;
            }
            last = number;
            let text = visible(text);
            match lines.get(&number) {
                Some(own) => {
                    let (value, share) = (show_value(unit, own.value), show_share(own.value / all));
                    let style = if own.value >= HOT * here { BAD } else { HEADING };
                    let out = console.out();
                    writeln!(out, "{style}{value:>9}{style:#} {share:>8} {number:>5}  {text}")?;
                }
                None => writeln!(console.out(), "{:>18} {FAINT}{number:>5}{FAINT:#}  {text}", "")?,
            }
        }
        if lines.is_empty() {
            let file = args.source.display();
            let what = format!("nothing in the trace is of {file}; top --by file lists its files");
            console.warn(&what)?;
        }
    }
    open::account(&args.profile, false, &answer.losses, console)?;
    Ok(Status::Done)
}

/// What counts for lines of a file, by their numbers.
fn lines_of(source: &Path, rows: &[Row]) -> BTreeMap<u32, Estimate> {
    let mut lines = BTreeMap::new();
    for Row { label, own, .. } in rows {
        let Some((file, line)) = label.name.rsplit_once(':') else { continue };
        let Ok(line) = line.parse() else { continue };
        if own.value > 0.0 && are_same(source, Path::new(file)) {
            lines.insert(line, *own);
        }
    }
    lines
}

/// Whether two paths can be of one file: the compiler was told another path than we are, but the shorter one is
/// the end of the longer one.
fn are_same(one: &Path, other: &Path) -> bool {
    let clean =
        |path: &Path| path.components().filter(|c| c.as_os_str() != ".").collect::<PathBuf>();
    let (one, other) = (clean(one), clean(other));
    one.ends_with(&other) || other.ends_with(&one)
}
