//! Questions about evidence. Each question is a struct of parameters and a struct for its answer.
//!
//! Everything that a view needs is derived from these two: command line arguments, URL parameters, tools of
//! assistants, JSON, the page's types, the reference ([`parameters`], [`registry`]). Defaults and
//! explanations are written once, at the definition of the parameter. A question accesses its evidence
//! through [`Evidence`], which whoever has opened the files implements.

mod command_line;
mod evidence;
pub mod parameters;
mod registry;
mod rows;
mod text;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

pub use command_line::CommandLine;
pub use evidence::{Evidence, EvidenceLosses, FileInfo, FileNumber};
pub use parameters::Parameters;
pub use registry::{PlainAnswer, QUESTIONS, QuestionEntry, RawParameters, find, schemas};
pub use rows::{Limit, Rows, Search};
pub use text::{Text, Written};

/// A question, as its parameters.
pub trait Question: Parameters {
    /// Its name in URLs and among the tools of assistants: `trace/top`.
    const NAME: &'static str;
    /// The command that prints the same: `heap roots`; None if only the page asks this question.
    const COMMAND: Option<&'static str>;
    /// The type of the answer.
    type Answer: Serialize + JsonSchema;

    /// Answers the question.
    ///
    /// # Errors
    /// If the parameters do not fit the evidence, or the evidence cannot be read.
    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Self::Answer>, QuestionError>;

    /// The command that prints the same, with all its arguments.
    ///
    /// # Errors
    /// If the question names a file that does not exist.
    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        CommandLine::of(self, evidence)
    }
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// What `--json` prints as `result`.
    pub result: T,
    /// Notes on the answer, in sentences.
    pub notes: Vec<String>,
    /// What could not be read, for each file that was used.
    pub losses: Vec<EvidenceLosses>,
}

impl<T> Answer<T> {
    /// An answer from files with these losses.
    pub fn new(result: T, losses: impl IntoIterator<Item = EvidenceLosses>) -> Answer<T> {
        Answer { result, notes: Vec::new(), losses: losses.into_iter().collect() }
    }

    /// Adds notes.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Answer<T> {
        self.notes.extend(notes);
        self
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// There is no question with this name.
    Unknown(String),
    /// A parameter has an invalid value.
    Parameter {
        /// The parameter's name.
        name: String,
        /// The given value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// The question does not fit the evidence.
    Wrong(String),
    /// The evidence has no such block, type or row.
    NotFound(String),
    /// The evidence cannot be read.
    Broken(String),
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Parameter { name, value, why } => write!(f, "{name}={value}: {why}"),
            QuestionError::Unknown(why)
            | QuestionError::Wrong(why)
            | QuestionError::NotFound(why)
            | QuestionError::Broken(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for QuestionError {}
