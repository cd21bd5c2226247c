//! What a question is answered with.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::command_line::CommandLine;

/// An answer, and all that has to be said with it.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The command that prints the same.
    pub command: Option<String>,
    /// What was lost, estimated or left out, in sentences.
    pub notes: Vec<String>,
    /// What that command's `--json` has as `result`.
    pub result: Value,
}

impl Answer {
    /// The answer that this command prints.
    ///
    /// # Errors
    /// If the result is not JSON: a number that is none.
    pub fn new(command: CommandLine, result: impl Serialize) -> Result<Answer, Failure> {
        Ok(Answer { command: Some(command.to_string()), ..Answer::of_page(result)? })
    }

    /// An answer that only the page wants.
    ///
    /// # Errors
    /// If the result is not JSON: a number that is none.
    pub fn of_page(result: impl Serialize) -> Result<Answer, Failure> {
        let result = serde_json::to_value(result)
            .map_err(|error| Failure::Broken(format!("the answer cannot be written: {error}")))?;
        Ok(Answer { command: None, notes: Vec::new(), result })
    }

    /// With sentences on it.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Answer {
        self.notes.extend(notes);
        self
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// There is no such question.
    Unknown(String),
    /// The question is wrong.
    Wrong(String),
    /// The question is right, but it cannot be answered of this file.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Unknown(why) | Failure::Wrong(why) | Failure::Broken(why)) = self;
        f.write_str(why)
    }
}
