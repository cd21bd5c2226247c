//! SQL queries, if the server has an engine for them.

use std::path::Path;
use std::sync::Arc;

use bactrian_analysis::question::{CommandLine, QuestionError};
use serde_json::Value;

use crate::answer::Answer;
use crate::evidence::{Evidence, File};
use crate::query::Query;

/// The name of the question.
pub const QUERY: &str = "query";

/// Runs a query with options on files. Returns the rows, each an object, or an error message.
pub type QueryEngine =
    Box<dyn Fn(&[String], &[String], &str) -> Result<Value, String> + Send + Sync>;

/// Runs a query on all shown files.
///
/// # Errors
/// If there is no engine, or the query is invalid.
pub fn answer(
    engine: Option<&QueryEngine>,
    evidence: &Evidence,
    query: &Query,
) -> Result<Answer, QuestionError> {
    let engine =
        engine.ok_or_else(|| QuestionError::Unknown("there is no SQL engine here".to_owned()))?;
    let sql = query.pairs().iter().find(|(name, _)| name == "sql").map(|(_, sql)| sql.as_str());
    let sql = sql.ok_or_else(|| {
        QuestionError::Wrong("the parameter sql, the query, is missing".to_owned())
    })?;
    // The shown files that the engine can read.
    let is_file = |file: &&Arc<File>| {
        file.path != Path::new("-") && file.path.is_file() && file.as_gc().is_err()
    };
    let files: Vec<&Arc<File>> = evidence.files().iter().filter(is_file).collect();
    // A command has one set of options for all its files: use those of the first file that has any.
    let options = files.iter().map(|file| &file.options).find(|options| !options.is_empty());
    let options = options.cloned().unwrap_or_default();
    let paths: Vec<String> =
        files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    let rows = engine(&options, &paths, sql).map_err(QuestionError::Wrong)?;
    let command = CommandLine::new("query");
    let command = options.iter().fold(command, |command, word| command.word(word));
    let command = files.iter().fold(command, |command, file| command.file(&file.path));
    Ok(Answer { command: Some(command.operand(sql).to_string()), ..Answer::of_page(rows)? })
}
