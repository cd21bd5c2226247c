//! A command, as it can be typed into a shell.

use std::fmt;
use std::path::Path;

/// A command of `bactrian` with its arguments.
#[derive(Clone, Debug)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// This command: `top`, `heap roots`.
    pub fn new(command: &str) -> CommandLine {
        CommandLine(command.split(' ').map(str::to_owned).collect())
    }

    /// With a file. One that could be taken for an option is said to be in this folder.
    #[must_use]
    pub fn file(self, path: &Path) -> CommandLine {
        let text = path.to_string_lossy();
        let text =
            if text.starts_with('-') && text != "-" { format!("./{text}") } else { text.into() };
        self.word(&text)
    }

    /// With any argument.
    #[must_use]
    pub fn word(mut self, word: &str) -> CommandLine {
        self.0.push(word.to_owned());
        self
    }

    /// With an option and its value. Values that look like options are tied to theirs.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> CommandLine {
        match value.starts_with('-') {
            true => self.word(&format!("--{name}={value}")),
            false => self.word(&format!("--{name}")).word(value),
        }
    }

    /// With an option that has no value, if it is wanted.
    #[must_use]
    pub fn flag(self, name: &str, is_wanted: bool) -> CommandLine {
        if is_wanted { self.word(&format!("--{name}")) } else { self }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bactrian")?;
        self.0.iter().try_for_each(|word| write!(f, " {}", quoted(word)))
    }
}

/// So that a POSIX shell takes it as one word and as it is.
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
    fn shells_take_words_as_they_are() {
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
    fn nothing_is_taken_for_an_option() {
        let line = CommandLine::new("top").file(Path::new("--x.ctf")).option("in", "-f");
        assert_eq!(line.to_string(), "bactrian top ./--x.ctf --in=-f");
    }
}
