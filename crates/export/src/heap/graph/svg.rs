//! A picture as SVG, drawn without outside programs.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::layout::{Drawing, Sketch, Way};
use super::{Line, Look, Picture, PictureBox};
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
/// Of the whole, so that there is room for what stands below.
const NARROWEST: f64 = 720.0;
/// The tip of an arrow.
const TIP: f64 = 6.0;
/// How far along a line its label stands, from the end that fewer lines share.
const LABEL_AT: f64 = 0.28;

const STYLE: &str = "text { font: 12px sans-serif; fill: #222 }
.title { font-size: 17px; font-weight: bold }
.faint { fill: #666 }
.what { font-weight: bold }
.box { stroke: #8a93a0 }
.root { fill: #d9dde3 } .holder { fill: #dbe9f6 } .large { fill: #fdf1dd } .plain { fill: #fff }
.centre { fill: #fdf1dd; stroke: #c2410c; stroke-width: 3 }
.rest { fill: #f4f4f4; stroke-dasharray: 5 4 }
.bar { fill: #e8973a }
.line { fill: none; stroke: #6b7687; stroke-opacity: .75 }
.back { stroke: #a05a9c }
.tip { fill: #6b7687 } .tip.back { fill: #a05a9c; stroke: none }
.label { font-size: 11px; stroke: #fff; stroke-width: 4px; paint-order: stroke; text-anchor: middle }
.stub { fill: #fff; stroke: #8a93a0 }
.gap { stroke-dasharray: 1 4; stroke-linecap: round }
g:hover > .box { stroke: #000 }
.line:hover { stroke: #c2410c; stroke-opacity: 1 }
";

/// Writes a picture.
///
/// # Errors
/// If `out` does not take it.
pub fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    let rest = picture.rest;
    let texts: Vec<Vec<String>> = picture.boxes.iter().map(texts).collect();
    // Nearly all boxes point to the rest. Lines would hide the others; so each has a stub.
    let (with_rest, lines): (Vec<&Line>, Vec<&Line>) =
        picture.lines.iter().partition(|line| [line.from, line.to].map(Some).contains(&rest));
    let drawing = Sketch {
        heights: texts.iter().map(|texts| height(texts)).collect(),
        lines: lines.iter().map(|line| (line.from, line.to)).collect(),
        last: rest,
        gap: BETWEEN_BOXES,
    }
    .draw();
    let columns = drawing.columns as f64;
    let width = 2.0 * MARGIN + columns * BOX_WIDTH + (columns - 1.0).max(0.0) * BETWEEN_COLUMNS;
    let width = width.max(NARROWEST);
    let foot_height = FOOT + picture.foot.len().saturating_sub(1) as f64 * LINE_HEIGHT;
    let total_height = HEAD + drawing.height + foot_height + MARGIN;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{total_height:.0}" viewBox="0 0 {width:.0} {total_height:.0}">"#
    )?;
    let title = tame(&picture.title);
    let headline = tame(&picture.headline);
    writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>", Escaped(&title))?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#fff"/>"##)?;
    writeln!(out, r#"<text class="title" x="{MARGIN}" y="28">{}</text>"#, Escaped(&title))?;
    writeln!(out, r#"<text class="faint" x="{MARGIN}" y="47">{}</text>"#, Escaped(&headline))?;
    for (line, way) in lines.iter().zip(&drawing.lines) {
        draw_line(line, way, out)?;
    }
    for line in with_rest {
        let is_to_rest = Some(line.to) == rest;
        let place = drawing.boxes.get(if is_to_rest { line.from } else { line.to });
        if let Some(&place) = place {
            stub(line, is_to_rest, place, out)?;
        }
    }
    for ((one, texts), &place) in picture.boxes.iter().zip(&texts).zip(&drawing.boxes) {
        draw_box(one, texts, place, out)?;
    }
    if picture.has_labels {
        labels(&lines, &drawing, out)?;
    }
    for (at, text) in picture.foot.iter().enumerate() {
        let y = HEAD + drawing.height + FOOT + at as f64 * LINE_HEIGHT;
        writeln!(out, r#"<text class="faint" x="{MARGIN}" y="{y:.1}">{text}</text>"#)?;
    }
    writeln!(out, "</svg>")
}

/// The lines of a box.
fn texts(one: &PictureBox) -> Vec<String> {
    let room = |per_char: f64| ((BOX_WIDTH - 2.0 * PADDING) / per_char) as usize;
    let fitting = one.texts.iter().enumerate().map(|(at, text)| {
        let per_char = if at == 0 { BOLD_WIDTH } else { CHAR_WIDTH };
        cut(&tame(text), room(per_char)).into_owned()
    });
    fitting.collect()
}

fn height(texts: &[String]) -> f64 {
    texts.len() as f64 * LINE_HEIGHT + 2.0 * PADDING
}

fn left(column: usize) -> f64 {
    MARGIN + column as f64 * (BOX_WIDTH + BETWEEN_COLUMNS)
}

fn draw_box(
    one: &PictureBox,
    texts: &[String],
    (column, middle): (usize, f64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let (x, height) = (left(column), height(texts));
    let y = HEAD + middle - height / 2.0;
    let class = match one.look {
        Look::Root => "root",
        Look::Holder => "holder",
        Look::Large => "large",
        Look::Plain => "plain",
        Look::Centre => "centre",
        Look::Rest => "rest",
    };
    let about: Vec<_> = one.about.iter().map(|line| tame(line).into_owned()).collect();
    writeln!(out, "<g><title>{}</title>", Escaped(&about.join("\n")))?;
    writeln!(
        out,
        r#"<rect class="box {class}" x="{x:.1}" y="{y:.1}" width="{BOX_WIDTH}" height="{height:.1}" rx="4"/>"#
    )?;
    if let Some(share) = one.bar {
        let width = (BOX_WIDTH * share.clamp(0.0, 1.0)).max(1.0);
        let bar = y + height - 4.0;
        writeln!(
            out,
            r#"<rect class="bar" x="{x:.1}" y="{bar:.1}" width="{width:.1}" height="4"/>"#
        )?;
    }
    for (at, text) in texts.iter().enumerate() {
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

fn draw_line(line: &Line, way: &Way, out: &mut dyn Write) -> io::Result<()> {
    let [first, .., _] = &*way.places else { return Ok(()) };
    let mut path = format!("M{:.1},{:.1}", left(first.0) + BOX_WIDTH, HEAD + first.1);
    for (at, pair) in way.places.windows(2).enumerate() {
        let (from, to) = (left(pair[0].0) + BOX_WIDTH, left(pair[1].0));
        let (start, end) = (HEAD + pair[0].1, HEAD + pair[1].1);
        let bend = (from + to) / 2.0;
        let _ = write!(path, " C{bend:.1},{start:.1} {bend:.1},{end:.1} {to:.1},{end:.1}");
        if at + 2 < way.places.len() {
            // Straight through the column.
            let _ = write!(path, " H{:.1}", to + BOX_WIDTH);
        }
    }
    let mut class = "line".to_owned();
    if line.is_gap {
        class.push_str(" gap");
    }
    if way.is_back {
        class.push_str(" back");
    }
    let width = 1.0 + (line.pointers.max(1) as f64).log10() * 0.5;
    writeln!(
        out,
        r#"<path class="{class}" stroke-width="{width:.1}" d="{path}"><title>{}</title></path>"#,
        Escaped(&tame(&line.about))
    )?;
    // Lines go to the right; one that does not says so.
    if way.is_back {
        let (x, y) = (left(first.0) + BOX_WIDTH, HEAD + first.1);
        writeln!(out, r#"<path class="tip back" d="M{x:.1},{y:.1} l{TIP},-4 v8 z"/>"#)?;
    }
    Ok(())
}

/// Labels, after everything else, so that nothing covers them. Where lines fan out, each stands near the end of its own.
fn labels(lines: &[&Line], drawing: &Drawing, out: &mut dyn Write) -> io::Result<()> {
    let mut starts = vec![0_usize; drawing.boxes.len()];
    let mut ends = starts.clone();
    let sides = |line: &Line, way: &Way| match way.is_back {
        true => (line.to, line.from),
        false => (line.from, line.to),
    };
    for (line, way) in lines.iter().zip(&drawing.lines) {
        let (left, right) = sides(line, way);
        starts[left] += 1;
        ends[right] += 1;
    }
    for (line, way) in lines.iter().zip(&drawing.lines) {
        let (from, to) = sides(line, way);
        let is_at_start = starts[from] <= ends[to];
        let mut pairs = way.places.windows(2);
        let pair = if is_at_start { pairs.next() } else { pairs.next_back() };
        let (Some([start, end]), false) = (pair, line.label.is_empty()) else { continue };
        let at = if is_at_start { LABEL_AT } else { 1.0 - LABEL_AT };
        let (x, x_end) = (left(start.0) + BOX_WIDTH, left(end.0));
        let bend = (x + x_end) / 2.0;
        let x = along([x, bend, bend, x_end], at);
        let y = HEAD + along([start.1, start.1, end.1, end.1], at) + 4.0;
        let label = tame(&line.label);
        writeln!(out, r#"<text class="label" x="{x:.1}" y="{y:.1}">{}</text>"#, Escaped(&label))?;
    }
    Ok(())
}

/// A point of a curve, by the points that make it.
fn along([a, b, c, d]: [f64; 4], at: f64) -> f64 {
    let rest = 1.0 - at;
    a * rest.powi(3) + 3.0 * b * at * rest.powi(2) + 3.0 * c * at.powi(2) * rest + d * at.powi(3)
}

/// The beginning of a line to the rest, at the lower right corner of a box, or the end of one from there, at the left.
fn stub(
    line: &Line,
    is_to_rest: bool,
    (column, middle): (usize, f64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let y = HEAD + middle + 9.0;
    let (x, sign) = if is_to_rest { (left(column) + BOX_WIDTH, 1.0) } else { (left(column), -1.0) };
    writeln!(
        out,
        r#"<g><title>{}</title><path class="stub" d="M{x:.1},{y:.1} h{:.0}"/><circle class="stub" cx="{:.1}" cy="{y:.1}" r="3"/></g>"#,
        Escaped(&tame(&line.about)),
        10.0 * sign,
        x + 13.0 * sign
    )
}
