//! What can be asked of evidence: each question is one struct of parameters and one of its answer.
//!
//! Everything that a view needs of a question is derived from these two: arguments of the command line, names in URLs, tools
//! of an assistant, JSON, types of the page, reference ([`parameters`], [`registry`]). Defaults and explanations are written
//! once, where the parameter is defined. A question finds its evidence through [`Evidence`], whoever has opened it.

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
pub use registry::{PlainAnswer, QUESTIONS, QuestionEntry, RawParameters, find};
pub use rows::{Limit, Rows, Search};
pub use text::{Text, Written};

/// A question, as its parameters.
pub trait Question: Parameters {
    /// Its name in URLs and among the tools of an assistant: `trace/top`.
    const NAME: &'static str;
    /// The command that prints the same: `heap roots`; none if only the page asks it.
    const COMMAND: Option<&'static str>;
    /// What it is answered with.
    type Answer: Serialize + JsonSchema;

    /// Answers it.
    ///
    /// # Errors
    /// The parameters do not fit the evidence, or the evidence cannot be read.
    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Self::Answer>, QuestionError>;

    /// The command that prints the same, with all its words.
    ///
    /// # Errors
    /// The question names a file that there is not.
    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        CommandLine::of(self, evidence)
    }
}

/// What a question is answered with.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// What `--json` prints as `result`.
    pub result: T,
    /// What one should know of it, in sentences.
    pub notes: Vec<String>,
    /// What could not be read, for each file that was looked at.
    pub losses: Vec<EvidenceLosses>,
}

impl<T> Answer<T> {
    /// An answer from files that lost this.
    pub fn new(result: T, losses: impl IntoIterator<Item = EvidenceLosses>) -> Answer<T> {
        Answer { result, notes: Vec::new(), losses: losses.into_iter().collect() }
    }

    /// With sentences on it.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Answer<T> {
        self.notes.extend(notes);
        self
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// There is no such question.
    Unknown(String),
    /// A parameter has a wrong value.
    Parameter {
        /// Its name.
        name: String,
        /// What it was given.
        value: String,
        /// What is wrong with that.
        why: String,
    },
    /// The question does not fit the evidence.
    Wrong(String),
    /// There is no such block, type or row in the evidence.
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
