//! The command that prints an answer, in a form that can be pasted into a shell.

use std::fmt;
use std::path::Path;

use super::parameters::{self, Parameter, ParameterKind, Role};
use super::{Evidence, FileNumber, Question, QuestionError};

/// A `bactrian` command with its arguments.
#[derive(Clone, Debug)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// The command that asks a question; None if there is none.
    ///
    /// # Errors
    /// If the question names a file that does not exist.
    pub fn of<Q: Question>(
        question: &Q,
        evidence: &dyn Evidence,
    ) -> Result<Option<CommandLine>, QuestionError> {
        Q::COMMAND.map_or(Ok(None), |command| CommandLine::with_verb(question, evidence, command))
    }

    /// The command that asks a question, with another verb than usual.
    ///
    /// # Errors
    /// If the question names a file that does not exist.
    pub fn with_verb<Q: Question>(
        question: &Q,
        evidence: &dyn Evidence,
        command: &str,
    ) -> Result<Option<CommandLine>, QuestionError> {
        let mut line = CommandLine::new(command);
        let files = files(question, evidence)?;
        for &file in &files {
            line = line.file(evidence.path(file)?);
        }
        let options = files.first().map_or(&[][..], |&file| evidence.options(file));
        line = options.iter().fold(line, |line, word| line.word(word));
        line = line.options_of(question);
        let pairs = parameters::pairs(question).into_iter();
        let operands = pairs.filter(|(parameter, _)| parameter.role == Role::Operand);
        Ok(Some(operands.fold(line, |line, (_, value)| line.operand(&value))))
    }

    /// Adds the options of a question that differ from their defaults.
    #[must_use]
    pub fn options_of<Q: Question>(self, question: &Q) -> CommandLine {
        let pairs = parameters::pairs(question).into_iter();
        let options = pairs.filter(|(parameter, _)| parameter.role == Role::Option);
        options.fold(self, |line, (parameter, value)| match parameter.kind == ParameterKind::Flag {
            true => line.flag(&parameter.name, true),
            false => line.option(&parameter.name, &value),
        })
    }

    /// A command with this verb: `top`, `heap roots`.
    pub fn new(command: &str) -> CommandLine {
        CommandLine(command.split(' ').map(str::to_owned).collect())
    }

    /// Adds a file. A name that looks like an option gets the prefix `./`.
    #[must_use]
    pub fn file(self, path: &Path) -> CommandLine {
        let text = path.to_string_lossy();
        let text =
            if text.starts_with('-') && text != "-" { format!("./{text}") } else { text.into() };
        self.word(&text)
    }

    /// Adds any argument.
    #[must_use]
    pub fn word(mut self, word: &str) -> CommandLine {
        self.0.push(word.to_owned());
        self
    }

    /// Adds an operand, after `--` if it looks like an option.
    #[must_use]
    pub fn operand(self, text: &str) -> CommandLine {
        if text.starts_with('-') { self.word("--").word(text) } else { self.word(text) }
    }

    /// Adds an option and its value, joined by `=` if the value looks like an option.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> CommandLine {
        match value.starts_with('-') {
            true => self.word(&format!("--{name}={value}")),
            false => self.word(&format!("--{name}")).word(value),
        }
    }

    /// Adds an option without a value, if it is set.
    #[must_use]
    pub fn flag(self, name: &str, is_wanted: bool) -> CommandLine {
        if is_wanted { self.word(&format!("--{name}")) } else { self }
    }
}

/// The files that a question is about, in the order in which its command takes them. A question about a
/// series that names no files is about all snapshots.
pub(super) fn files<Q: Question>(
    question: &Q,
    evidence: &dyn Evidence,
) -> Result<Vec<FileNumber>, QuestionError> {
    let values = serde_json::to_value(question).unwrap_or_default();
    let mut files = Vec::new();
    let parameters = parameters::parameters::<Q>();
    for Parameter { name, is_repeated, .. } in parameters.iter().filter(|p| p.role == Role::File) {
        let value = values.get(name).cloned().unwrap_or_default();
        let wrong = |error: serde_json::Error| QuestionError::Wrong(format!("{name}: {error}"));
        match is_repeated {
            true => {
                let several: Vec<FileNumber> = serde_json::from_value(value).map_err(wrong)?;
                let all = if several.is_empty() { evidence.snapshots() } else { several };
                files.extend(all);
            }
            false => files.push(serde_json::from_value(value).map_err(wrong)?),
        }
    }
    Ok(files)
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bactrian")?;
        self.0.iter().try_for_each(|word| write!(f, " {}", quoted(word)))
    }
}

/// Quotes a word for a POSIX shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+#".contains(c);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_quoting_preserves_words() {
        let line = CommandLine::new("heap show")
            .file(Path::new("a b.heap"))
            .word("#12")
            .option("in", "it's (fun)")
            .flag("recursion", true)
            .flag("json", false);
        assert_eq!(
            line.to_string(),
            r"bactrian heap show 'a b.heap' '#12' --in 'it'\''s (fun)' --recursion"
        );
    }

    #[test]
    fn values_are_never_taken_for_options() {
        let line = CommandLine::new("top").file(Path::new("--x.ctf")).option("in", "-f");
        assert_eq!(line.to_string(), "bactrian top ./--x.ctf --in=-f");
    }
}
