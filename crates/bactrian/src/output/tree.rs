//! Lines that show the structure of a tree.

/// Before the last of several rows.
pub const LAST: &str = "└ ";

/// The prefix of one of the `lines` siblings, and the prefix of everything below it. A single row is not
/// indented, so that chains stay narrow.
pub fn tree_marks(at: usize, lines: usize) -> (&'static str, &'static str) {
    match (lines, at + 1 == lines) {
        (1, _) => ("", ""),
        (_, true) => (LAST, "  "),
        (_, false) => ("├ ", "│ "),
    }
}
