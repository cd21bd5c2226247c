//! Prints types in OCaml syntax.

use crate::Builtin;

use super::hash::Map;
use super::terms::{Head, Term, Terms};

/// The length in characters at which a type is cut.
const LONGEST: usize = 200;
/// Replaces what was cut.
const CUT: &str = "..";

/// The syntactic level of a part: in an arrow, in a tuple, as an argument of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Arrow,
    Tuple,
    Simple,
}

/// A type that is being printed.
struct Writing<'a, 't> {
    terms: &'a Terms<'t>,
    text: String,
    variables: Map<u32, usize>,
}

/// A type in OCaml syntax. Variables are named in order of appearance; unknown parts are `_`.
pub(crate) fn print(terms: &Terms<'_>, term: Term) -> String {
    let mut writing = Writing { terms, text: String::new(), variables: Map::default() };
    writing.term(term, Level::Arrow, 0);
    writing.text
}

impl Writing<'_, '_> {
    fn term(&mut self, term: Term, level: Level, depth: usize) {
        let term = self.terms.shallow(term);
        if self.text.len() > LONGEST || depth > 40 {
            return self.text.push_str(CUT);
        }
        let parts = self.terms.arguments(term);
        match self.terms.head(term) {
            Head::None | Head::Any => self.text.push('_'),
            Head::Text if level == Level::Simple => self.text.push_str("(string or bytes)"),
            Head::Text => self.text.push_str("string or bytes"),
            Head::Variable(number) => {
                let next = self.variables.len();
                let at = *self.variables.entry(number).or_insert(next);
                self.text.push_str(&variable(at));
            }
            Head::Package(text, _) => {
                self.text.push_str("(module ");
                let text = self.terms.text(text);
                self.text.push_str(cut(text));
                self.text.push(')');
            }
            Head::Object(text) | Head::Opaque(text) => {
                let text = self.terms.text(text);
                self.text.push_str(cut(text));
            }
            Head::Module(layout) => {
                let name = self.terms.table.layouts.get(layout.index());
                self.text.push_str("module ");
                self.text.push_str(name.map_or("?", |layout| &layout.name));
            }
            Head::Tuple => self.wrapped(level == Level::Simple, |writing| {
                writing.list(parts, " * ", Level::Simple, depth);
            }),
            Head::Arrow(label) => self.wrapped(level > Level::Arrow, |writing| {
                writing.label(label);
                writing.term(parts[0], Level::Tuple, depth + 1);
                writing.text.push_str(" -> ");
                writing.term(parts[1], Level::Arrow, depth + 1);
            }),
            Head::Declared(_) => {
                match parts {
                    [] => {}
                    [one] => {
                        self.term(*one, Level::Simple, depth + 1);
                        self.text.push(' ');
                    }
                    _ => {
                        self.wrapped(true, |writing| {
                            writing.list(parts, ", ", Level::Arrow, depth);
                        });
                        self.text.push(' ');
                    }
                }
                self.name(term);
            }
        }
    }

    /// The name of a declared type.
    fn name(&mut self, term: Term) {
        let declaration = self.terms.declaration(term);
        let name = declaration.map_or("?", |declaration| &*declaration.name);
        let name = match self.terms.builtin(term) {
            Some(Builtin::Lazy) if name == "lazy_t" || name.is_empty() => "Lazy.t",
            _ => name,
        };
        self.text.push_str(cut(name));
    }

    fn label(&mut self, label: u32) {
        let label = self.terms.text(label);
        if let Some(optional) = label.strip_prefix('?') {
            self.text.push('?');
            self.text.push_str(optional);
            self.text.push(':');
        } else if !label.is_empty() {
            self.text.push_str(label.trim_start_matches('~'));
            self.text.push(':');
        }
    }

    fn wrapped(&mut self, is_wrapped: bool, inner: impl FnOnce(&mut Self)) {
        if is_wrapped {
            self.text.push('(');
        }
        inner(self);
        if is_wrapped {
            self.text.push(')');
        }
    }

    fn list(&mut self, parts: &[Term], between: &str, level: Level, depth: usize) {
        for (at, &part) in parts.iter().enumerate() {
            if at > 0 {
                self.text.push_str(between);
            }
            if self.text.len() > LONGEST {
                return self.text.push_str(CUT);
            }
            self.term(part, level, depth + 1);
        }
    }
}

/// `'a`, `'b`, .. `'z`, `'a1`, ..
fn variable(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    if at < 26 { format!("'{letter}") } else { format!("'{letter}{}", at / 26) }
}

/// A text, cut if it is too long.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}
