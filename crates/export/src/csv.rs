//! A table (RFC 4180) with a row for each stack that allocated something itself. For each measure it has the
//! estimate and the ends of its interval.

use std::borrow::Cow;
use std::io::{self, Write};

use bactrian_analysis::{Label, Profile};

use crate::frames::{self, Frames};
use crate::path::{PathText, every_stack};

pub fn write(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    write!(out, "stack")?;
    for column in &profile.columns {
        let title = column.measure.title();
        write!(out, ",{title},{title} (low),{title} (high)")?;
    }
    write!(out, "\r\n")?;

    let frames = Frames::new(profile);
    let texts: Vec<String> = frames.iter().map(quotable).collect();
    let mut text = PathText::new(&profile.tree);
    for stack in every_stack(&profile.tree) {
        if profile.columns.iter().all(|column| column.own(stack).is_zero()) {
            continue;
        }
        let path = text.of(stack, |inner| &texts[frames.innermost(inner)]);
        write!(out, "\"{path}\"")?;
        for column in &profile.columns {
            let estimate = column.estimate(column.own(stack));
            write!(out, ",{:.2},{:.2},{:.2}", estimate.value, estimate.low, estimate.high)?;
        }
        write!(out, "\r\n")?;
    }
    Ok(())
}

/// The text of a frame for a quoted field: quotes doubled, without anything that looks like the end of the
/// frame or of the row.
fn quotable(label: &Label) -> String {
    let text = match label.place() {
        Some(_) => Cow::Owned(label.text()),
        None => Cow::Borrowed(frames::name(label)),
    };
    let mut quotable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => quotable.push_str("\"\""),
            ';' => quotable.push(':'),
            c if c.is_control() => quotable.push(' '),
            c => quotable.push(c),
        }
    }
    quotable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cannot_end_a_csv_field() {
        let text = |name: &str| quotable(&Label { name: name.to_owned(), ..Label::default() });
        assert_eq!(text("a\"b;c\r\nd,e"), "a\"\"b:c  d,e");
        assert_eq!(text(""), "[no name]");
    }
}
