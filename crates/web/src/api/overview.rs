//! `overview/..`: what each file is, and what it says first.

use bactrian_analysis::heap::{self, Heap};
use bactrian_analysis::{Filter, info};
use serde_json::json;

use super::heap::asking::Asking;
use super::{Function, Question};
use crate::answer::{Answer, Failure};
use crate::command_line::CommandLine;
use crate::evidence::{Contents, Evidence};
use crate::query::Query;

/// Functions that the page leaves out where it says who holds most, so that those who called them are named.
const LIBRARY: &str = "/^(Stdlib|Caml)|^caml_/";

pub const QUESTIONS: &[(&str, Function)] = &[
    ("overview/info", facts),
    ("overview/contents", all_of_trace),
    ("overview/summary", summary),
    ("overview/suspects", suspects),
];

/// What the file's headers say: at once, however large it is.
fn facts(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let at = query.read_or("file", 0)?;
    let file = evidence.file(at)?;
    let command = CommandLine::new("info").file(&file.path);
    match &file.contents {
        Contents::Trace(trace) => {
            let info = info(trace.trace());
            let notes = info.recorder.as_ref().map(|recorder| recorder.sentences.clone());
            Ok(Answer::new(command, info)?.with_notes(notes.unwrap_or_default()))
        }
        Contents::Snapshot(info, _) => {
            Ok(Answer::new(command, info)?.with_notes(info.gaps.clone()))
        }
        Contents::Live(_) => Err(Failure::Wrong("live numbers have no header".to_owned())),
    }
}

/// What is lost of a snapshot's file, and what nobody holds.
pub fn lost(heap: &Heap) -> Vec<String> {
    let mut notes = heap.losses().sentences();
    if let Some(blocks @ 1..) = heap.unreached_if_known() {
        notes.push(format!(
            "{blocks} blocks cannot be reached from any root that the snapshot has; nobody is said to hold them"
        ));
    }
    notes
}

fn all_of_trace(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let (path, questions) = evidence.questions(query.read_or("file", 0)?)?;
    let contents = questions.contents(&Filter::default());
    let notes = contents.losses.sentences();
    let result = json!({ "contents": contents });
    Ok(Answer::new(CommandLine::new("info").file(path).flag("full", true), result)?
        .with_notes(notes))
}

fn summary(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asking = Asking::new(evidence, query, "summary")?;
    let summary = heap::summary(asking.heap);
    asking.answer(summary)
}

fn suspects(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asking = Asking::new(evidence, query, "suspects")?;
    let suspects = heap::suspects(asking.heap, None);
    // What is lost is said with the summary, beside which this stands.
    let answer = asking.answer(json!({ "suspects": suspects }))?;
    Ok(Answer { notes: Vec::new(), ..answer })
}

pub fn reported(evidence: &Evidence) -> Vec<Question> {
    let mut questions = Vec::new();
    for (at, file) in evidence.files().iter().enumerate() {
        // As the page asks for them: ui/src/overview.
        let asked: &[(&str, &[(&str, &str)])] = match file.contents {
            Contents::Trace(_) => &[
                ("overview/info", &[]),
                ("overview/contents", &[]),
                ("trace/timeline", &[("points", "200")]),
                (
                    "trace/top",
                    &[("by", "function"), ("metric", "live"), ("n", "5"), ("hide", LIBRARY)],
                ),
            ],
            Contents::Snapshot(..) => &[
                ("overview/info", &[]),
                ("overview/summary", &[]),
                ("overview/suspects", &[]),
                ("heap/roots", &[]),
            ],
            Contents::Live(_) => &[],
        };
        questions.extend(asked.iter().map(|&(name, params)| {
            let number = at.to_string();
            let params = params.iter().copied().chain([("file", &*number)]);
            let what = format!("the overview of {}", file.path.display());
            Question { name, query: Query::of(params), what, rank: 0 }
        }));
    }
    questions
}
