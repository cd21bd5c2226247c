//! `bactrian check`: limits for continuous integration.

use std::path::PathBuf;

use bactrian_analysis::check::{
    Check, Subject, Verdict, Vitals, against_baseline, against_limit, reasons,
};
use bactrian_analysis::units::{Bytes, show_bytes};
use bactrian_analysis::{By, Change, Filter, Label, TraceFile, Unit, top};
use serde_json::json;

use super::check_report::{self, CheckFormat, CheckOutcome, Reason};
use super::heap_check;
use crate::failure::{Failure, Status};
use crate::file_args::{TraceArg, or_snapshot};
use crate::filters::FilterArgs;
use crate::open::{Evidence, account, open, open_evidence};
use crate::output::{Console, print_envelope, show_estimate};

/// Check a trace or snapshot against limits, for continuous integration.
///
/// A check fails (status 1) only if the whole 95 % confidence interval lies above the limit, so that sampling noise does
/// not fail a build. If the limit lies within the interval, or part of the trace is lost, the check is undecided: this is
/// reported, but does not fail. Sizes of a snapshot are exact; whether its file is complete is always checked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian check trace.ctf --max-live 200MB --max-allocated 5GB
  bactrian check trace.ctf --baseline main.ctf --fail-above 5%
  bactrian check trace.ctf --max-live 1MB --in Cache.add    limits one function
  bactrian check trace.ctf --max-live 200MB --format github    annotations at the allocating line
  bactrian check trace.ctf --baseline main.ctf --format markdown >> $GITHUB_STEP_SUMMARY
  bactrian check server.1.heap --max-live 200MB    checks that the file is complete, and its live size")]
#[command(mut_arg("file", or_snapshot))]
pub struct Args {
    #[command(flatten)]
    trace: TraceArg,
    /// Maximum size of what is live at any moment
    #[arg(long, value_name = "SIZE")]
    max_live: Option<Bytes>,
    /// Maximum size of everything that is allocated
    #[arg(long, value_name = "SIZE")]
    max_allocated: Option<Bytes>,
    /// Compare peak live size and allocation with this trace, or live size with this snapshot
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Allowed growth over the baseline
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    fail_above: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    format: CheckFormat,
    #[command(flatten)]
    filters: FilterArgs,
}

impl Args {
    fn format(&self) -> CheckFormat {
        if self.json { CheckFormat::Json } else { self.format }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.map(|number| number / 100.0).ok_or_else(|| "not a percentage, such as 5%".to_owned())
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let filter = args.filters.filter()?;
    let trace = match open_evidence(&args.trace.file)? {
        Evidence::Trace(trace) => trace,
        Evidence::Snapshot(_) if args.max_allocated.is_some() || !filter.admits_all() => {
            let what = "--max-allocated and filters are for traces; this is a heap snapshot";
            return Err(Failure::Usage(what.to_owned()));
        }
        Evidence::Snapshot(snapshot) => {
            let question = heap_check::Question {
                file: &args.trace,
                max_live: args.max_live,
                baseline: args.baseline.as_deref(),
                fail_above: args.fail_above,
                format: args.format(),
            };
            return heap_check::run(&snapshot, &question, console);
        }
    };
    if args.max_live.is_none() && args.max_allocated.is_none() && args.baseline.is_none() {
        let what = "nothing to check: give --max-live, --max-allocated or --baseline";
        return Err(Failure::Usage(what.to_owned()));
    }
    let vitals = Vitals::of(&trace, &filter);
    if vitals.allocated.value <= 0.0 && !filter.admits_all() {
        let what = "no sampled object matches the filters, so there is nothing to check";
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
    if args.format() == CheckFormat::Json {
        let files: Vec<_> =
            files.iter().map(|(path, losses)| (*path, losses.clone().into())).collect();
        let files = files.iter().map(|(path, losses)| (&**path, losses));
        let result = json!({ "passed": !failed, "filter": filter, "checks": checks });
        print_envelope(console, "check", files, &result)?;
    } else {
        let told = checks.iter().map(|check| told(check, &trace, &filter)).collect::<Vec<_>>();
        check_report::print(args.format(), &told, console)?;
    }
    for (path, losses) in &files {
        account(path, args.trace.strict, losses, console)?;
    }
    Ok(if failed { Status::Finding } else { Status::Done })
}

/// The outcome of a check. If it did not pass, with the reasons and the lines that allocate.
fn told(check: &Check, trace: &TraceFile, filter: &Filter) -> CheckOutcome {
    let mut told = CheckOutcome {
        verdict: check.verdict,
        sentence: check.sentence.clone(),
        reasons: Vec::new(),
    };
    if check.verdict == Verdict::Passed {
        return told;
    }
    let mut filter = filter.clone();
    filter.hidden.library = true;
    let sites = top(trace, &filter, By::Site, check.subject.measure());
    let place = |label: &Label| Some((label.file.clone()?, label.line?));
    told.reasons = check
        .reasons
        .iter()
        .map(|Change { label, own, .. }| {
            let change = show_estimate(Unit::Bytes, &own.change);
            let (before, after) = (show_bytes(own.before.value), show_bytes(own.after.value));
            let site = sites.rows.iter().find(|row| row.label.name == label.name);
            let text = format!("+{change} in {}: {before} to {after}", label.text());
            Reason { text, place: site.and_then(|row| place(&row.label)) }
        })
        .collect();
    if let Some(first) = sites.rows.first().filter(|_| told.reasons.is_empty()) {
        let size = show_estimate(Unit::Bytes, &first.own);
        let text = format!("the largest part, {size}, in {}", first.label.text());
        told.reasons.push(Reason { text, place: place(&first.label) });
    }
    told
}
