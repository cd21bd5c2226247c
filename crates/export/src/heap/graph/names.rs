//! Makes names suitable for a picture: harmless, and short enough for their box.
//!
//! Names come from the observed program and may contain anything.

use std::borrow::Cow;

/// The maximum length of a name in characters. Longer names would fill the file, once per frame.
const MAX_NAME: usize = 400;

/// A name of bounded length, without characters that change how their neighbours are displayed: controls, line
/// ends, direction marks.
pub fn tame(name: &str) -> Cow<'_, str> {
    let end = name.char_indices().nth(MAX_NAME).map(|(end, _)| end);
    if end.is_none() && !name.chars().any(is_unfit) {
        return Cow::Borrowed(name);
    }
    let kept = &name[..end.unwrap_or(name.len())];
    let mut tamed: String =
        kept.chars().map(|c| if is_unfit(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if end.is_some() {
        tamed.push('…');
    }
    Cow::Owned(tamed)
}

fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// The beginning of a text, with a mark if it was cut; empty if there is no room for three columns.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns < 3 {
        return Cow::Borrowed("");
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns_of(*c);
        used <= columns
    };
    Cow::Owned(text.chars().take_while(fits).chain(['…']).collect())
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// East Asian scripts, and most symbols beyond, are twice as wide as Latin letters in a fixed-width font.
fn columns_of(c: char) -> usize {
    if c >= '\u{1100}' && !matches!(c, '\u{2000}'..='\u{2fff}') { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_replaced() {
        assert_eq!(tame("plain é"), "plain é");
        assert_eq!(
            tame("a\0b\u{1b}c\nd\u{fffe}e\u{202e}f"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f"
        );
        assert_eq!(tame(&"x".repeat(10_000)).chars().count(), MAX_NAME + 1);
    }

    #[test]
    fn names_are_cut_to_their_box() {
        for (name, columns, expected) in [
            ("replace_bucket", 9, "replace_…"),
            ("replace_bucket", 3, "re…"),
            ("replace_bucket", 2, ""),
            ("f", 1, "f"),
            ("駱駝駱駝", 5, "駱駝…"),
        ] {
            assert_eq!(cut(name, columns), expected, "{name} in {columns}");
        }
    }
}
