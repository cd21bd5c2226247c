//! Plain English: neither phrases that must be read twice, nor names of types that several ideas could have.
//!
//! Only what can be recognised exactly is here. A phrase may continue on the next line of a comment; punctuation ends it.

use super::rust_code::code_only;
use super::{Problem, Text, Tree};

/// A phrase that is not written.
struct Phrase {
    /// Its words, each with alternatives.
    words: &'static [&'static [&'static str]],
    /// Whether it is looked for only where a sentence, a bracket or a quotation begins, or after one of [`BEFORE_WHO`].
    begins: bool,
    instead: &'static str,
}

const fn anywhere(words: &'static [&'static [&'static str]], instead: &'static str) -> Phrase {
    Phrase { words, begins: false, instead }
}

const PHRASES: &[Phrase] = &[
    Phrase {
        words: &[&["who"], &["asks", "has", "sends", "wants", "comes", "waits", "gives"]],
        begins: true,
        instead: "say who: a client that asks, callers with many questions",
    },
    anywhere(&[&["so"], &["many", "much"], &["of", "a"]], "give the number, or its name"),
    anywhere(
        &[&["so"], &["often", "many", "much"], &["as"], &["it"]],
        "give the number, or its name",
    ),
    anywhere(
        &[&["most"], &["so"], &["many", "much"]],
        "give the number, or write `at most this many`",
    ),
    anywhere(&[&["in"], &["so"], &["much"]], "within a limit, a budget"),
    anywhere(&[&["those"], &["of"], &["so"], &["many"]], "give the number, or its name"),
    anywhere(&[&["than"], &["so"], &["many", "much"]], "more than this many"),
    anywhere(&[&["it"], &["is"], &["over"], &["with"]], "it has ended"),
    anywhere(&[&["is", "are"], &["told"], &["of"]], "learns about, is shown, is reported"),
    anywhere(&[&["is", "are"], &["said"], &["of"]], "is said about, is known about"),
    anywhere(&[&["is", "are"], &["said"], &["to"], &["hold"]], "is attributed to, holds"),
    anywhere(&[&["is", "are"], &["heard"]], "is received, reaches"),
    anywhere(&[&["of"], &["which", "whom"], &["nobody"]], "say it in two sentences"),
    anywhere(&[&["what"], &["is"], &["wanted"]], "the goal, the request, the selection"),
    anywhere(&[&["place", "places"], &["of"], &["allocation"]], "allocation site"),
];

/// Words after which "who" has nobody that it refers to.
const BEFORE_WHO: &[&str] = &["and", "by", "for", "of", "to", "when", "while"];

/// Names of types that say too little to be found in a workspace.
const NAMES: &[&str] = &[
    "Code", "Error", "Held", "Image", "Kind", "Location", "Place", "Recent", "Thing", "Told",
    "Wanted", "Way",
];

/// What was generated from sources that are checked themselves.
const BUILT: &str = "ui/dist/";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let texts = tree.with_extension(&["rs", "ts", "tsx", "mjs", "js", "ml", "mli", "md"]);
    let written = texts.filter(|text| !text.path.starts_with(BUILT));
    let mut problems: Vec<Problem> = written.flat_map(phrases_in).collect();
    // What tests declare is visible in one test program only.
    let crates = tree.with_extension(&["rs"]).filter(|text| !text.path.contains("/tests/"));
    problems.extend(crates.flat_map(names_in));
    problems
}

/// A word, or what separates words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    /// Punctuation within a sentence.
    Comma,
    /// The end of a sentence, or code.
    Break,
}

fn phrases_in(text: &Text) -> Vec<Problem> {
    let tokens = tokens(text);
    let mut problems = Vec::new();
    for at in 0..tokens.len() {
        for phrase in PHRASES {
            let Some(words) = words_of(&tokens[at..], phrase) else { continue };
            if phrase.begins && !begins(at.checked_sub(1).map(|before| tokens[before].1)) {
                continue;
            }
            let what = format!("\"{words}\" must be read twice: {}", phrase.instead);
            problems.push(text.problem(tokens[at].0, what));
        }
    }
    problems
}

/// The words of a phrase, if the tokens begin with it.
fn words_of(tokens: &[(usize, Token<'_>)], phrase: &Phrase) -> Option<String> {
    let mut found = Vec::new();
    for (at, alternatives) in phrase.words.iter().enumerate() {
        let Some((_, Token::Word(word))) = tokens.get(at) else { return None };
        alternatives.iter().find(|expected| word.eq_ignore_ascii_case(expected))?;
        found.push(*word);
    }
    Some(found.join(" "))
}

fn begins(before: Option<Token<'_>>) -> bool {
    match before {
        None | Some(Token::Break) => true,
        Some(Token::Word(word)) => BEFORE_WHO.contains(&word),
        Some(Token::Comma) => false,
    }
}

/// The tokens of a text with their lines. Signs of comments at the beginning of a line do not separate words.
fn tokens(text: &Text) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    for (number, line) in text.numbered_lines() {
        let rest = line.trim_start();
        let rest = rest.trim_start_matches(['/', '!', '*', '#', '(']).trim_start();
        let is_item = rest.starts_with("- ") || rest.starts_with("| ") || rest.is_empty();
        if is_item || line.trim_start().starts_with("# ") {
            tokens.push((number, Token::Break));
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let mut at = 0;
        while let Some(first) = rest[at..].chars().next() {
            let length = match is_part(first) {
                true => rest[at..].find(|c| !is_part(c)).unwrap_or(rest.len() - at),
                false => first.len_utf8(),
            };
            match first {
                c if is_part(c) => tokens.push((number, Token::Word(&rest[at..at + length]))),
                ' ' | '\t' | '\\' | '*' => {}
                ',' => tokens.push((number, Token::Comma)),
                _ => tokens.push((number, Token::Break)),
            }
            at += length;
        }
    }
    tokens
}

fn names_in(text: &Text) -> Vec<Problem> {
    let code = code_only(&text.content);
    let named =
        code.lines().enumerate().filter_map(|(at, line)| Some((at + 1, public_type(line)?)));
    named
        .filter(|(_, name)| NAMES.contains(name))
        .map(|(line, name)| {
            text.problem(
                line,
                format!("several ideas could be called {name}: qualify it, as in SnapshotError"),
            )
        })
        .collect()
}

/// The name of the type that a line of code makes visible outside its module.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let (kind, rest) = rest.trim_start().split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    ["struct", "enum", "trait", "type"].contains(&kind).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    /// The first alternatives of each phrase.
    fn examples() -> impl Iterator<Item = Vec<&'static str>> {
        PHRASES.iter().map(|phrase| phrase.words.iter().map(|word| word[0]).collect())
    }

    #[test]
    fn each_phrase_is_found_in_comments_strings_and_documents() {
        for words in examples() {
            let phrase = words.join(" ");
            for (path, text) in [
                ("a.rs", format!("//! {phrase} x.\n")),
                ("a.rs", format!("//! A.\nconst A: &str = \"{phrase}\";\n")),
                ("a.ml", format!("(* {phrase} x *)\n")),
                ("a.tsx", format!("<p>{phrase}</p>\n")),
                ("a.md", format!("- {phrase}\n")),
            ] {
                let lines = said(check, &[(path, &text)]);
                assert!(
                    lines.iter().any(|line| line.contains(&format!("\"{phrase}\""))),
                    "{text}{lines:?}"
                );
            }
        }
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line_and_not_after_punctuation() {
        for words in examples() {
            let (first, rest) = (words[0], words[1..].join(" "));
            let wrapped = format!("//! {first}\n//! {rest}\n");
            assert_eq!(said(check, &[("a.rs", &wrapped)]).len(), 1, "{wrapped}");
            for text in
                [format!("//! {first}, {rest}\n"), format!("//! {first}.\n//!\n//! {rest}\n")]
            {
                assert_eq!(said(check, &[("a.rs", &text)]), [""; 0], "{text}");
            }
        }
    }

    #[test]
    fn who_may_refer_to_somebody() {
        let sends = PHRASES[0].words[1][2];
        let text = format!("A client who {sends} much, and one, who {sends} little.\n");
        assert_eq!(said(check, &[("a.md", &text)]), [""; 0]);
        for text in [format!("Who {sends} much\n"), format!("for who {sends} much\n")] {
            assert_eq!(said(check, &[("a.md", &text)]).len(), 1, "{text}");
        }
    }

    #[test]
    fn visible_types_have_qualified_names() {
        let name = NAMES[1];
        let bad = format!("//! A.\npub enum {name} {{}}\npub(crate) struct {name}<'a>(&'a u8);\n");
        let lines = said(check, &[("a.rs", &bad)]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let good = format!(
            "//! A.\npub enum Snapshot{name} {{}}\nenum {name} {{}}\ntype {name} = u8;\n// pub enum {name}\n"
        );
        assert_eq!(said(check, &[("a.rs", &good), ("crates/a/tests/b.rs", &bad)]), [""; 0]);
    }
}
