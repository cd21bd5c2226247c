//! A picture of the neighbourhood of a block: blocks and roots, with the fields that point from one to the
//! other.

use bactrian_analysis::heap::{Around, AroundEdge, AroundKind, AroundNode};
use bactrian_analysis::units::show_bytes;

use super::{Line, Look, Picture, PictureBox, counted, percent};

/// The maximum number of fields in the label of a line.
const FIELDS: usize = 3;

impl Picture {
    /// The picture of the neighbourhood of a block.
    pub fn of_around(around: &Around, title: &str) -> Picture {
        let centre = around.nodes.first().map_or_else(String::new, name);
        let mut boxes: Vec<_> = around.nodes.iter().map(picture_box).collect();
        let rest = around.nodes.iter().position(|node| node.kind == AroundKind::Rest);
        let steps = counted(around.steps.into(), "step");
        if let Some(rest) = rest.and_then(|place| boxes.get_mut(place)) {
            let text = match around.near.saturating_sub(around.told) {
                0 => format!("all of it more than {steps} away"),
                more => format!("{more} of it within {steps}"),
            };
            rest.texts.push(text);
        }
        let mut lines = Vec::new();
        for edge in &around.edges {
            match boxes.get_mut(edge.from) {
                // A loop would be hidden by its own box.
                Some(at) if edge.from == edge.to => {
                    at.texts.push(format!("points to itself: {}", label(edge)));
                }
                _ => lines.push(line(edge)),
            }
        }
        Picture {
            title: title.to_owned(),
            headline: format!(
                "around {centre}; {} of {} within {} are shown",
                around.told,
                counted(around.near, "block or root").replace("block or roots", "blocks and roots"),
                steps,
            ),
            boxes,
            lines,
            rest,
        }
    }
}

/// In the form that `heap show` accepts.
fn name(node: &AroundNode) -> String {
    let number = node.node.map(|node| format!("@{node} "));
    format!("{}{}", number.unwrap_or_default(), node.what)
}

fn picture_box(node: &AroundNode) -> PictureBox {
    let shallow = show_bytes(node.shallow as f64);
    let share = percent(node.share);
    let size = match node.retained {
        None => format!("{shallow}, {share}, {}", counted(node.blocks, "block")),
        Some(retained) => {
            let alone = format!("alone holds {}, {share}", show_bytes(retained as f64));
            if node.blocks > 0 { format!("{shallow}; {alone}") } else { alone }
        }
    };
    PictureBox {
        look: match node.kind {
            AroundKind::Centre => Look::Centre,
            AroundKind::Block => Look::Plain,
            AroundKind::Holder => Look::Holder,
            AroundKind::Rest => Look::Rest,
        },
        texts: vec![name(node), size],
    }
}

/// The fields, and the number of pointers if there are more.
fn label(edge: &AroundEdge) -> String {
    let mut label = edge.fields.iter().take(FIELDS).cloned().collect::<Vec<_>>().join(", ");
    let told = edge.fields.len().min(FIELDS) as u64;
    match (told, edge.pointers.saturating_sub(told)) {
        (0, 0 | 1) | (_, 0) => {}
        (0, pointers) => label = counted(pointers, "pointer"),
        (_, more) => label.push_str(&format!(" and {more} more")),
    }
    label
}

fn line(edge: &AroundEdge) -> Line {
    Line { from: edge.from, to: edge.to, label: label(edge), is_gap: false }
}
