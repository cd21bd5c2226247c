//! The picture of a whole heap: sets of blocks, and pointers between them.

use bactrian_analysis::heap::{ReducedEdge, ReducedHeap, ReducedKind, ReducedSet};
use bactrian_analysis::units::show_bytes;

use super::{Line, Look, Picture, PictureBox, counted, percent};

impl Picture {
    /// The picture of a reduced heap.
    pub fn of_reduced(heap: &ReducedHeap, title: &str) -> Picture {
        let shown = heap.sets.iter().filter(|set| set.kind != ReducedKind::Rest).count();
        Picture {
            title: title.to_owned(),
            headline: format!(
                "{} in {} blocks; {shown} of {} sets are shown",
                show_bytes(heap.total as f64),
                heap.blocks,
                heap.all
            ),
            boxes: heap.sets.iter().map(picture_box).collect(),
            lines: heap.edges.iter().map(line).collect(),
            rest: heap.sets.iter().position(|set| set.kind == ReducedKind::Rest),
        }
    }
}

fn picture_box(set: &ReducedSet) -> PictureBox {
    let mut texts = vec![set.what.clone()];
    if set.blocks > 0 {
        texts.push(size(set));
    }
    texts.extend(made_of(set));
    PictureBox {
        look: match set.kind {
            ReducedKind::Root => Look::Root,
            ReducedKind::Holder => Look::Holder,
            ReducedKind::Large => Look::Large,
            ReducedKind::Way => Look::Plain,
            ReducedKind::Rest => Look::Rest,
        },
        texts,
    }
}

fn line(edge: &ReducedEdge) -> Line {
    let label = match (edge.left_out, edge.pointers) {
        (0, 0 | 1) => String::new(),
        (0, pointers) => pointers.to_string(),
        (left_out, _) => format!("{left_out} sets between"),
    };
    Line { from: edge.from, to: edge.to, label, is_gap: edge.left_out > 0 }
}

/// The size of a set in one line: `12.3 MB, 16.8 %, 1234 blocks`.
fn size(set: &ReducedSet) -> String {
    let (bytes, share) = (show_bytes(set.bytes as f64), percent(set.share));
    format!("{bytes}, {share}, {}", counted(set.blocks, "block"))
}

/// What most of a set consists of, in one line; None if it has fewer than two blocks.
fn made_of(set: &ReducedSet) -> Option<String> {
    if set.blocks < 2 {
        return None;
    }
    let part = |bytes: u64| 100.0 * bytes as f64 / (set.bytes as f64).max(1.0);
    let classes =
        set.classes.iter().map(|class| format!("{} {:.0} %", class.name, part(class.bytes)));
    Some(classes.collect::<Vec<_>>().join("; "))
}
