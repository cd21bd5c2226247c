//! No path of the machine on which something was written gets into the repository.

use super::{Problem, Tree};

// In two parts, so that this file does not find itself.
const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for text in &tree.texts {
        for (number, line) in text.numbered_lines() {
            for folder in FOLDERS.iter().filter(|folder| names(line, folder)) {
                let what = format!("{folder} is a path of one machine");
                problems.push(text.problem(number, what));
            }
        }
    }
    problems
}

/// Whether a path in `line` begins with `folder`. If `folder` is in the middle of a path, the path is relative.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~}/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::said;

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in FOLDERS {
            for line in [format!("{folder}a"), format!("see `{folder}a`"), format!("x={folder}")] {
                assert_eq!(said(check, &[("a.md", &line)]).len(), 1, "{line}");
            }
            for line in [format!("docs{folder}a"), format!("..{folder}"), format!("~{folder}")] {
                assert_eq!(said(check, &[("a.md", &line)]), [""; 0], "{line}");
            }
        }
    }
}
