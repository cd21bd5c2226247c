//! `bactrian check` of a heap snapshot: whether the file is intact, and limits.

use std::path::Path;

use bactrian_analysis::check::Verdict;
use bactrian_analysis::heap::{
    HeapCheck, against_baseline, against_limit, check_file, check_walk, contents,
};
use bactrian_analysis::units::Bytes;
use bactrian_snapshot::Snapshot;
use serde_json::json;

use super::check_report::{self, CheckFormat, CheckOutcome};
use crate::failure::{Failure, Status};
use crate::file_args::TraceArg;
use crate::open::{Evidence, account, open_evidence, snapshot_progress};
use crate::output::{Console, print_envelope};

/// The arguments.
pub struct Question<'a> {
    pub file: &'a TraceArg,
    pub max_live: Option<Bytes>,
    pub baseline: Option<&'a Path>,
    pub fail_above: f64,
    pub format: CheckFormat,
}

pub fn run(
    snapshot: &Snapshot,
    question: &Question<'_>,
    console: &mut Console,
) -> Result<Status, Failure> {
    let now = contents(snapshot, &mut snapshot_progress(snapshot));
    let mut checks = vec![check_file(&now.losses)];
    checks.extend(check_walk(&snapshot.tables().gaps));
    checks.extend(question.max_live.map(|limit| against_limit(&now, limit)));
    let mut files = vec![(&*question.file.file, &now.losses)];
    let before = match question.baseline {
        Some(path) => Some((path, baseline(path)?)),
        None => None,
    };
    if let Some((path, before)) = &before {
        checks.push(against_baseline(&now, before, question.fail_above));
        files.push((path, &before.losses));
    }
    let failed = checks.iter().any(|check| check.verdict == Verdict::Failed);
    if question.format == CheckFormat::Json {
        let result = json!({ "passed": !failed, "checks": checks });
        let files: Vec<_> =
            files.iter().map(|(path, losses)| (*path, (*losses).clone().into())).collect();
        let files = files.iter().map(|(path, losses)| (&**path, losses));
        print_envelope(console, "check", files, &result)?;
    } else {
        let told = |check: &HeapCheck| CheckOutcome {
            verdict: check.verdict,
            sentence: check.sentence.clone(),
            reasons: Vec::new(),
        };
        check_report::print(
            question.format,
            &checks.iter().map(told).collect::<Vec<_>>(),
            console,
        )?;
    }
    // Whether the first file is intact was reported as a check already.
    let told = usize::from(question.format != CheckFormat::Json && !question.file.strict);
    for (path, losses) in files.iter().skip(told) {
        account(path, question.file.strict, *losses, console)?;
    }
    Ok(if failed { Status::Finding } else { Status::Done })
}

fn baseline(path: &Path) -> Result<bactrian_analysis::heap::Contents, Failure> {
    match open_evidence(path)? {
        Evidence::Snapshot(snapshot) => Ok(contents(&snapshot, &mut snapshot_progress(&snapshot))),
        Evidence::Trace(_) => {
            let what = "a snapshot can only be compared with a snapshot";
            Err(Failure::Usage(format!("{} is a trace: {what}", path.display())))
        }
    }
}
