//! `trace/source`: the lines around a place in the source, if the trace names it and it is there.

use std::path::{Path, PathBuf};

use bactrian_analysis::{By, find_source, info, lines_of};
use serde_json::{Map, json};

use super::Asked;
use crate::answer::{Answer, Failure};
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

/// Lines before and after the one that was asked for.
const AROUND: usize = 20;
/// Longer lines are cut.
const LONGEST_LINE: usize = 500;

pub fn source(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let named = query.need("path")?;
    let line = query.read_or("line", 1usize)?.max(1);
    // Whatever else is on the disk is nobody's business.
    let found = match asked.questions.names_file(named) {
        true => find(&asked, named),
        false => None,
    };
    let Some((path, text)) = found else {
        return Answer::of_page(json!({
            "file": named, "found": false, "first": line, "lines": [], "numbers": {},
        }));
    };
    let first = line.saturating_sub(AROUND).max(1);
    let cut = |line: &str| line.chars().take(LONGEST_LINE).collect::<String>();
    let lines: Vec<_> = text.lines().skip(first - 1).take(line + AROUND + 1 - first).collect();
    let last = first + lines.len();
    let top = asked.questions.top(&asked.filter, By::Line, asked.measure);
    let numbers: Map<_, _> = lines_of(Path::new(named), &top.rows)
        .into_iter()
        .filter(|(number, _)| (first..last).contains(&(*number as usize)))
        .map(|(number, (own, total))| (number.to_string(), json!({ "self": own, "total": total })))
        .collect();
    let result = json!({
        "file": named,
        "found": true,
        "first": first,
        "lines": lines.into_iter().map(cut).collect::<Vec<_>>(),
        "numbers": numbers,
    });
    let command = CommandLine::new("annotate").file(&path);
    let command = command.option("profile", &asked.path.to_string_lossy());
    let command = asked.with_filters(asked.with_metric(command));
    Ok(Answer::new(command, result)?.with_notes(asked.notes(&top.losses, None)))
}

fn find(asked: &Asked<'_>, named: &str) -> Option<(PathBuf, String)> {
    let program = info(asked.questions.trace()).program;
    let path = find_source(named, asked.path, Path::new(&program))?;
    let text = std::fs::read(&path).ok()?;
    Some((path, String::from_utf8_lossy(&text).into_owned()))
}
