//! `bactrian check`: limits for continuous integration.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::check::{Check, Subject, Verdict, Vitals, against_baseline, against_limit};
use bactrian_analysis::units::Bytes;
use bactrian_analysis::{Change, Filter, Measure, Of, TraceFile, Unit, diff, top};
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::{TraceArg, account, open};
use crate::output::{BAD, Console, GOOD, WARNING, print_json_of_files, show_value};

/// Hold a trace against limits or a baseline, for continuous integration.
///
/// A check fails (status 1) when the whole 95 % interval lies above the limit, so sampling alone does not
/// fail a build. If the limit lies within the interval, that is said and passes.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian check trace.ctf --max-live 200MB --max-allocated 5GB
  bactrian check trace.ctf --baseline main.ctf --fail-above 5%
  bactrian check trace.ctf --max-live 1MB --in Cache.add    what one function may hold")]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Most bytes that may be alive at any moment
    #[arg(long, value_name = "SIZE")]
    max_live: Option<Bytes>,
    /// Most bytes that may be allocated in all
    #[arg(long, value_name = "SIZE")]
    max_allocated: Option<Bytes>,
    /// Compare peak live size and allocation with this trace
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Growth over the baseline that is allowed
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    fail_above: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.map(|number| number / 100.0).ok_or_else(|| "write a percentage, as 5%".to_owned())
}

/// Functions named as reasons when a baseline is exceeded.
const MAX_REASONS: usize = 5;

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if args.max_live.is_none() && args.max_allocated.is_none() && args.baseline.is_none() {
        let what = "nothing to check: give --max-live, --max-allocated or --baseline";
        return Err(Failure::Usage(what.to_owned()));
    }
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let (vitals, losses) = Vitals::of(&trace, &filter);
    let mut checks = Vec::new();
    let limits = [(Subject::Live, args.max_live), (Subject::Allocated, args.max_allocated)];
    for (subject, limit) in limits {
        checks.extend(limit.map(|limit| against_limit(subject, &vitals, limit)));
    }
    let mut files = vec![(&*args.trace.file, losses)];
    let mut reasons = Vec::new();
    if let Some(path) = &args.baseline {
        let baseline = open(path)?;
        let (before, losses) = Vitals::of(&baseline, &filter);
        let compared = [Subject::Live, Subject::Allocated]
            .map(|subject| against_baseline(subject, &vitals, &before, args.fail_above));
        for check in compared.iter().filter(|check| check.verdict == Verdict::Failed) {
            reasons.extend(reasons_for(check.subject, &baseline, &trace, &filter));
        }
        checks.extend(compared);
        files.push((path, losses));
    }
    let failed = checks.iter().any(|check| check.verdict == Verdict::Failed);
    if args.json {
        let files: Vec<_> = files.iter().map(|(path, losses)| (*path, losses)).collect();
        let result =
            json!({ "passed": !failed, "filter": filter, "checks": checks, "reasons": reasons });
        print_json_of_files(console, "check", &files, &result)?;
    } else {
        print(&checks, &reasons, console)?;
    }
    for (path, losses) in &files {
        account(path, args.trace.strict, losses, console)?;
    }
    Ok(if failed { Status::Finding } else { Status::Done })
}

/// The functions that grew most.
fn reasons_for(
    subject: Subject,
    before: &TraceFile,
    after: &TraceFile,
    filter: &Filter,
) -> Vec<Change> {
    let measure = Measure::bytes(match subject {
        Subject::Live => Of::LiveAtPeak,
        Subject::Allocated => Of::Allocated,
    });
    let [before, after] =
        [before, after].map(|trace| top(trace, filter, bactrian_analysis::By::Function, measure));
    let changes = diff(&before, &after).rows.into_iter();
    let grown = changes.filter(|row| row.own.significant && row.own.change.value > 0.0);
    grown.take(MAX_REASONS).collect()
}

fn print(checks: &[Check], reasons: &[Change], console: &mut Console) -> Result<(), Failure> {
    let out = console.out();
    for check in checks {
        let (style, word) = match check.verdict {
            Verdict::Passed => (GOOD, "passed"),
            Verdict::Failed => (BAD, "failed"),
            Verdict::Undecided => (WARNING, "undecided"),
        };
        writeln!(out, "{style}{word:<9}{style:#} {}", check.sentence)?;
    }
    for Change { label, own, .. } in reasons {
        let show = |value| show_value(Unit::Bytes, value);
        let (change, before, after) = (own.change.value, own.before.value, own.after.value);
        let name = label.text();
        writeln!(out, "  +{} in {name}: {} to {}", show(change), show(before), show(after))?;
    }
    Ok(())
}
