//! The largest entries of the merged dominator tree as a picture for Graphviz.

use std::io::{self, Write};

use bactrian_analysis::heap::{Heap, MergedLimits, WORD, merged_dominators};
use bactrian_analysis::units::show_bytes;

/// The maximum number of entries in a picture.
const MOST: usize = 100;
/// The maximum length of a name in a box, in characters.
const WIDEST: usize = 60;

/// Writes a heap. Returns how many entries are shown, and how many there are.
pub fn write(
    heap: &Heap,
    limits: &MergedLimits,
    out: &mut dyn Write,
) -> io::Result<(usize, usize)> {
    let entries = merged_dominators(heap, limits);
    let mut largest: Vec<usize> = (0..entries.len()).collect();
    // A parent holds at least as much as its children and sorts before them, so the shown entries form a tree.
    largest.sort_by_key(|&entry| (std::cmp::Reverse(entries[entry].words), entry));
    largest.truncate(MOST);
    largest.sort_unstable();
    let total = (heap.reached_words() as f64).max(1.0);
    writeln!(out, "digraph heap {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];")?;
    for &index in &largest {
        let entry = &entries[index];
        let name = quoted(&heap.describe_merged(entry.kind));
        let bytes = |words: u64| show_bytes(words.saturating_mul(WORD) as f64);
        let share = entry.words as f64 / total * 100.0;
        let own = match entry.own_blocks {
            0 => String::new(),
            1 => format!("\\n1 block, {}", bytes(entry.own_words)),
            blocks => format!("\\n{blocks} blocks, {}", bytes(entry.own_words)),
        };
        let all = format!("holds {} ({share:.1} %)", bytes(entry.words));
        writeln!(out, "  n{index} [label=\"{name}\\n{all}{own}\"];")?;
        if let Some(parent) = entry.parent {
            writeln!(out, "  n{parent} -> n{index};")?;
        }
    }
    writeln!(out, "}}")?;
    Ok((largest.len(), entries.len()))
}

/// A name escaped for use between quotes.
fn quoted(name: &str) -> String {
    let is_long = name.chars().count() > WIDEST;
    let shown = name.chars().take(if is_long { WIDEST - 1 } else { WIDEST });
    let mut quoted = String::new();
    for c in shown {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    if is_long {
        quoted.push('…');
    }
    quoted
}
