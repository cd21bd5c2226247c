//! Heaps as pictures for Graphviz: the reduced graph of a whole heap, and the neighbourhood of one block. Both
//! first become a [`Picture`] of boxes and lines, which is written regardless of its meaning.

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
    /// What the picture shows, in one line.
    headline: String,
    boxes: Vec<PictureBox>,
    lines: Vec<Line>,
    /// The index of the box for everything that is not shown.
    rest: Option<usize>,
}

#[derive(Clone, Debug)]
struct PictureBox {
    look: Look,
    /// The texts in the box; the first one is its name.
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
    /// Boxes, by index.
    from: usize,
    to: usize,
    label: String,
    /// Whether something between its ends is left out.
    is_gap: bool,
}

/// A percentage such as `12.3 %`, with two decimals below 10.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent < 10.0 { 2 } else { 1 };
    format!("{percent:.digits$} %")
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
