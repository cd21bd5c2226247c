//! The reduced graph for Graphviz.

use std::io::{self, Write};

use bactrian_analysis::heap::{ReducedHeap, ReducedKind};

use super::{headline, made_of, size};
use crate::flame::names::{cut, tame};

/// Characters of a line that fit into a box.
const WIDEST: usize = 60;

/// Writes a reduced heap.
///
/// # Errors
/// If `out` does not take it.
pub fn write(heap: &ReducedHeap, title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph heap {{\n  rankdir=LR;")?;
    writeln!(out, "  label=\"{}\\n{}\";\n  labelloc=t;", quoted(title), headline(heap))?;
    writeln!(out, "  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\"];")?;
    for (place, set) in heap.sets.iter().enumerate() {
        let mut lines = vec![quoted(&set.what)];
        if set.blocks > 0 {
            lines.push(quoted(&size(set)));
        }
        lines.extend(made_of(set).map(|text| quoted(&text)));
        let style = match set.kind {
            ReducedKind::Root => ", fillcolor=\"#d9dde3\"",
            ReducedKind::Holder => ", fillcolor=\"#dbe9f6\"",
            ReducedKind::Large => ", fillcolor=\"#fbe3c0\"",
            ReducedKind::Way => "",
            ReducedKind::Rest => ", style=dashed",
        };
        writeln!(out, "  s{place} [label=\"{}\"{style}];", lines.join("\\n"))?;
    }
    for edge in &heap.edges {
        let label = match (edge.left_out, edge.pointers) {
            (0, 0 | 1) => String::new(),
            (0, pointers) => format!(" [label=\"{pointers}\"]"),
            (left_out, _) => format!(" [style=dotted, label=\"{left_out} sets between\"]"),
        };
        writeln!(out, "  s{} -> s{}{label};", edge.from, edge.to)?;
    }
    writeln!(out, "}}")
}

/// A text as it can stand between quotes.
fn quoted(text: &str) -> String {
    let tamed = tame(text);
    let mut quoted = String::new();
    for c in cut(&tamed, WIDEST).chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}
