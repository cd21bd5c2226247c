//! `bactrian check`: limits for continuous integration.

use std::io::Write;
use std::path::PathBuf;

use bactrian_analysis::check::{
    Check, Subject, Verdict, Vitals, against_baseline, against_limit, reasons,
};
use bactrian_analysis::units::{Bytes, show_bytes};
use bactrian_analysis::{Change, Unit};
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::filters::FilterArgs;
use crate::open::{TraceArg, account, open};
use crate::output::{BAD, Console, GOOD, WARNING, print_json_of_files, show_estimate, visible};

/// Hold a trace against limits or a baseline, for continuous integration.
///
/// A check fails (status 1) when the whole 95 % interval lies above the limit, so sampling alone does not
/// fail a build. If the limit lies within the interval, or some of the trace is lost, that is undecided: it is
/// said and does not fail.
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

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if args.max_live.is_none() && args.max_allocated.is_none() && args.baseline.is_none() {
        let what = "nothing to check: give --max-live, --max-allocated or --baseline";
        return Err(Failure::Usage(what.to_owned()));
    }
    let trace = args.trace.open()?;
    let filter = args.filters.filter()?;
    let vitals = Vitals::of(&trace, &filter);
    if vitals.allocated.value <= 0.0 && !filter.admits_all() {
        let what = "no sampled object is what the filters ask for, so there is nothing to check";
        return Err(Failure::Input(anyhow::anyhow!(what)));
    }
    let mut checks = Vec::new();
    let limits = [(Subject::Live, args.max_live), (Subject::Allocated, args.max_allocated)];
    for (subject, limit) in limits {
        checks.extend(limit.map(|limit| against_limit(subject, &vitals, limit)));
    }
    let mut files = vec![(&*args.trace.file, vitals.losses.clone())];
    if let Some(path) = &args.baseline {
        let baseline = open(path)?;
        let before = Vitals::of(&baseline, &filter);
        for subject in [Subject::Live, Subject::Allocated] {
            let mut check = against_baseline(subject, &vitals, &before, args.fail_above);
            if check.verdict == Verdict::Failed {
                check.reasons = reasons(subject, &baseline, &trace, &filter);
            }
            checks.push(check);
        }
        files.push((path, before.losses));
    }
    let failed = checks.iter().any(|check| check.verdict == Verdict::Failed);
    if args.json {
        let files: Vec<_> = files.iter().map(|(path, losses)| (*path, losses)).collect();
        let result = json!({ "passed": !failed, "filter": filter, "checks": checks });
        print_json_of_files(console, "check", &files, &result)?;
    } else {
        print(&checks, console)?;
    }
    for (path, losses) in &files {
        account(path, args.trace.strict, losses, console)?;
    }
    Ok(if failed { Status::Finding } else { Status::Done })
}

fn print(checks: &[Check], console: &mut Console) -> Result<(), Failure> {
    let out = console.out();
    for check in checks {
        let (style, word) = match check.verdict {
            Verdict::Passed => (GOOD, "passed"),
            Verdict::Failed => (BAD, "failed"),
            Verdict::Undecided => (WARNING, "undecided"),
        };
        writeln!(out, "{style}{word:<9}{style:#} {}", check.sentence)?;
        for Change { label, own, .. } in &check.reasons {
            let change = show_estimate(Unit::Bytes, &own.change);
            let (before, after) = (show_bytes(own.before.value), show_bytes(own.after.value));
            let name = label.text();
            writeln!(out, "  +{change} in {}: {before} to {after}", visible(&name))?;
        }
    }
    Ok(())
}
