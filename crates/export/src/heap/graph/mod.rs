//! Heaps as pictures for Graphviz: the reduced graph of a whole heap, and what is around one block. Both are made a
//! [`Picture`] first, boxes and lines; how these are written does not depend on what they mean.

mod around;
mod dot;
mod names;
mod reduced;
#[cfg(test)]
mod tests;

pub use dot::write as write_graph_dot;

/// Boxes and lines between them.
#[derive(Clone, Debug)]
pub struct Picture {
    title: String,
    /// What the picture is of, in a line.
    headline: String,
    boxes: Vec<PictureBox>,
    lines: Vec<Line>,
    /// The box of all that is not shown, by its place.
    rest: Option<usize>,
}

#[derive(Clone, Debug)]
struct PictureBox {
    look: Look,
    /// What stands in it; the first line is its name.
    texts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Root,
    Holder,
    Large,
    Plain,
    Centre,
    Rest,
}

#[derive(Clone, Debug)]
struct Line {
    /// Boxes, by their places.
    from: usize,
    to: usize,
    label: String,
    /// Whether something between its ends is left out.
    is_gap: bool,
}

/// `12.3`, with more digits if there is little before the point.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent < 10.0 { 2 } else { 1 };
    format!("{percent:.digits$} %")
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
