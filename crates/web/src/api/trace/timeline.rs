//! `trace/timeline`: live bytes over time.

use bactrian_analysis::Filter;
use bactrian_analysis::units::{Between, Time};
use serde_json::json;

use super::Asked;
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

const DEFAULT_POINTS: usize = 600;
const MOST_POINTS: usize = 10_000;

pub fn timeline(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let points = query.read_or("points", DEFAULT_POINTS)?.clamp(1, MOST_POINTS);
    let window: Between<Time> = Between { from: query.read("from")?, to: query.read("to")? };
    if window.to.is_some_and(|to| to < window.from.unwrap_or_default()) {
        return Err(Failure::Wrong("to is before from".to_owned()));
    }
    let all = asked.questions.timeline(&Filter::default(), points, window);
    let is_filtered = !asked.filter.admits_all();
    let filtered = is_filtered.then(|| asked.questions.timeline(&asked.filter, points, window));
    let mut command = asked.command("timeline").option("points", &points.to_string());
    if window != Between::default() {
        let end = |name| query.get(name).unwrap_or_default();
        command = command.option("window", &format!("{}..{}", end("from"), end("to")));
    }
    let notes = asked.notes(&all.losses, filtered.as_ref().map(|filtered| &filtered.peak));
    let result = json!({ "all": all, "filter": asked.filter, "filtered": filtered });
    Ok(Answer::new(asked.with_filters(command), result)?.with_notes(notes))
}
