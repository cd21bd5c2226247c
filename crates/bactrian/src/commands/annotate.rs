//! `bactrian annotate`: a source file with the allocations of each line beside it.

mod editor;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use bactrian_analysis::library::LibraryOptions;
use bactrian_analysis::{By, Estimate, MetricOption, keeps_little, lines_of, top};
use serde_json::json;

use crate::derived_args::DerivedArgs;
use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open;
use crate::output::{
    BAD, Console, FAINT, HEADING, print_json, show_estimate, show_share, show_value, visible,
};

/// Show a source file with what each line allocates or keeps.
///
/// Works for any trace, of native code or bytecode. `self` is what a line allocates itself, `total` includes everything
/// it calls. Lines are those that debug information names.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian annotate src/cache.ml --profile trace.ctf
  bactrian annotate src/cache.ml --profile trace.ctf --metric live --all
  bactrian annotate --lsp                    for an editor, which starts it: docs/install.md")]
pub struct Args {
    /// Source file
    #[arg(value_name = "FILE", required_unless_present = "lsp")]
    source: Option<PathBuf>,
    /// Trace file; with --lsp the default is the newest trace in the folders of the editor
    #[arg(long, short, value_name = "TRACE", required_unless_present = "lsp")]
    profile: Option<PathBuf>,
    /// Be a language server on standard input and output: numbers beside lines, for an editor
    #[arg(long, conflicts_with_all = ["source", "all", "json"])]
    lsp: bool,
    /// Some editors pass this: standard input and output, which is the only transport
    #[arg(long = "stdio", hide = true, requires = "lsp")]
    _stdio: bool,
    #[command(flatten)]
    metric: DerivedArgs<MetricOption>,
    /// Print all lines, not only those near a line that allocates
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    library: DerivedArgs<LibraryOptions>,
    #[command(flatten)]
    filters: FilterArgs,
}

/// The number of context lines.
const AROUND: u32 = 3;
/// Lines with this share of all allocations or more are highlighted.
const HOT: f64 = 0.1;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let mut filter = args.filters.filter()?;
    filter.hidden.library = !args.library.0.raw;
    // Both are required unless --lsp is given.
    let (Some(source_path), Some(profile), false) = (&args.source, &args.profile, args.lsp) else {
        return editor::serve(args.profile.clone(), args.metric.0.metric, filter);
    };
    let context = || format!("cannot read {}", source_path.display());
    let source = std::fs::read(source_path).with_context(context)?;
    let source = String::from_utf8_lossy(&source);
    let trace = open::open(profile)?;
    let measure = args.metric.0.metric.measure(|| keeps_little(&trace));
    let answer = top(&trace, &filter, By::Line, measure);
    let lines = lines_of(source_path, &answer.rows);
    if args.json {
        let rows = lines
            .iter()
            .map(|(line, (own, total))| json!({ "line": line, "self": own, "total": total }));
        let result = json!({
            "source": source_path.display().to_string(),
            "measure": answer.measure,
            "filter": filter,
            "all": answer.all,
            "lines": rows.collect::<Vec<_>>(),
        });
        print_json(console, "annotate", profile, &answer.losses, &result)?;
    } else {
        let unit = answer.measure.unit;
        // The sum of an empty iterator is minus zero; adding zero makes it positive.
        let here = lines.values().map(|(own, _)| own.value).sum::<f64>() + 0.0;
        let all = answer.all.value.max(f64::MIN_POSITIVE);
        writeln!(
            console.out(),
            "{HEADING}{} by line of {}{HEADING:#}: {}, {} of {}",
            answer.measure.title(),
            source_path.display(),
            show_value(unit, here),
            show_share(here / all),
            show_estimate(unit, &answer.all),
        )?;
        writeln!(console.out(), "{HEADING}{:>9} {:>9} {:>5}{HEADING:#}", "self", "total", "line")?;
        let mut last = 0;
        for (number, text) in (1u32..).zip(source.lines()) {
            let near = number.saturating_sub(AROUND)..=number + AROUND;
            if !args.all && lines.range(near).next().is_none() {
                continue;
            }
            if last + 1 < number && last > 0 {
                writeln!(console.out(), "{FAINT}{:>25}  ...{FAINT:#}", "")?;
            }
            last = number;
            let text = visible(text);
            let shown = |estimate: &Estimate| match estimate.value > 0.0 {
                true => show_value(unit, estimate.value),
                false => String::new(),
            };
            match lines.get(&number) {
                Some((own, total)) => {
                    let style = if own.value >= HOT * all { BAD } else { HEADING };
                    let (own, total) = (shown(own), shown(total));
                    let out = console.out();
                    writeln!(out, "{style}{own:>9}{style:#} {total:>9} {number:>5}  {text}")?;
                }
                None => writeln!(console.out(), "{:>19} {FAINT}{number:>5}{FAINT:#}  {text}", "")?,
            }
        }
        if lines.is_empty() {
            let file = source_path.display();
            let what = format!(
                "the trace has no allocations in {file}; `bactrian top --by file` \
                lists its files"
            );
            console.warn(&what)?;
        }
    }
    open::account(profile, false, &answer.losses, console)?;
    Ok(Status::Done)
}
