//! No trailing blanks. Files written by programs (fixtures, expected output) are exempt.

use super::{Problem, Tree};

const WRITTEN_BY_PROGRAMS: &[&str] = &["/fixtures/", "/golden/", "/snapshots/", "/corpus/"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for text in &tree.texts {
        if WRITTEN_BY_PROGRAMS.iter().any(|folder| text.path.contains(folder)) {
            continue;
        }
        for (number, line) in text.numbered_lines() {
            if line.ends_with([' ', '\t', '\r']) {
                problems.push(text.problem(number, "blanks at the end of the line"));
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
    fn blanks_at_line_ends_are_found() {
        let bad = [("a.md", "one\ntwo \nthree\t\n")];
        assert_eq!(said(check, &bad).len(), 2);
        let good = [("a.md", "one\n\n  two\n"), ("tests/golden/top.txt", "three \n")];
        assert_eq!(said(check, &good), [""; 0]);
    }
}
