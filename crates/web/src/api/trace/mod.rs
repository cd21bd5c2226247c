//! `trace/..`: questions to traces. Parameters are named and written as options of the command line.

mod flame;
mod names;
mod reported;
mod source;
mod tables;
mod timeline;

use std::path::Path;

use bactrian_analysis::{By, Estimate, Filter, Measure, Of, Recursion, TraceQuestions};
use bactrian_trace::Losses;

use super::Function;
use crate::answer::Failure;
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

pub use reported::reported;

pub const QUESTIONS: &[(&str, Function)] = &[
    ("trace/timeline", timeline::timeline),
    ("trace/flame", flame::flame),
    ("trace/around", flame::around),
    ("trace/diff-flame", flame::diff_flame),
    ("trace/top", tables::top),
    ("trace/paths", tables::paths),
    ("trace/lifetimes", tables::lifetimes),
    ("trace/diff", tables::diff),
    ("trace/source", source::source),
    ("trace/names", names::names),
];

/// What all questions say: which trace, which objects, and what of them.
struct Asked<'e> {
    path: &'e Path,
    questions: &'e TraceQuestions,
    filter: Filter,
    metric: &'static str,
    measure: Measure,
}

const ALLOCATED: Measure = Measure { unit: bactrian_analysis::Unit::Bytes, of: Of::Allocated };

impl<'e> Asked<'e> {
    fn read(evidence: &'e Evidence, query: &Query) -> Result<Asked<'e>, Failure> {
        let (path, questions) = evidence.questions(query.read_or("file", 0)?)?;
        let mut filter = Filter::default();
        for (name, value) in query.iter().filter(|(name, _)| Filter::OPTIONS.contains(name)) {
            filter.set(name, value).map_err(Failure::Wrong)?;
        }
        let (metric, measure) = match query.get("metric") {
            None => ("allocated", ALLOCATED),
            Some(metric) => named(Measure::METRICS, "metric", metric)?,
        };
        Ok(Asked { path, questions, filter, metric, measure })
    }

    /// A command about this trace.
    fn command(&self, command: &str) -> CommandLine {
        CommandLine::new(command).file(self.path)
    }

    /// The command with what is measured.
    fn with_metric(&self, command: CommandLine) -> CommandLine {
        option_unless(command, "metric", self.metric, "allocated")
    }

    /// The command with all filters.
    fn with_filters(&self, command: CommandLine) -> CommandLine {
        self.filter.options().iter().fold(command, |command, (name, value)| match &**value {
            "" => command.flag(name, true),
            value => command.option(name, value),
        })
    }

    /// What has to be said with an answer.
    fn notes(&self, losses: &Losses, found: Option<&Estimate>) -> Vec<String> {
        let mut notes = losses.sentences();
        notes.extend(self.questions.why_slow());
        if found.is_some_and(|found| found.value <= 0.0) && !self.filter.admits_all() {
            notes.push("no sampled object is what the filters ask for".to_owned());
        }
        notes
    }
}

/// The command with an option that is not what it is anyway.
fn option_unless(command: CommandLine, name: &str, value: &str, default: &str) -> CommandLine {
    if value == default { command } else { command.option(name, value) }
}

/// What a name stands for.
fn named<T: Copy>(
    all: &'static [(&'static str, T)],
    what: &str,
    name: &str,
) -> Result<(&'static str, T), Failure> {
    let known = || all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = all.iter().find(|(known, _)| *known == name).copied();
    found.ok_or_else(|| Failure::Wrong(format!("{what}={name} is none of {}", known())))
}

/// What is told apart.
fn by_of(query: &Query, default: (&'static str, By)) -> Result<(&'static str, By), Failure> {
    query.get("by").map_or(Ok(default), |name| named(By::NAMES, "by", name))
}

/// What is done with recursion.
fn recursion_of(query: &Query) -> Recursion {
    if query.has("recursion") { Recursion::Keep } else { Recursion::Fold }
}

/// How many rows; more than anybody reads are not given.
fn rows_of(query: &Query, default: usize) -> Result<usize, Failure> {
    const MOST: usize = 5_000;
    match query.read_or("n", default)? {
        0 => Ok(MOST),
        n => Ok(n.min(MOST)),
    }
}
