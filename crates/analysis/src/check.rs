//! Limits for a trace, for continuous integration.
//!
//! A limit fails when the whole 95 % interval lies above it, passes when the whole interval lies below it,
//! and is otherwise undecided: then the sampling rate is too low for certainty, and only the estimate counts.

use bactrian_trace::Losses;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::{Change, diff};
use crate::estimate::Estimate;
use crate::filter::Filter;
use crate::info::{Contents, contents};
use crate::labels::By;
use crate::measure::{Measure, Of};
use crate::top::top;
use crate::trace_file::TraceFile;
use crate::units::{Bytes, show_bytes};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Maximum of live bytes.
    Live,
    /// Total of allocated bytes.
    Allocated,
}

impl Subject {
    /// The measure that is checked.
    pub fn measure(self) -> Measure {
        Measure::bytes(match self {
            Subject::Live => Of::LiveAtPeak,
            Subject::Allocated => Of::Allocated,
        })
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Subject::Live => "peak live size",
            Subject::Allocated => "allocated",
        }
    }
}

/// The outcome of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Below the limit.
    Passed,
    /// Above the limit.
    Failed,
    /// The limit lies within the confidence interval.
    Undecided,
}

/// One check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// What was checked.
    pub subject: Subject,
    /// What was measured.
    pub measured: Estimate,
    /// What it was compared with.
    pub limit: Estimate,
    /// The outcome.
    pub verdict: Verdict,
    /// The outcome in words.
    pub sentence: String,
    /// What grew, if it grew too much over a baseline.
    pub reasons: Vec<Change>,
}

/// The checked measures of a trace.
#[derive(Clone, Debug)]
pub struct Vitals {
    /// The most live bytes at any moment.
    pub live: Estimate,
    /// All bytes allocated.
    pub allocated: Estimate,
    /// What could not be read; it is missing from both.
    pub losses: Losses,
}

impl Vitals {
    /// Measures the objects that `filter` admits.
    pub fn of(trace: &TraceFile, filter: &Filter) -> Vitals {
        let Contents { peak, allocated, losses, .. } = contents(trace, filter);
        Vitals { live: peak, allocated, losses }
    }

    fn get(&self, subject: Subject) -> Estimate {
        match subject {
            Subject::Live => self.live,
            Subject::Allocated => self.allocated,
        }
    }
}

fn show(estimate: &Estimate) -> String {
    match estimate.low == estimate.high {
        true => show_bytes(estimate.value),
        false => format!(
            "{} (95 %: {} to {})",
            show_bytes(estimate.value),
            show_bytes(estimate.low),
            show_bytes(estimate.high)
        ),
    }
}

/// Checks a trace against a fixed limit.
pub fn against_limit(subject: Subject, vitals: &Vitals, limit: Bytes) -> Check {
    let measured = vitals.get(subject);
    let limit = Estimate::exact(limit.0 as f64);
    let over = limit.change_to(&measured);
    let what = format!("{} is {}", subject.title(), show(&measured));
    conclude(
        subject,
        vitals,
        limit,
        over,
        &what,
        &format!("the limit of {}", show_bytes(limit.value)),
    )
}

/// Checks a trace against another one and a permitted growth, as a fraction.
pub fn against_baseline(
    subject: Subject,
    vitals: &Vitals,
    baseline: &Vitals,
    growth: f64,
) -> Check {
    let measured = vitals.get(subject);
    let before = baseline.get(subject);
    let factor = 1.0 + growth;
    let scaled = Estimate {
        value: before.value * factor,
        low: before.low * factor,
        high: before.high * factor,
    };
    let over = scaled.change_to(&measured);
    let percent = match before.value > 0.0 {
        true => format!("{:+.1} %", (measured.value / before.value - 1.0) * 100.0),
        false => "new".to_owned(),
    };
    let what = format!(
        "{} went from {} to {} ({percent})",
        subject.title(),
        show(&before),
        show(&measured)
    );
    let limit = format!("the allowed growth of {} %", (growth * 1e5).round() / 1e3);
    conclude(subject, vitals, scaled, over, &what, &limit)
}

fn conclude(
    subject: Subject,
    vitals: &Vitals,
    limit: Estimate,
    over: Estimate,
    what: &str,
    limit_text: &str,
) -> Check {
    let lost = vitals.losses.allocations > 0 || vitals.losses.bytes_unread > 0;
    let verdict = match over {
        Estimate { low, .. } if low > 0.0 => Verdict::Failed,
        Estimate { high, .. } if high <= 0.0 && !lost => Verdict::Passed,
        _ => Verdict::Undecided,
    };
    let sentence = match verdict {
        Verdict::Passed => format!("{what}: below {limit_text}"),
        Verdict::Failed => format!("{what}: above {limit_text}"),
        Verdict::Undecided if lost => {
            format!(
                "{what}, without the lost part of the trace: not above {limit_text} in the \
                rest"
            )
        }
        Verdict::Undecided => format!(
            "{what}: too few samples to distinguish it from {limit_text}; record with a higher \
             rate to decide"
        ),
    };
    Check { subject, measured: vitals.get(subject), limit, verdict, sentence, reasons: Vec::new() }
}

/// The number of functions given as reasons when a baseline is exceeded.
const MAX_REASONS: usize = 5;

/// The functions in which the checked measure grew most.
pub fn reasons(
    subject: Subject,
    before: &TraceFile,
    after: &TraceFile,
    filter: &Filter,
) -> Vec<Change> {
    let measure = subject.measure();
    let [before, after] = [before, after].map(|trace| top(trace, filter, By::Function, measure));
    let changes = diff(&before, &after).rows.into_iter();
    changes
        .filter(|row| row.own.significant && row.own.change.value > 0.0)
        .take(MAX_REASONS)
        .collect()
}
