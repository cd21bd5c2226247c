//! `live/..`: what a program says while it runs, or said when it was recorded. Every answer is of a moment, and a slice.

use std::path::Path;

use bactrian_analysis::live::known::{self, Said};
use bactrian_analysis::live::lines;
use bactrian_analysis::live::measure::full_name;
use bactrian_analysis::question::{CommandLine, FileNumber, QuestionError};
use bactrian_live::Database;
use serde_json::json;

use super::Function;
use crate::answer::Answer;
use crate::evidence::{Evidence, LiveNow, LiveState};
use crate::query::Query;

pub const QUESTIONS: &[(&str, Function)] = &[
    ("live/state", state),
    ("live/observers", observers),
    ("live/chart", chart),
    ("live/log", log),
];

/// So many values has a line, unless another number is asked for, and never more than the second.
const POINTS: (usize, usize) = (300, 2000);
/// The same for lines of the log.
const LINES: (usize, usize) = (200, 2000);
/// So many lines can be drawn at once.
const CHARTED: usize = 40;
/// Of a tree so many nodes are told.
const NODES: usize = 1000;
/// Of a text so many characters.
const LETTERS: usize = 10_000;

/// Looks at what is known now.
fn look(
    evidence: &Evidence,
    query: &Query,
    see: &mut dyn FnMut(&Path, &LiveNow<'_>) -> Result<Answer, QuestionError>,
) -> Result<Answer, QuestionError> {
    let (path, source) = evidence.live(FileNumber(query.read_or("file", 0)?))?;
    let mut answer = None;
    source.look(&mut |now| answer = Some(see(path, now)));
    answer.unwrap_or_else(|| Err(QuestionError::Broken("it is over with watching".to_owned())))
}

/// A moment of the query, in seconds.
fn moment(query: &Query, name: &str) -> Result<Option<u64>, QuestionError> {
    let seconds: Option<f64> = query.read(name)?;
    // What is out of range is at its end.
    Ok(seconds.map(|seconds| (seconds * 1e9) as u64))
}

/// The moment that is looked at: the last one, unless another is asked for.
fn moment_of(query: &Query, database: &Database) -> Result<u64, QuestionError> {
    let at = moment(query, "at")?.unwrap_or(u64::MAX);
    Ok(at.min(database.last()).max(database.first()))
}

/// From when to when: up to the moment that is looked at, so many seconds if `last` says so.
fn range(query: &Query, database: &Database) -> Result<(u64, u64), QuestionError> {
    let to = moment_of(query, database)?;
    let from = match moment(query, "last")? {
        Some(last) => to.saturating_sub(last).max(database.first()),
        None => database.first(),
    };
    Ok((from, to))
}

/// The command that prints the same: there is one for the end of what was recorded.
fn answer(
    path: &Path,
    now: &LiveNow<'_>,
    query: &Query,
    result: impl serde::Serialize,
) -> Result<Answer, QuestionError> {
    match (now.state, query.has("at")) {
        (LiveState::Replay, false) => {
            Answer::new(CommandLine::new("live").file(path).flag("json", true), result)
        }
        _ => Answer::of_page(result),
    }
}

fn state(evidence: &Evidence, query: &Query) -> Result<Answer, QuestionError> {
    look(evidence, query, &mut |path, now| {
        let database = now.database;
        let at = moment_of(query, database)?;
        let (state, reason) = match now.state {
            LiveState::Live => ("live", None),
            LiveState::Lost(reason) => ("lost", Some(reason)),
            LiveState::Replay => ("replay", None),
            LiveState::Over => ("over", None),
        };
        let result = json!({
            "about": known::about(database, at),
            "at": known::seconds(at),
            "state": state,
            "reason": reason,
            "is_over": now.is_over,
            "notices": now.notices,
            "names": drawable(database),
        });
        answer(path, now, query, result)
    })
}

/// Names of observers that can be drawn, in their order, each once.
fn drawable(database: &Database) -> Vec<String> {
    let mut all = Vec::new();
    for series in database.series() {
        let name = full_name(series);
        if !all.contains(&name) && series.values().any(|(_, value)| !value.numbers().is_empty()) {
            all.push(name);
        }
    }
    all
}

fn observers(evidence: &Evidence, query: &Query) -> Result<Answer, QuestionError> {
    look(evidence, query, &mut |path, now| {
        let database = now.database;
        let at = moment_of(query, database)?;
        let (mut left_out, mut texts) = (0_usize, 0_usize);
        let mut all = known::observers(database, at);
        for observer in &mut all {
            match &mut observer.value {
                Said::Tree { nodes } if nodes.len() > NODES => {
                    left_out += nodes.len() - NODES;
                    nodes.truncate(NODES);
                    for node in nodes {
                        node.children.retain(|child| (*child as usize) < NODES);
                    }
                }
                Said::Text(text) => {
                    if let Some((end, _)) = text.char_indices().nth(LETTERS) {
                        text.truncate(end);
                        texts += 1;
                    }
                }
                _ => {}
            }
        }
        let result = json!({ "at": known::seconds(at), "observers": all });
        let cut = (left_out > 0).then(|| format!("{left_out} nodes of trees are not shown"));
        let long = (texts > 0).then(|| {
            format!("of {texts} long texts only the first {LETTERS} characters are shown")
        });
        let mut told = answer(path, now, query, result)?;
        told.notes.extend(cut.into_iter().chain(long));
        Ok(told)
    })
}

fn chart(evidence: &Evidence, query: &Query) -> Result<Answer, QuestionError> {
    let points = query.read_or("points", POINTS.0)?.clamp(2, POINTS.1);
    let wanted: Vec<String> = query
        .iter()
        .filter(|(name, _)| *name == "name")
        .take(CHARTED)
        .map(|(_, value)| value.to_owned())
        .collect();
    look(evidence, query, &mut |_, now| {
        let (from, to) = range(query, now.database)?;
        Answer::of_page(lines::lines(now.database, &wanted, from, to, points))
    })
}

fn log(evidence: &Evidence, query: &Query) -> Result<Answer, QuestionError> {
    let most = query.read_or("n", LINES.0)?.clamp(1, LINES.1);
    let wanted = query.get("filter").unwrap_or_default().to_lowercase();
    look(evidence, query, &mut |path, now| {
        let database = now.database;
        let to = moment_of(query, database)?;
        // Lines may be newer than the last moment.
        let to = if query.has("at") { to } else { u64::MAX };
        let is_wanted =
            |line: &(u64, &str)| wanted.is_empty() || line.1.to_lowercase().contains(&wanted);
        let mut lines: Vec<_> =
            database.log_until(to).rev().filter(is_wanted).take(most).map(known::line).collect();
        lines.reverse();
        let count = database.log_until(to).filter(is_wanted).count();
        answer(path, now, query, json!({ "log": lines, "count": count }))
    })
}
