//! The prompt: one query after the other, with history and completion of names.

use std::io::Write;
use std::path::PathBuf;

use bactrian::query::Request;
use bactrian::{Console, Failure};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper, Highlighter, Hinter};

use crate::engine::Engine;
use crate::functions;

const WORDS: &[&str] = &[
    "select",
    "distinct",
    "from",
    "where",
    "group by",
    "order by",
    "limit",
    "join",
    "left join",
    "using",
    "having",
    "desc",
    "asc",
    "and",
    "or",
    "not",
    "in",
    "is null",
    "is not null",
    "like",
    "between",
    "case",
    "when",
    "then",
    "else",
    "end",
    "with",
    "as",
    "union all",
    "count(*)",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "describe",
    "show tables",
    "explain",
];

const HELP: &str = "\
A query ends with ; and may have several lines. Tab completes names of tables, columns, types and functions.
  tables         the tables and their columns
  help           this
  quit           or Ctrl-D
docs/tables.md has many queries to begin with.";

/// Completes names, and recognises the end of a query.
#[derive(Helper, Highlighter, Hinter)]
struct Names {
    all: Vec<String>,
}

impl Validator for Names {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let is_over = text.is_empty() || text.ends_with(';') || command(text).is_some();
        Ok(if is_over { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        Ok(complete(&self.all, &line[..position]))
    }
}

/// Where the current word begins, and its completions.
fn complete(names: &[String], written: &str) -> (usize, Vec<Pair>) {
    let is_part = |c: char| c.is_alphanumeric() || "_.'".contains(c);
    let start = written
        .rfind(|c| !is_part(c))
        .map_or(0, |at| at + written[at..].chars().next().map_or(1, char::len_utf8));
    let word = &written[start..];
    // In SQL, types are texts.
    let (quote, begin) = match word.strip_prefix('\'') {
        Some(begin) => ("'", begin),
        None => ("", word),
    };
    let fits = names.iter().filter(|name| !begin.is_empty() && name.starts_with(begin));
    let pair = |name: &String| Pair {
        display: name.clone(),
        replacement: format!("{quote}{name}{quote}"),
    };
    (start, fits.map(pair).collect())
}

enum PromptCommand {
    Tables,
    Help,
    Quit,
}

fn command(text: &str) -> Option<PromptCommand> {
    match text.trim_end_matches(';').trim() {
        "tables" => Some(PromptCommand::Tables),
        "help" => Some(PromptCommand::Help),
        "quit" | "exit" => Some(PromptCommand::Quit),
        _ => None,
    }
}

/// The file of the history.
fn history() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home)?;
    let folder = state.join("bactrian");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("query_history"))
}

/// Reads queries and answers them until the end of input.
pub fn run(engine: &Engine, request: &Request, console: &mut Console) -> Result<(), Failure> {
    let mut editor: Editor<Names, FileHistory> = Editor::new().map_err(unreadable)?;
    editor.set_helper(Some(Names { all: names(engine) }));
    let history = history();
    if let Some(path) = &history {
        // At first there is no history.
        let _ = editor.load_history(path);
    }
    writeln!(console.out(), "{HELP}")?;
    loop {
        console.flush()?;
        let line = match editor.readline("query> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(unreadable(error)),
        };
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        let _ = editor.add_history_entry(text);
        match command(text) {
            Some(PromptCommand::Quit) => break,
            Some(PromptCommand::Help) => writeln!(console.out(), "{HELP}")?,
            Some(PromptCommand::Tables) => tell_tables(engine, console)?,
            None => {
                let told = engine.tell(text.trim_end_matches(';'), request, console);
                if let Err(failure) = told {
                    console.flush()?;
                    console.complain(&failure.to_string());
                }
            }
        }
        if let Some(path) = &history {
            // If it cannot be written, there is no history.
            let _ = editor.save_history(path);
        }
    }
    Ok(())
}

fn unreadable(error: ReadlineError) -> Failure {
    Failure::Input(anyhow::anyhow!("the terminal: {error}"))
}

fn tell_tables(engine: &Engine, console: &mut Console) -> Result<(), Failure> {
    for table in &engine.tables {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        writeln!(console.out(), "{}: {}\n  {}", table.name, table.about, columns.join(", "))?;
    }
    Ok(())
}

fn names(engine: &Engine) -> Vec<String> {
    let of_tables = engine.tables.iter().flat_map(|table| {
        std::iter::once(table.name).chain(table.columns.iter().map(|column| column.name))
    });
    let fixed = of_tables.chain(functions::NAMES).chain(WORDS.iter().copied()).map(str::to_owned);
    let mut all: Vec<String> = fixed.chain(engine.types.iter().cloned()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_word_is_completed() {
        let names: Vec<String> =
            ["blocks", "block_id", "Cache.entry", "select"].map(str::to_owned).into();
        let replacements = |written: &str| {
            let (start, found) = complete(&names, written);
            (start, found.into_iter().map(|it| it.replacement).collect::<Vec<_>>())
        };
        assert_eq!(
            replacements("select * from bl"),
            (14, vec!["blocks".to_owned(), "block_id".to_owned()])
        );
        assert_eq!(replacements("where type = 'Cache.e"), (13, vec!["'Cache.entry'".to_owned()]));
        assert_eq!(replacements("select "), (7, Vec::new()));
        assert_eq!(replacements("é bl").1.len(), 2);
    }

    #[test]
    fn commands_of_the_prompt_are_no_queries() {
        assert!(matches!(command("tables;"), Some(PromptCommand::Tables)));
        assert!(command("select 1").is_none());
    }
}
