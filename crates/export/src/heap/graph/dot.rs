//! Writes a picture for Graphviz.

use std::io::{self, Write};

use super::names::{cut, tame};
use super::{Look, Picture};

/// The maximum length of a line in a box, in characters.
const WIDEST: usize = 60;

/// Writes a picture.
///
/// # Errors
/// If `out` does not take it.
pub fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    let (title, headline) = (quoted(&picture.title, WIDEST), quoted(&picture.headline, 2 * WIDEST));
    writeln!(out, "digraph heap {{\n  rankdir=LR;")?;
    writeln!(out, "  label=\"{title}\\n{headline}\";\n  labelloc=t;")?;
    writeln!(out, "  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\"];")?;
    for (place, one) in picture.boxes.iter().enumerate() {
        let texts: Vec<_> = one.texts.iter().map(|text| quoted(text, WIDEST)).collect();
        let style = match one.look {
            Look::Root => ", fillcolor=\"#d9dde3\"",
            Look::Holder => ", fillcolor=\"#dbe9f6\"",
            Look::Large => ", fillcolor=\"#fbe3c0\"",
            Look::Plain => "",
            Look::Centre => ", fillcolor=\"#fbe3c0\", penwidth=3",
            Look::Rest => ", style=dashed",
        };
        writeln!(out, "  s{place} [label=\"{}\"{style}];", texts.join("\\n"))?;
    }
    for line in &picture.lines {
        let mut attributes = Vec::new();
        if line.is_gap {
            attributes.push("style=dotted".to_owned());
        }
        // The rest is placed at the end, even if it points back.
        if Some(line.from) == picture.rest {
            attributes.push("style=dashed, constraint=false".to_owned());
        }
        if !line.label.is_empty() {
            attributes.push(format!("label=\"{}\"", quoted(&line.label, WIDEST)));
        }
        let attributes = match attributes.is_empty() {
            true => String::new(),
            false => format!(" [{}]", attributes.join(", ")),
        };
        writeln!(out, "  s{} -> s{}{attributes};", line.from, line.to)?;
    }
    writeln!(out, "}}")
}

/// A text escaped for use between quotes.
fn quoted(text: &str, widest: usize) -> String {
    let tamed = tame(text);
    let mut quoted = String::new();
    for c in cut(&tamed, widest).chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}
