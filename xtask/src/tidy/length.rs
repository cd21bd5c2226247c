//! Files stay short enough to be read in one sitting. Unit tests at the end do not count.

use super::{Problem, Tree};

const MAX_LINES: usize = 800;
const EXTENSIONS: &[&str] = &["rs", "ts", "tsx", "css", "ml", "mli", "c", "h"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let long = tree.with_extension(EXTENSIONS).filter_map(|text| {
        let lines = lines_without_tests(&text.content);
        let what = || format!("{lines} lines without its tests, past {MAX_LINES}: split it");
        (lines > MAX_LINES).then(|| text.problem(0, what()))
    });
    long.collect()
}

fn lines_without_tests(content: &str) -> usize {
    let lines: Vec<_> = content.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests"));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn tests_at_the_end_do_not_count() {
        let code = "x\n".repeat(MAX_LINES);
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert_eq!(said(check, &[("a.rs", &code), ("b.rs", &tests)]), [""; 0]);
        let long = format!("y\n{tests}");
        assert_eq!(
            said(check, &[("a.rs", &long)]),
            ["a.rs: 801 lines without its tests, past 800: split it"]
        );
    }

    #[test]
    fn documents_may_be_long() {
        assert_eq!(said(check, &[("a.md", &"x\n".repeat(2000))]), [""; 0]);
    }
}
