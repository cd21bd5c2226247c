//! Names made fit for the picture: safe in XML, and short enough for their box.
//!
//! Names come from the observed program and may hold anything.

use std::borrow::Cow;
use std::fmt;

/// Characters of a name that are shown anywhere. Longer ones would fill the file, once per frame.
const MAX_NAME: usize = 400;

/// A name of bounded length, without characters that XML forbids or that would change how their
/// neighbours are read: controls, line ends, marks of writing direction.
pub(crate) fn tame(name: &str) -> Cow<'_, str> {
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

/// Shows a text as XML, inside or outside of quotes.
pub(crate) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whole runs at a time: most names have nothing to escape.
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                _ => "&quot;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// What of a name fits into so many columns: all of it; else the name without its module, which the colour
/// shows; else the start of that; nothing if that would say nothing. `script.js` does the same on zooming.
pub(super) fn shorten(name: &str, columns: usize) -> Cow<'_, str> {
    if width(name) <= columns {
        return Cow::Borrowed(name);
    }
    let inner = name.split_once('.').map_or(name, |(_, inner)| inner);
    if width(inner) <= columns {
        return Cow::Borrowed(inner);
    }
    cut(inner, columns)
}

/// The start of a text, with a mark that it was cut; nothing if there is no room for three columns.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
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

/// East Asian scripts, and most signs beyond, are twice as wide as Latin in a fixed-width font.
fn columns_of(c: char) -> usize {
    if c >= '\u{1100}' && !matches!(c, '\u{2000}'..='\u{2fff}') { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        let escaped = Escaped("a<b>&\"]]>").to_string();
        assert_eq!(escaped, "a&lt;b&gt;&amp;&quot;]]&gt;");
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
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
            ("List.map", 8, "List.map"),
            ("List.map", 7, "map"),
            ("Hashtbl.replace_bucket", 9, "replace_…"),
            ("Hashtbl.replace_bucket", 3, "re…"),
            ("Hashtbl.replace_bucket", 2, ""),
            ("run", 2, ""),
            ("f", 1, "f"),
            ("駱駝.f", 3, "f"),
            ("駱駝駱駝", 5, "駱駝…"),
        ] {
            assert_eq!(shorten(name, columns), expected, "{name} in {columns}");
        }
    }
}
