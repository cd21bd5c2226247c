//! A layout as SVG: header, boxes, footer, and the script that makes them move.
//!
//! The script takes what it needs from the boxes: order and depth give the tree, the first line of a
//! tooltip is the full name.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use bactrian_analysis::units::{show_bytes, show_count};
use bactrian_analysis::{Estimate, Profile, StackId, Unit};

use super::layout::{Frame, Layout};
use super::names::{Escaped, cut, shorten, tame};
use super::{FlameOptions, Growth, palette};

/// Lengths in pixels.
const MARGIN: f64 = 12.0;
const LEVEL_HEIGHT: f64 = 17.0;
const BOX_HEIGHT: f64 = 16.0;
const BASELINE_IN_BOX: f64 = 12.0;
const PADDING_IN_BOX: f64 = 3.0;
/// Of the fixed-width font in boxes, a hair more than fonts in use have; the script measures.
const CHAR_WIDTH: f64 = 6.7;
/// Of the headline, on average.
const TITLE_CHAR_WIDTH: f64 = 9.5;
/// Columns after which a warning goes on in the next line.
const WARNING_COLUMNS: usize = 120;
/// The band in which the script shows the frame under the pointer, and the space around it.
const DETAILS_HEIGHT: f64 = 22.0;
const DETAILS_SPACE: f64 = 10.0;
/// Narrower boxes have no border: there would be nothing left inside. `script.js` does the same.
const MIN_BORDERED_WIDTH: f64 = 3.0;
const FOOTER_HEIGHT: f64 = 34.0;

/// How much of a picture's width frames can have.
pub(super) fn room_for_frames(picture_width: f64) -> f64 {
    picture_width - 2.0 * MARGIN
}

/// All that is shown.
pub(super) struct Picture<'a> {
    pub profile: &'a Profile,
    pub options: &'a FlameOptions,
    pub layout: &'a Layout,
    pub width: f64,
}

impl Picture<'_> {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let header = self.header();
        let top = header.height + DETAILS_SPACE + DETAILS_HEIGHT;
        let bottom = top + (self.layout.max_depth + 1) as f64 * LEVEL_HEIGHT;
        let (width, height) = (self.width, bottom + FOOTER_HEIGHT);
        let title = tame(&self.options.title);
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="flame" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
        )?;
        writeln!(out, "<title>{}</title>", Escaped(&title))?;
        writeln!(out, "<style><![CDATA[\n{}]]></style>", include_str!("style.css"))?;
        writeln!(out, r#"<rect class="paper" width="100%" height="100%"/>"#)?;
        writeln!(out, r#"<g class="frames">"#)?;
        for frame in &self.layout.frames {
            let level = match self.options.growth {
                Growth::Down => frame.depth,
                Growth::Up => self.layout.max_depth - frame.depth,
            };
            self.frame(out, frame, top + level as f64 * LEVEL_HEIGHT)?;
        }
        writeln!(out, "</g>")?;
        self.footer(out, bottom)?;
        // After the boxes, because it stays in view above them when the page is scrolled.
        header.write(out)?;
        writeln!(out, "<script><![CDATA[\n{}]]></script>", include_str!("script.js"))?;
        writeln!(out, "</svg>")
    }

    fn header(&self) -> Header {
        let mut header = Header::default();
        let title_columns = (room_for_frames(self.width) / TITLE_CHAR_WIDTH) as usize;
        header.line("headline", 22.0, &cut(&tame(&self.options.title), title_columns));
        if !self.options.subtitle.is_empty() {
            header.line("subtitle", 18.0, &tame(&self.options.subtitle));
        }
        header.line("measure", 20.0, &self.measured());
        let losses = self.options.losses.iter().map(|loss| format!("Lost: {}", tame(loss)));
        for warning in losses.chain(self.cuts()) {
            for line in wrap(&warning, WARNING_COLUMNS) {
                header.line("warning", 16.0, &line);
            }
        }
        header
    }

    /// The sum of everything, and how well it is known.
    fn measured(&self) -> String {
        let column = self.profile.first();
        let total = column.estimate(column.total());
        let title = capitalised(&column.measure.title());
        let value = self.show(total.value);
        match self.interval(&total) {
            Some(interval) => format!("{title}: {value} ({interval}), estimated from samples"),
            None => format!("{title}: {value}, exact: every allocation was recorded"),
        }
    }

    /// What the tree or the picture had no room for.
    fn cuts(&self) -> Vec<String> {
        let mut cuts = Vec::new();
        let no_room = self.profile.tree.cut();
        if no_room > 0 {
            cuts.push(format!(
                "Cut: there were too many distinct stacks; {} frames count for their callers",
                show_count(no_room as f64)
            ));
        }
        if self.layout.too_deep > 0 {
            cuts.push(format!(
                "Cut: {} frames deeper than {} levels are not drawn",
                show_count(self.layout.too_deep as f64),
                self.layout.max_depth
            ));
        }
        cuts
    }

    fn footer(&self, out: &mut impl Write, y: f64) -> io::Result<()> {
        let drawn = format!("Frames drawn: {}", show_count(self.layout.frames.len() as f64));
        let left_out = match self.layout.too_narrow {
            0 => String::new(),
            narrow => format!(
                ". Left out, because narrower than {:.2} px: {}; their weight stays as a gap",
                self.layout.min_share * room_for_frames(self.width),
                show_count(narrow as f64),
            ),
        };
        let y = y + 20.0;
        writeln!(out, r#"<text class="footer" x="{MARGIN}" y="{y}">{drawn}{left_out}.</text>"#)
    }

    fn frame(&self, out: &mut impl Write, frame: &Frame, y: f64) -> io::Result<()> {
        let room = room_for_frames(self.width);
        let (x, width) = (MARGIN + frame.x * room, frame.width * room);
        let name = self.name(frame);
        let colour = match frame.stack {
            StackId::ROOT => palette::of_all(),
            _ => palette::of_name(&name),
        };
        let class = if width < MIN_BORDERED_WIDTH { r#" class="thin""# } else { "" };
        let (title, figures) = (Escaped(&name), self.figures(frame));
        write!(out, "<g data-depth=\"{}\"><title>{title}\n{figures}</title>", frame.depth)?;
        write!(
            out,
            r#"<rect{class} x="{}" y="{y}" width="{}" height="{BOX_HEIGHT}" fill="{colour}"/>"#,
            Fixed(x),
            Fixed(width)
        )?;
        let text = shorten(&name, ((width - 2.0 * PADDING_IN_BOX) / CHAR_WIDTH).max(0.0) as usize);
        if !text.is_empty() {
            let (x, y) = (x + PADDING_IN_BOX, y + BASELINE_IN_BOX);
            write!(out, r#"<text x="{}" y="{y}">{}</text>"#, Fixed(x), Escaped(&text))?;
        }
        writeln!(out, "</g>")
    }

    fn name(&self, frame: &Frame) -> Cow<'_, str> {
        match frame.stack {
            StackId::ROOT => Cow::Borrowed("all"),
            stack => {
                let text = self.profile.labels.get(self.profile.tree.label(stack)).text();
                Cow::Owned(tame(&text).into_owned())
            }
        }
    }

    /// The numbers of a frame, in lines.
    fn figures(&self, frame: &Frame) -> String {
        let column = self.profile.first();
        let total = column.estimate(frame.total);
        let mut lines = format!("{}, {:.2} % of all", self.show(total.value), frame.width * 100.0);
        if let Some(interval) = self.interval(&total) {
            lines += &format!("\n{interval}");
        }
        let own = column.own(frame.stack);
        if !own.is_zero() && own != frame.total {
            lines += &format!("\n{} by itself", self.show(column.estimate(own).value));
        }
        if frame.is_cut {
            lines += "\nwhat it calls is too deep to draw";
        }
        lines
    }

    /// Where the true value lies, unless it is known.
    fn interval(&self, estimate: &Estimate) -> Option<String> {
        if estimate.low >= estimate.high {
            return None;
        }
        let (low, high) = (self.show(estimate.low), self.show(estimate.high));
        Some(match low == high {
            // Too narrow for the digits shown.
            true => format!("95 % interval: ± {:.2} %", estimate.relative_error() * 100.0),
            false => format!("95 % interval: {low} to {high}"),
        })
    }

    fn show(&self, value: f64) -> String {
        match self.profile.first().measure.unit {
            Unit::Bytes => show_bytes(value),
            Unit::Objects => format!("{} objects", show_count(value)),
        }
    }
}

/// Lines above the boxes.
#[derive(Debug, Default)]
struct Header {
    svg: String,
    height: f64,
}

impl Header {
    fn line(&mut self, class: &str, height: f64, text: &str) {
        self.height += height;
        self.svg += &format!(
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{}\">{}</text>\n",
            self.height,
            Escaped(text)
        );
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let details = self.height + DETAILS_SPACE;
        writeln!(
            out,
            r#"<g class="header"><rect class="paper" width="100%" height="{details}"/>"#
        )?;
        writeln!(
            out,
            r#"<rect class="band" y="{details}" width="100%" height="{}"/>"#,
            DETAILS_HEIGHT - LEVEL_HEIGHT + BOX_HEIGHT
        )?;
        let baseline = details + DETAILS_HEIGHT - 7.0;
        writeln!(
            out,
            r#"<text class="details" x="{MARGIN}" y="{baseline}">Hold the pointer over a frame for its numbers</text>"#
        )?;
        writeln!(out, "{}</g>", self.svg)
    }
}

/// A length with four digits after the point, because zooming magnifies what was rounded. Quicker than
/// `{:.4}`, which is exact for every float there is.
struct Fixed(f64);

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = (self.0 * 1e4).round() as u64;
        match (parts / 10_000, parts % 10_000) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, rest) => write!(f, "{whole}.{rest:04}"),
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Breaks a text at spaces into lines of about so many columns.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("at least one line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
