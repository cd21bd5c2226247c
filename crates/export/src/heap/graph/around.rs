//! The picture of what is around a block: blocks and roots, with the fields that point from one to the other.

use bactrian_analysis::heap::{Around, AroundEdge, AroundKind, AroundNode};
use bactrian_analysis::units::show_bytes;

use super::{Line, Look, Picture, PictureBox, counted, percent};

/// Fields that are written at a line.
const FIELDS: usize = 3;

impl Picture {
    /// The picture of what is around a block.
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
            rest.texts.push(text.clone());
            rest.about.push(text);
        }
        let mut lines = Vec::new();
        for edge in &around.edges {
            match boxes.get_mut(edge.from) {
                // A line that comes back to its box would be hidden by it.
                Some(at) if edge.from == edge.to => {
                    at.texts.push(format!("points to itself: {}", label(edge)));
                }
                _ => lines.push(line(around, edge)),
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
            has_labels: true,
            foot: &[
                "A box is a block or a root; the bar is the part of the heap that it alone holds.",
                "At a line: the fields that point. A small circle: it points to the rest (right), or the rest to it (left).",
            ],
        }
    }
}

/// As `heap show` takes it.
fn name(node: &AroundNode) -> String {
    let number = node.node.map(|node| format!("#{node} "));
    format!("{}{}", number.unwrap_or_default(), node.what)
}

fn picture_box(node: &AroundNode) -> PictureBox {
    let shallow = show_bytes(node.shallow as f64);
    let share = percent(node.share);
    let size = match node.dominated {
        None => format!("{shallow}, {share}, {}", counted(node.blocks, "block")),
        Some(dominated) => {
            let alone = format!("alone holds {}, {share}", show_bytes(dominated as f64));
            if node.blocks > 0 { format!("{shallow}; {alone}") } else { alone }
        }
    };
    let mut about = vec![name(node)];
    about.extend(node.address.as_ref().map(|address| format!("at {address}")));
    about.push(size.clone());
    about.extend(node.distance.map(|steps| format!("{} away", counted(steps.into(), "step"))));
    PictureBox {
        look: match node.kind {
            AroundKind::Centre => Look::Centre,
            AroundKind::Block => Look::Plain,
            AroundKind::Holder => Look::Holder,
            AroundKind::Rest => Look::Rest,
        },
        texts: vec![name(node), size],
        about,
        bar: node.dominated.filter(|&dominated| dominated > 0).map(|_| node.share),
    }
}

/// The fields, and how many there are if these are not all.
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

fn line(around: &Around, edge: &AroundEdge) -> Line {
    let name = |place: usize| around.nodes.get(place).map_or_else(String::new, name);
    let fields = match edge.fields.len() {
        0 => String::new(),
        1 => format!(", field {}", edge.fields[0]),
        _ => format!(", fields {}", edge.fields.join(", ")),
    };
    Line {
        from: edge.from,
        to: edge.to,
        pointers: edge.pointers,
        label: label(edge),
        about: format!(
            "{} → {}: {}{fields}",
            name(edge.from),
            name(edge.to),
            counted(edge.pointers, "pointer")
        ),
        is_gap: false,
    }
}
