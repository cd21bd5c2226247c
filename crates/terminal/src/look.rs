//! Colours and symbols: few, each with a meaning, and only those that the terminal supports.
//!
//! The colours are the sixteen that every terminal has, so that they follow its colour scheme. Without
//! colours, or without UTF-8, everything can still be told apart by weight and by ASCII symbols.

use std::env;

use ratatui::style::{Color, Modifier, Style};

/// What a terminal can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colours.
    pub has_colours: bool,
    /// Whether it can display more than ASCII.
    pub is_unicode: bool,
}

impl Look {
    /// Reads the environment; `colours` is the command line's setting, if there is one.
    pub fn of_environment(colours: Option<bool>) -> Look {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_colours = colours.unwrap_or_else(|| !is_set("NO_COLOR"));
        Look { has_colours, is_unicode: is_utf8(|name| env::var(name).ok()) }
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Titles and column headings.
    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Less important, or no longer alive.
    pub fn faint(self) -> Style {
        // Not grey: in some schemes that is the background colour.
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A warning.
    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// An error.
    pub fn bad(self) -> Style {
        self.coloured(Color::Red)
    }

    /// Values are arriving.
    pub fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    /// The selection.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The line of a chart with this index.
    pub fn line(self, number: usize) -> Style {
        const COLOURS: [Color; 6] =
            [Color::Cyan, Color::Green, Color::Magenta, Color::Yellow, Color::Blue, Color::Red];
        self.coloured(COLOURS[number % COLOURS.len()])
    }

    /// A symbol or its ASCII replacement.
    pub fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.is_unicode { unicode } else { ascii }
    }

    /// A text as this terminal can display it: on one line, and without control characters.
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

/// Whether the locale uses UTF-8. The variables are in order of precedence.
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
    fn first_set_locale_variable_decides() {
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
