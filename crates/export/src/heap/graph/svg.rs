//! The reduced graph as SVG, drawn without outside programs.

use std::fmt::Write as _;
use std::io::{self, Write};

use bactrian_analysis::heap::{ReducedEdge, ReducedHeap, ReducedKind, ReducedSet};

use super::layout::{Drawing, Sketch};
use super::{headline, made_of, size};
use crate::flame::names::{Escaped, cut, tame};

/// Lengths in pixels.
const MARGIN: f64 = 20.0;
const HEAD: f64 = 64.0;
const BOX_WIDTH: f64 = 262.0;
const LINE_HEIGHT: f64 = 15.0;
const PADDING: f64 = 8.0;
const BETWEEN_COLUMNS: f64 = 80.0;
const BETWEEN_BOXES: f64 = 12.0;
/// Of the font in boxes, a hair more than fonts in use have: bold, and plain.
const BOLD_WIDTH: f64 = 7.6;
const CHAR_WIDTH: f64 = 6.3;
const FOOT: f64 = 30.0;

const STYLE: &str = "text { font: 12px sans-serif; fill: #222 }
.title { font-size: 17px; font-weight: bold }
.faint { fill: #666 }
.what { font-weight: bold }
.box { stroke: #8a93a0 }
.root { fill: #d9dde3 } .holder { fill: #dbe9f6 } .large { fill: #fdf1dd } .way { fill: #fff }
.rest { fill: #f4f4f4; stroke-dasharray: 5 4 }
.bar { fill: #e8973a }
.line { fill: none; stroke: #6b7687; stroke-opacity: .75 }
.stub { fill: #fff; stroke: #8a93a0 }
.gap { stroke-dasharray: 1 4; stroke-linecap: round }
g:hover > .box { stroke: #000 }
.line:hover { stroke: #c2410c; stroke-opacity: 1 }
";

/// Writes a reduced heap.
///
/// # Errors
/// If `out` does not take it.
pub fn write(heap: &ReducedHeap, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let rest = heap.sets.iter().position(|set| set.kind == ReducedKind::Rest);
    let texts: Vec<Vec<String>> = heap.sets.iter().map(texts).collect();
    // Nearly all sets point to the rest. Lines would hide the others; so each has a stub.
    let (to_rest, edges): (Vec<ReducedEdge>, Vec<ReducedEdge>) =
        heap.edges.iter().partition(|edge| Some(edge.to) == rest);
    let drawing = Sketch {
        heights: texts.iter().map(|lines| height(lines)).collect(),
        lines: edges.iter().map(|edge| (edge.from, edge.to)).collect(),
        last: rest,
        gap: BETWEEN_BOXES,
    }
    .draw();
    let columns = drawing.columns as f64;
    let width = 2.0 * MARGIN + columns * BOX_WIDTH + (columns - 1.0).max(0.0) * BETWEEN_COLUMNS;
    let width = width.max(640.0);
    let total_height = HEAD + drawing.height + FOOT + MARGIN;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{total_height:.0}" viewBox="0 0 {width:.0} {total_height:.0}">"#
    )?;
    let title = tame(title);
    writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>", Escaped(&title))?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#fff"/>"##)?;
    writeln!(out, r#"<text class="title" x="{MARGIN}" y="28">{}</text>"#, Escaped(&title))?;
    writeln!(out, r#"<text class="faint" x="{MARGIN}" y="47">{}</text>"#, headline(heap))?;
    for (edge, way) in edges.iter().zip(&drawing.lines) {
        line(heap, edge, way, out)?;
    }
    for edge in &to_rest {
        if let Some(&place) = drawing.boxes.get(edge.from) {
            stub(edge, place, out)?;
        }
    }
    for ((set, lines), &place) in heap.sets.iter().zip(&texts).zip(&drawing.boxes) {
        draw_box(set, lines, place, out)?;
    }
    foot(&drawing, out)?;
    writeln!(out, "</svg>")
}

/// The lines of a box.
fn texts(set: &ReducedSet) -> Vec<String> {
    let room = |per_char: f64| ((BOX_WIDTH - 2.0 * PADDING) / per_char) as usize;
    let mut lines = vec![cut(&tame(&set.what), room(BOLD_WIDTH)).into_owned()];
    if set.blocks > 0 {
        lines.push(cut(&size(set), room(CHAR_WIDTH)).into_owned());
    }
    lines.extend(made_of(set).map(|text| cut(&tame(&text), room(CHAR_WIDTH)).into_owned()));
    lines
}

fn height(lines: &[String]) -> f64 {
    lines.len() as f64 * LINE_HEIGHT + 2.0 * PADDING
}

fn left(column: usize) -> f64 {
    MARGIN + column as f64 * (BOX_WIDTH + BETWEEN_COLUMNS)
}

fn draw_box(
    set: &ReducedSet,
    lines: &[String],
    (column, middle): (usize, f64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let (x, height) = (left(column), height(lines));
    let y = HEAD + middle - height / 2.0;
    let class = match set.kind {
        ReducedKind::Root => "root",
        ReducedKind::Holder => "holder",
        ReducedKind::Large => "large",
        ReducedKind::Way => "way",
        ReducedKind::Rest => "rest",
    };
    let mut about = set.what.clone();
    if let Some(address) = &set.address {
        about.push_str(&format!("\nat {address}"));
    }
    if set.entry_blocks > 1 && set.kind != ReducedKind::Root {
        about.push_str(&format!("\none of {} blocks that reach each other", set.entry_blocks));
    }
    about.push_str(&format!("\n{}", size(set)));
    if let Some(made_of) = made_of(set) {
        about.push_str(&format!("\n{made_of}"));
    }
    let about: Vec<_> = about.lines().map(|line| tame(line).into_owned()).collect();
    writeln!(out, "<g><title>{}</title>", Escaped(&about.join("\n")))?;
    writeln!(
        out,
        r#"<rect class="box {class}" x="{x:.1}" y="{y:.1}" width="{BOX_WIDTH}" height="{height:.1}" rx="4"/>"#
    )?;
    if set.bytes > 0 && set.kind != ReducedKind::Rest {
        let width = (BOX_WIDTH * set.share.clamp(0.0, 1.0)).max(1.0);
        let bar = y + height - 4.0;
        writeln!(
            out,
            r#"<rect class="bar" x="{x:.1}" y="{bar:.1}" width="{width:.1}" height="4"/>"#
        )?;
    }
    for (at, text) in lines.iter().enumerate() {
        let class = if at == 0 { "what" } else { "faint" };
        let baseline = y + PADDING + (at as f64 + 0.75) * LINE_HEIGHT;
        writeln!(
            out,
            r#"<text class="{class}" x="{:.1}" y="{baseline:.1}">{}</text>"#,
            x + PADDING,
            Escaped(text)
        )?;
    }
    writeln!(out, "</g>")
}

fn line(
    heap: &ReducedHeap,
    edge: &ReducedEdge,
    way: &[(usize, f64)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let [first, .., _] = way else { return Ok(()) };
    let mut path = format!("M{:.1},{:.1}", left(first.0) + BOX_WIDTH, HEAD + first.1);
    for (at, pair) in way.windows(2).enumerate() {
        let (from, to) = (left(pair[0].0) + BOX_WIDTH, left(pair[1].0));
        let (start, end) = (HEAD + pair[0].1, HEAD + pair[1].1);
        let bend = (from + to) / 2.0;
        let _ = write!(path, " C{bend:.1},{start:.1} {bend:.1},{end:.1} {to:.1},{end:.1}");
        if at + 2 < way.len() {
            // Straight through the column.
            let _ = write!(path, " H{:.1}", to + BOX_WIDTH);
        }
    }
    let class = if edge.left_out > 0 { " gap" } else { "" };
    let width = 1.0 + (edge.pointers.max(1) as f64).log10() * 0.5;
    let name = |place: usize| heap.sets.get(place).map_or("", |set| &set.what);
    let what = match edge.left_out {
        0 => pointers(edge),
        left_out => format!("{left_out} sets between are not shown"),
    };
    let about = format!("{} → {}", name(edge.from), name(edge.to));
    writeln!(
        out,
        r#"<path class="line{class}" stroke-width="{width:.1}" d="{path}"><title>{}: {what}</title></path>"#,
        Escaped(&tame(&about))
    )
}

fn pointers(edge: &ReducedEdge) -> String {
    match edge.pointers {
        1 => "1 pointer".to_owned(),
        pointers => format!("{pointers} pointers"),
    }
}

/// The beginning of a line to the rest, at the lower right corner of a box.
fn stub(edge: &ReducedEdge, (column, middle): (usize, f64), out: &mut dyn Write) -> io::Result<()> {
    let (x, y) = (left(column) + BOX_WIDTH, HEAD + middle + 9.0);
    writeln!(
        out,
        r#"<g><title>{} to the rest</title><path class="stub" d="M{x:.1},{y:.1} h10"/><circle class="stub" cx="{:.1}" cy="{y:.1}" r="3"/></g>"#,
        pointers(edge),
        x + 13.0
    )
}

fn foot(drawing: &Drawing, out: &mut dyn Write) -> io::Result<()> {
    let y = HEAD + drawing.height + FOOT;
    writeln!(
        out,
        r#"<text class="faint" x="{MARGIN}" y="{y:.1}">A box is a block with all that only it leads to, or a root; the bar is its part of the heap. A small circle: it points to the rest, too.</text>"#
    )
}
