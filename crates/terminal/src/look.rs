//! Colours and signs: few, each with a meaning, and none that the terminal does not have.
//!
//! Colours are the sixteen that every terminal has, so that they follow its own scheme. Without colours, or without
//! UTF-8, everything is still told apart: by weight, and by signs of ASCII.

use std::env;

use ratatui::style::{Color, Modifier, Style};

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether there are colours.
    pub has_colours: bool,
    /// Whether there is more than ASCII.
    pub is_unicode: bool,
}

impl Look {
    /// As the environment wishes; `colours` is what the command line said, if it said anything.
    pub fn of_environment(colours: Option<bool>) -> Look {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_colours = colours.unwrap_or_else(|| !is_set("NO_COLOR"));
        Look { has_colours, is_unicode: is_utf8(|name| env::var(name).ok()) }
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Titles and names of columns.
    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What matters less, or is not alive any more.
    pub fn faint(self) -> Style {
        // Not a grey: in some schemes that is the colour of the paper.
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What one should know.
    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// What went wrong.
    pub fn bad(self) -> Style {
        self.coloured(Color::Red)
    }

    /// That numbers are coming.
    pub fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    /// What is chosen.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The line of a chart, by its number.
    pub fn line(self, number: usize) -> Style {
        const COLOURS: [Color; 6] =
            [Color::Cyan, Color::Green, Color::Magenta, Color::Yellow, Color::Blue, Color::Red];
        self.coloured(COLOURS[number % COLOURS.len()])
    }

    /// One sign or its replacement.
    pub fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.is_unicode { unicode } else { ascii }
    }

    /// A text of the program or of ours, as this terminal can show it: on one line, and nothing in it moves the cursor.
    pub fn text(self, text: &str) -> String {
        let shown = |c: char| match c {
            '\t' | '\n' => ' ',
            _ if c.is_control() => self.sign("�", "?").chars().next().unwrap_or('?'),
            _ if self.is_unicode || c.is_ascii() => c,
            'µ' => 'u',
            '├' | '│' => '|',
            '└' => '`',
            '─' => '-',
            '▸' => '+',
            '▾' => '-',
            '→' => '>',
            '↑' => '^',
            '…' => '.',
            _ => '?',
        };
        text.chars().map(shown).collect()
    }
}

/// Whether the locale's characters are UTF-8; what decides comes first.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let decides = set.into_iter().find(|value| !value.is_empty());
    decides.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides_the_characters() {
        let check = |set: &[(&str, &str)], expected| {
            let variable = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_utf8(variable), expected, "{set:?}");
        };
        check(&[], false);
        check(&[("LANG", "de_DE.UTF-8")], true);
        check(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], false);
        check(&[("LC_ALL", ""), ("LANG", "C.utf8")], true);
        check(&[("LC_CTYPE", "POSIX")], false);
    }

    #[test]
    fn texts_cannot_move_the_cursor() {
        let (unicode, ascii) = (
            Look { has_colours: true, is_unicode: true },
            Look { has_colours: false, is_unicode: false },
        );
        assert_eq!(unicode.text("a\tb\x1b[2Jé"), "a b�[2Jé");
        assert_eq!(ascii.text("3 µs \x1b é"), "3 us ? ?");
    }
}
