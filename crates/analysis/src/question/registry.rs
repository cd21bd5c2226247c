//! The registry of all questions, one line each: the source of servers, assistants' tools, documents and the
//! page's types.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::parameters::{self, Parameter};
use super::{Evidence, EvidenceLosses, Question, QuestionError};
use crate::heap;
use crate::live::questions as live;

/// A question, type-erased.
pub struct QuestionEntry {
    /// Its name: `trace/top`.
    pub name: &'static str,
    /// The command that prints the same; None if only the page asks it.
    pub command: Option<&'static str>,
    about: fn() -> String,
    parameters: fn() -> Vec<Parameter>,
    input_schema: fn() -> Schema,
    ask: fn(&dyn Evidence, RawParameters<'_>) -> Result<PlainAnswer, QuestionError>,
}

/// Parameters as a URL or an assistant provides them.
pub enum RawParameters<'a> {
    /// Names and values.
    Pairs(&'a [(String, String)]),
    /// JSON.
    Json(Map<String, Value>),
}

/// An answer, type-erased.
#[derive(Debug)]
pub struct PlainAnswer {
    /// What `--json` prints as `result`.
    pub result: Value,
    /// Notes on the answer, in sentences.
    pub notes: Vec<String>,
    /// What could not be read, for each file that was used.
    pub losses: Vec<EvidenceLosses>,
    /// The command that prints the same.
    pub command: Option<String>,
}

impl QuestionEntry {
    /// The entry of a question.
    pub const fn of<Q: Question>() -> QuestionEntry {
        QuestionEntry {
            name: Q::NAME,
            command: Q::COMMAND,
            about: parameters::about::<Q>,
            parameters: parameters::parameters::<Q>,
            input_schema: || Schema::clone(&parameters::schema::<Q>()),
            ask: ask::<Q>,
        }
    }

    /// Its description.
    pub fn about(&self) -> String {
        (self.about)()
    }

    /// Its parameters.
    pub fn parameters(&self) -> Vec<Parameter> {
        (self.parameters)()
    }

    /// The schema of its parameters, with all subschemas inlined.
    pub fn input_schema(&self) -> Value {
        (self.input_schema)().to_value()
    }

    /// Asks the question.
    ///
    /// # Errors
    /// If the parameters are wrong, or the question cannot be answered.
    pub fn ask(
        &self,
        evidence: &dyn Evidence,
        asked: RawParameters<'_>,
    ) -> Result<PlainAnswer, QuestionError> {
        (self.ask)(evidence, asked)
    }
}

/// The question with this name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static QuestionEntry, QuestionError> {
    let unknown = || QuestionError::Unknown(format!("{name}: there is no such question"));
    QUESTIONS.iter().find(|entry| entry.name == name).ok_or_else(unknown)
}

fn ask<Q: Question>(
    evidence: &dyn Evidence,
    asked: RawParameters<'_>,
) -> Result<PlainAnswer, QuestionError> {
    let question: Q = match asked {
        RawParameters::Pairs(pairs) => {
            parameters::read(pairs.iter().map(|(name, value)| (&**name, &**value)))?
        }
        RawParameters::Json(values) => parameters::from_json(values)?,
    };
    let answer = question.ask(evidence)?;
    let result = serde_json::to_value(answer.result)
        .map_err(|error| QuestionError::Broken(format!("the answer cannot be written: {error}")))?;
    let command = question.command(evidence)?;
    Ok(PlainAnswer {
        result,
        notes: answer.notes,
        losses: answer.losses,
        command: command.map(|command| command.to_string()),
    })
}

/// Makes a table of the questions, and apart from it what only the page's types and tests need: the schemas of answers, which
/// are a twentieth of the program's code if they are in the table.
macro_rules! questions {
    ($($question:ty),* $(,)?) => {
        /// All questions.
        pub static QUESTIONS: &[QuestionEntry] = &[$(QuestionEntry::of::<$question>()),*];

        /// The schemas of parameters and answer of each question, in the same order.
        pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(Schema, Schema)> {
            vec![$((
                generator.subschema_for::<$question>(),
                generator.subschema_for::<<$question as Question>::Answer>(),
            )),*]
        }
    };
}

questions![
    crate::InfoQuestion,
    crate::ContentsQuestion,
    crate::TimelineQuestion,
    crate::TopQuestion,
    crate::TreeQuestion,
    crate::FlameQuestion,
    crate::FlamesAroundQuestion,
    crate::HotPathsQuestion,
    crate::LifetimesQuestion,
    crate::DiffQuestion,
    crate::DiffFlameQuestion,
    crate::SourceQuestion,
    crate::NamesQuestion,
    heap::SummaryQuestion,
    heap::SuspectsQuestion,
    heap::RootsQuestion,
    heap::FirstRootsQuestion,
    heap::ClassesQuestion,
    heap::FieldsQuestion,
    heap::DominatorsQuestion,
    heap::PathsQuestion,
    heap::FinalisersQuestion,
    heap::DuplicatesQuestion,
    heap::CollectionsQuestion,
    heap::GraphQuestion,
    heap::ShowQuestion,
    heap::FindQuestion,
    heap::HeapDiffQuestion,
    heap::HeapDiffFlameQuestion,
    heap::LeaksQuestion,
    heap::WhatIfQuestion,
    heap::BlocksQuestion,
    heap::EvolutionQuestion,
    heap::EvolutionNamesQuestion,
    live::LiveStateQuestion,
    live::ObserversQuestion,
    live::ChartQuestion,
    live::LogQuestion,
];
