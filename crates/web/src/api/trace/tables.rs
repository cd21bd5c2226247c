//! Tables: `trace/top`, `trace/paths`, `trace/lifetimes` and `trace/diff`.

use bactrian_analysis::{self as analysis, By, LIFETIME_CLASSES, Recursion, SIZE_CLASSES};
use bactrian_trace::Micros;
use serde_json::json;

use super::{Asked, by_of, named, option_unless, rows_of};
use crate::answer::{Answer, Failure};
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

/// Rows of a table that says nothing else.
const ROWS: usize = 100;
const HOT_PATHS: usize = 100;

pub fn top(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (by_name, by) = by_of(query, ("function", By::Function))?;
    if by == By::Instruction {
        let why = "by=instruction: instructions are for `bactrian top` and `bactrian disasm`";
        return Err(Failure::Wrong(why.to_owned()));
    }
    let rows = rows_of(query, ROWS)?;
    let orders = &[("self", false), ("total", true)];
    let (sort, by_total) = named(orders, "sort", query.get("sort").unwrap_or("self"))?;
    let mut answer = asked.questions.top(&asked.filter, by, asked.measure);
    if by_total {
        answer.rows.sort_by(|a, b| b.total.value.total_cmp(&a.total.value));
    }
    let row_count = answer.rows.len();
    answer.rows.truncate(rows);
    let result = json!({
        "by": answer.by,
        "measure": answer.measure,
        "filter": asked.filter,
        "all": answer.all,
        "peak_time": answer.peak.map(|peak| peak.time.seconds()),
        "row_count": row_count,
        "rows": answer.rows,
    });
    let command = option_unless(asked.command("top"), "by", by_name, "function");
    let command = option_unless(asked.with_metric(command), "sort", sort, "self");
    let command = asked.with_filters(command.option("number", &rows.to_string()));
    let notes = asked.notes(&answer.losses, Some(&answer.all));
    Ok(Answer::new(command, result)?.with_notes(notes))
}

pub fn paths(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let rows = rows_of(query, HOT_PATHS)?;
    let profile =
        asked.questions.profile(&asked.filter, By::Site, Recursion::Fold, &[asked.measure]);
    let paths = analysis::hot_paths(&profile, rows);
    let notes = asked.notes(&profile.losses, Some(&paths.all));
    Ok(Answer::of_page(paths)?.with_notes(notes))
}

pub fn lifetimes(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (by_name, by) = by_of(query, ("site", By::Site))?;
    let rows = rows_of(query, ROWS)?;
    let mut answer = asked.questions.lifetimes(&asked.filter, by);
    let row_count = answer.rows.len();
    answer.rows.truncate(rows);
    let result = json!({
        "by": by,
        "filter": asked.filter,
        "lifetime_classes": LIFETIME_CLASSES.map(|end| Micros(end).seconds()),
        "size_classes": SIZE_CLASSES,
        "all": answer.all,
        "row_count": row_count,
        "rows": answer.rows,
    });
    let command = option_unless(asked.command("lifetimes"), "by", by_name, "site");
    let command = asked.with_filters(command.option("number", &rows.to_string()));
    let notes = asked.notes(&answer.losses, Some(&answer.all.allocated));
    Ok(Answer::new(command, result)?.with_notes(notes))
}

/// From the trace `with` to the trace `file`.
pub fn diff(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (before_path, before) = evidence.questions(with(query)?)?;
    let (by_name, by) = by_of(query, ("function", By::Function))?;
    let rows = rows_of(query, ROWS)?;
    let [before, after] =
        [before, asked.questions].map(|questions| questions.top(&asked.filter, by, asked.measure));
    let mut answer = analysis::diff(&before, &after);
    let significant = answer.significant().count();
    let row_count = answer.rows.len();
    answer.rows.truncate(rows);
    let result = json!({
        "by": by,
        "measure": asked.measure,
        "filter": asked.filter,
        "all": answer.all,
        "row_count": row_count,
        "significant": significant,
        "rows": answer.rows,
    });
    let command = CommandLine::new("diff").file(before_path).file(asked.path);
    let command = asked.with_metric(option_unless(command, "by", by_name, "function"));
    let command = asked.with_filters(command.option("number", &rows.to_string()));
    let mut notes = before.losses.sentences();
    notes.extend(asked.notes(&after.losses, Some(&after.all)));
    Ok(Answer::new(command, result)?.with_notes(notes))
}

/// The trace that another is compared with.
pub fn with(query: &Query) -> Result<usize, Failure> {
    query.need("with")?;
    query.read_or("with", 0)
}
