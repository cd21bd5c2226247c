//! Every Rust file begins with a comment that says what it is for.

use super::{Problem, Tree};

pub fn check(tree: &Tree) -> Vec<Problem> {
    let silent = tree.with_extension(&["rs"]).filter(|text| !text.content.starts_with("//!"));
    silent
        .map(|text| text.problem(1, "begin with a `//!` comment: what is this file for?"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn only_rust_files_need_the_comment() {
        let good = [("a.rs", "//! Reads.\n"), ("b.md", "# B\n")];
        assert_eq!(said(check, &good), [""; 0]);
        let bad = [("a.rs", "use std::fmt;\n"), ("b.rs", "// Reads.\n"), ("c.rs", "")];
        assert_eq!(said(check, &bad).len(), 3);
    }
}
