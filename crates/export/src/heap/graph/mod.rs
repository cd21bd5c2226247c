//! The reduced graph of a heap as a picture: for Graphviz, or drawn here.

mod dot;
mod layout;
mod svg;
#[cfg(test)]
mod tests;

use bactrian_analysis::heap::{ReducedHeap, ReducedKind, ReducedSet};
use bactrian_analysis::units::show_bytes;

pub use dot::write as write_graph_dot;
pub use svg::write as write_graph_svg;

/// How large a set is, in a line: `12.3 MB, 16.8 %, 1234 blocks`.
fn size(set: &ReducedSet) -> String {
    let blocks = match set.blocks {
        1 => "1 block".to_owned(),
        blocks => format!("{blocks} blocks"),
    };
    let percent = set.share * 100.0;
    let digits = if percent < 10.0 { 2 } else { 1 };
    format!("{}, {percent:.digits$} %, {blocks}", show_bytes(set.bytes as f64))
}

/// What most of a set is, in a line; nothing if it has one block, or none.
fn made_of(set: &ReducedSet) -> Option<String> {
    if set.blocks < 2 {
        return None;
    }
    let part = |bytes: u64| 100.0 * bytes as f64 / (set.bytes as f64).max(1.0);
    let classes =
        set.classes.iter().map(|class| format!("{} {:.0} %", class.name, part(class.bytes)));
    Some(classes.collect::<Vec<_>>().join("; "))
}

/// What the picture is of, in a line.
fn headline(heap: &ReducedHeap) -> String {
    let shown = heap.sets.iter().filter(|set| set.kind != ReducedKind::Rest).count();
    format!(
        "{} in {} blocks; {shown} of {} sets are shown",
        show_bytes(heap.total as f64),
        heap.blocks,
        heap.all
    )
}
