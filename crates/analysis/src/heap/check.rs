//! Limits for a snapshot, for continuous integration. Sizes are exact; the only uncertainty is what was lost
//! of the file.

use bactrian_snapshot::Losses;
use schemars::JsonSchema;
use serde::Serialize;

use super::Contents;
use crate::check::Verdict;
use crate::units::{Bytes, show_bytes};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeapSubject {
    /// Whether the whole file can be read and is consistent.
    File,
    /// Whether the whole heap could be read when the snapshot was taken.
    Walk,
    /// Live bytes.
    Live,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeapCheck {
    /// What was checked.
    pub subject: HeapSubject,
    /// What was measured, in bytes; null for what has no size.
    pub measured: Option<u64>,
    /// What it was compared with.
    pub limit: Option<u64>,
    /// The outcome.
    pub verdict: Verdict,
    /// The outcome in words.
    pub sentence: String,
}

/// Checks that the whole file can be read.
pub fn check_file(losses: &Losses) -> HeapCheck {
    let (verdict, sentence) = match losses.is_clean() {
        true => (Verdict::Passed, "the file is complete and consistent".to_owned()),
        false => {
            (Verdict::Failed, format!("the file is damaged: {}", losses.sentences().join("; ")))
        }
    };
    HeapCheck { subject: HeapSubject::File, measured: None, limit: None, verdict, sentence }
}

/// Checks that the snapshot is complete; None if it is. Otherwise more may be alive than it says.
pub fn check_walk(gaps: &[String]) -> Option<HeapCheck> {
    let first = gaps.first()?;
    let more = match gaps.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more (see bactrian info)"),
    };
    let sentence = format!(
        "parts of the heap could not be read when the snapshot was taken: \
        {first}{more}"
    );
    let (subject, verdict) = (HeapSubject::Walk, Verdict::Undecided);
    Some(HeapCheck { subject, measured: None, limit: None, verdict, sentence })
}

/// Checks the live size against a fixed limit.
pub fn against_limit(contents: &Contents, limit: Bytes) -> HeapCheck {
    let what = format!("live size is {}", show_bytes(contents.live_bytes as f64));
    let limit_text = format!("the limit of {}", show_bytes(limit.0 as f64));
    conclude(contents, limit.0, &what, &limit_text)
}

/// Checks the live size against another snapshot and a permitted growth, as a fraction.
pub fn against_baseline(contents: &Contents, baseline: &Contents, growth: f64) -> HeapCheck {
    let (before, after) = (baseline.live_bytes as f64, contents.live_bytes as f64);
    let percent = match before > 0.0 {
        true => format!("{:+.1} %", (after / before - 1.0) * 100.0),
        false => "new".to_owned(),
    };
    let what =
        format!("live size went from {} to {} ({percent})", show_bytes(before), show_bytes(after));
    let limit_text = format!("the allowed growth of {} %", (growth * 1e5).round() / 1e3);
    conclude(contents, (before * (1.0 + growth)) as u64, &what, &limit_text)
}

fn conclude(contents: &Contents, limit: u64, what: &str, limit_text: &str) -> HeapCheck {
    let is_above = contents.live_bytes > limit;
    let (verdict, sentence) = match (is_above, contents.losses.blocks > 0) {
        (true, _) => (Verdict::Failed, format!("{what}: above {limit_text}")),
        (false, false) => (Verdict::Passed, format!("{what}: below {limit_text}")),
        (false, true) => (
            Verdict::Undecided,
            format!(
                "{what}, without the lost part of the file: not above {limit_text} in the \
                rest"
            ),
        ),
    };
    let (measured, limit) = (Some(contents.live_bytes), Some(limit));
    HeapCheck { subject: HeapSubject::Live, measured, limit, verdict, sentence }
}
