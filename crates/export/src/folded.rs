//! Folded stacks: one line per stack, `outermost;inner;innermost VALUE`. Flame graphs are drawn from them. Only
//! the first column of the profile is written.

use std::io::{self, Write};

use bactrian_analysis::Profile;

use crate::frames::{self, Frames};
use crate::path::PathText;
use crate::whole;

pub fn write(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let Some(column) = profile.columns.first() else { return Ok(()) };
    let frames = Frames::new(profile);
    let words: Vec<String> = frames.iter().map(|label| one_word(frames::name(label))).collect();
    let mut text = PathText::new(&profile.tree);
    for (stack, value) in whole::nonzero(&profile.tree, column) {
        let path = text.of(stack, |inner| &words[frames.innermost(inner)]);
        writeln!(out, "{path} {value}")?;
    }
    Ok(())
}

/// A name without characters that have a meaning in the format. That includes every blank, not just the last:
/// readers take a number after a blank for a second value.
fn one_word(name: &str) -> String {
    let harmless = |c: char| match c {
        ';' => ':',
        c if c.is_whitespace() || c.is_control() => '_',
        c => c,
    };
    name.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_one_word() {
        for (name, word) in [
            ("Stdlib__List.map", "Stdlib__List.map"),
            ("a;b\nc\rd\te f 12", "a:b_c_d_e_f_12"),
            ("<\"é\u{fffd}&'>", "<\"é\u{fffd}&'>"),
        ] {
            assert_eq!(one_word(name), word);
        }
    }
}
