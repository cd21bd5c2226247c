//! Rust files contain no leftovers: no notes to oneself, no debugging output.

use super::rust_code::{code_only, has_word};
use super::{Problem, Tree};

// In two parts, so that this file does not find itself.
const NOTES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const DEBUGGING: &str = concat!("dbg", "!");

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for text in tree.with_extension(&["rs"]) {
        for (number, line) in text.numbered_lines() {
            for note in NOTES.iter().filter(|note| has_word(line, note)) {
                problems.push(text.problem(number, format!("{note}: do it, or leave it out")));
            }
        }
        for (at, line) in code_only(&text.content).lines().enumerate() {
            if line.contains(DEBUGGING) {
                problems.push(text.problem(at + 1, format!("{DEBUGGING} is for debugging")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn notes_are_found_in_comments() {
        for note in NOTES {
            let bad = format!("fn f() {{\n    // {note}: later\n}}\n");
            assert_eq!(
                said(check, &[("a.rs", &bad)]),
                [format!("a.rs:2: {note}: do it, or leave it out")]
            );
            assert_eq!(said(check, &[("a.rs", &format!("// {note}S\n"))]), [""; 0]);
        }
    }

    #[test]
    fn debugging_is_found_in_code() {
        let bad = format!("let a = {DEBUGGING}(b);\n");
        assert_eq!(said(check, &[("a.rs", &bad)]).len(), 1);
        let good = format!("// no {DEBUGGING}\nlet a = \"{DEBUGGING}\";\n");
        assert_eq!(said(check, &[("a.rs", &good)]), [""; 0]);
    }
}
