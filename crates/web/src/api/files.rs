//! `files`: what is shown, and how far opening it has come.

use std::sync::Arc;

use bactrian_analysis::question::QuestionError;
use serde_json::json;

use super::Function;
use crate::answer::Answer;
use crate::evidence::{Evidence, File, Progress};
use crate::query::Query;

pub const QUESTIONS: &[(&str, Function)] = &[("files", files)];

fn files(evidence: &Evidence, _: &Query) -> Result<Answer, QuestionError> {
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
        })
    };
    let files: Vec<_> = evidence.files().iter().map(file).collect();
    Answer::of_page(json!({ "version": env!("CARGO_PKG_VERSION"), "files": files }))
}
