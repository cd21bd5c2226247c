//! Answers to questions.

use bactrian_analysis::question::{PlainAnswer, QuestionError};
use serde::Serialize;
use serde_json::Value;

/// An answer with its notes and the command that prints it.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The command that prints the same.
    pub command: Option<String>,
    /// What was lost, estimated or left out, in sentences.
    pub notes: Vec<String>,
    /// The `result` of that command's `--json`.
    pub result: Value,
}

impl Answer {
    /// An answer to a question that only the page asks.
    ///
    /// # Errors
    /// If the result cannot be represented in JSON, because of a number such as NaN.
    pub fn of_page(result: impl Serialize) -> Result<Answer, QuestionError> {
        let result = serde_json::to_value(result).map_err(|error| {
            QuestionError::Broken(format!("the answer cannot be written as JSON: {error}"))
        })?;
        Ok(Answer { command: None, notes: Vec::new(), result })
    }
}

impl From<PlainAnswer> for Answer {
    fn from(plain: PlainAnswer) -> Answer {
        let mut notes: Vec<String> =
            plain.losses.iter().flat_map(|losses| losses.sentences()).collect();
        notes.dedup();
        notes.extend(plain.notes);
        Answer { command: plain.command, notes, result: plain.result }
    }
}
