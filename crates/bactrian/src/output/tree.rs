//! The lines that show which rows of a tree are below which.

/// Before the last of several rows.
pub const LAST: &str = "└ ";

/// What stands before one of the `lines` at one place of a tree, and before all that is below it. A row that is alone is
/// not indented, so that a chain stays narrow.
pub fn tree_marks(at: usize, lines: usize) -> (&'static str, &'static str) {
    match (lines, at + 1 == lines) {
        (1, _) => ("", ""),
        (_, true) => (LAST, "  "),
        (_, false) => ("├ ", "│ "),
    }
}
