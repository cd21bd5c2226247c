//! What a report has of traces: each part of the view for each metric, as `ui/src/trace/questions.ts` asks for it.

use bactrian_analysis::{By, Measure};

use super::ALLOCATED;
use crate::api::Question;
use crate::evidence::{Contents, Evidence};
use crate::query::Query;

/// Places whose source a report has.
const SOURCES: usize = 30;

/// A part of the view that depends on the metric.
struct Part {
    name: &'static str,
    by: Option<&'static str>,
    what: &'static str,
    rank: u8,
}

const fn part(name: &'static str, by: Option<&'static str>, what: &'static str, rank: u8) -> Part {
    Part { name, by, what, rank }
}

const PARTS: &[Part] = &[
    part("trace/flame", None, "the flame graph", 1),
    part("trace/top", None, "the table of functions", 1),
    part("trace/top", Some("site"), "the table of sites", 1),
    part("trace/paths", None, "hot paths", 2),
    part("trace/top", Some("module"), "the table of modules", 2),
    part("trace/top", Some("file"), "the table of files", 2),
    part("trace/flame", Some("site"), "the flame graph by sites", 3),
    part("trace/flame", Some("module"), "the flame graph by modules", 3),
];

pub fn reported(evidence: &Evidence) -> Vec<Question> {
    let mut questions = Vec::new();
    let traces: Vec<_> = evidence
        .files()
        .iter()
        .enumerate()
        .filter(|(_, file)| matches!(file.contents, Contents::Trace(_)))
        .map(|(at, file)| (at, file.path.display().to_string()))
        .collect();
    for (at, path) in &traces {
        let mut ask = |name: &'static str, more: &[(&str, &str)], what: &str, rank: u8| {
            let file = [("file".to_owned(), at.to_string())];
            let more = more.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
            let query = Query::of(file.into_iter().chain(more));
            questions.push(Question { name, query, what: format!("{what} of {path}"), rank });
        };
        ask("trace/timeline", &[], "the timeline", 1);
        ask("trace/lifetimes", &[], "lifetimes", 2);
        for (metric, measure) in Measure::METRICS {
            let is_default = *measure == ALLOCATED;
            for Part { name, by, what, rank } in PARTS {
                let mut more: Vec<_> = by.map(|by| ("by", by)).into_iter().collect();
                more.extend((!is_default).then_some(("metric", *metric)));
                ask(name, &more, &format!("{what} ({metric})"), rank + u8::from(!is_default));
            }
        }
        for (other, other_path) in traces.iter().filter(|(other, _)| other != at) {
            let with = [("with", &*other.to_string())];
            ask("trace/diff", &with, &format!("the comparison with {other_path}"), 2);
            ask(
                "trace/diff-flame",
                &with,
                &format!("the compared flame graph with {other_path}"),
                3,
            );
        }
        if let Ok((_, trace)) = evidence.questions(*at) {
            let sites = trace.top(&Default::default(), By::Site, ALLOCATED).rows;
            let places = sites.iter().filter_map(|row| row.label.file.as_ref().zip(row.label.line));
            for (file, line) in places.take(SOURCES) {
                let place = [("path", &**file), ("line", &*line.to_string())];
                ask("trace/source", &place, &format!("the source of {file}:{line}"), 3);
            }
        }
    }
    questions
}
