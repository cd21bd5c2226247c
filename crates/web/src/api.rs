//! The questions of the page, by name: those of `analysis`, and those that only the page asks.

use std::sync::Arc;

use bactrian_analysis::question::{FileNumber, QuestionError, RawParameters, find};
use serde_json::json;

use crate::answer::Answer;
use crate::evidence::{Evidence, File, Progress};
use crate::fleet;
use crate::gc;
use crate::growing::Taking;
use crate::query::Query;

/// The question for the list of files. It is about what the page shows, not about evidence.
pub const FILES: &str = "files";

/// Answers a question.
///
/// # Errors
/// If the question does not exist, is invalid, or cannot be answered.
pub fn answer(evidence: &Evidence, name: &str, query: &Query) -> Result<Answer, QuestionError> {
    match name {
        FILES => files(evidence, None, false),
        fleet::FLEET => {
            let file = file_of(evidence, query)?;
            fleet::answer(file, file.as_fleet()?, query)
        }
        gc::GC => {
            let file = file_of(evidence, query)?;
            gc::answer(file, file.as_gc()?, query)
        }
        name => Ok(find(name)?.ask(evidence, RawParameters::Pairs(query.pairs()))?.into()),
    }
}

/// The file that a question of the page is about.
fn file_of<'e>(evidence: &'e Evidence, query: &Query) -> Result<&'e File, QuestionError> {
    let number = query.pairs().iter().find(|(name, _)| name == "file");
    let number = number.and_then(|(_, number)| number.parse().ok());
    let missing = || QuestionError::Wrong("file: the number of a file".to_owned());
    evidence.file(FileNumber(number.ok_or_else(missing)?))
}

/// The shown files with the progress of opening them, the snapshot that is being taken or was taken last, and whether there is an
/// SQL engine.
pub fn files(
    evidence: &Evidence,
    taking: Option<&Taking>,
    knows_sql: bool,
) -> Result<Answer, QuestionError> {
    let file = |file: &Arc<File>| {
        let name = file.path.file_name().unwrap_or(file.path.as_os_str());
        let (state, done) = match file.progress() {
            Progress::Opening(share) => ("opening", share),
            Progress::Open => ("open", 1.0),
            Progress::Failed => ("failed", 1.0),
        };
        json!({
            "path": file.path.to_string_lossy(),
            "name": name.to_string_lossy(),
            "kind": file.kind(),
            "state": state,
            "done": done,
            "takes_snapshots": file.taker.is_some(),
        })
    };
    let files: Vec<_> = evidence.files().iter().map(file).collect();
    Answer::of_page(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "files": files,
        "taking": taking,
        "knows_sql": knows_sql,
    }))
}
