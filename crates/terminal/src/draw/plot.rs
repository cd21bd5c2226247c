//! Line charts, in Braille dots (two by four per cell) or letters, and bar sparklines.

use bactrian_analysis::live::numbers::{show, show_rate};
use bactrian_live::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line as Text;

use super::{put, put_right};
use crate::look::Look;

/// The range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// A range that includes all values, with round ends that seldom change.
    pub fn around(values: impl Iterator<Item = f64>, has_zero: bool) -> Range {
        let values = values.filter(|value| value.is_finite());
        let start = if has_zero { Some((0.0, 0.0)) } else { None };
        let ends = values.fold(start, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        });
        let Some((low, high)) = ends else { return Range { low: 0.0, high: 1.0 } };
        // The axis starts at zero, unless that would hide changes far away from zero. Small fluctuations do
        // not count as changes.
        let is_far = low >= 0.8 * high && high - low > 0.02 * high;
        let low = if low > 0.0 && !is_far { 0.0 } else { low };
        let step = round_step((high - low).max(high.abs() * 1e-9));
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        if high > low { Range { low, high } } else { Range { low, high: low + step.max(1.0) } }
    }

    /// Where a value lies between the ends, from 0 to 1.
    fn part(self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// A quarter of a span, rounded to 1, 2 or 5 times a power of ten.
fn round_step(span: f64) -> f64 {
    if span <= 0.0 {
        return 1.0;
    }
    let quarter = span / 4.0;
    let power = 10_f64.powf(quarter.log10().floor());
    let rounded = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= quarter);
    rounded.unwrap_or(10.0) * power
}

/// A line of a chart.
pub struct Line {
    /// Values at equal steps; [`samples`] gives their number.
    pub values: Vec<Option<f64>>,
    /// Its axis.
    pub range: Range,
    /// Its colour.
    pub style: Style,
    /// The letter that represents it where there are no colours.
    pub letter: char,
}

/// The number of values of a line in a chart of this width.
pub fn samples(width: u16, look: Look, lines: usize) -> usize {
    if is_dotted(look, lines) { usize::from(width) * 2 } else { usize::from(width) }
}

/// Whether lines can be drawn as dots and still be told apart.
fn is_dotted(look: Look, lines: usize) -> bool {
    look.is_unicode && (look.has_colours || lines <= 1)
}

/// Draws lines, later ones over earlier ones, and the current moment as a fraction of the width.
pub fn draw(buffer: &mut Buffer, area: Rect, lines: &[Line], moment: Option<f64>, look: Look) {
    if area.is_empty() {
        return;
    }
    if let Some(part) = moment {
        let column = (part.clamp(0.0, 1.0) * f64::from(area.width - 1)).round() as u16;
        for row in 0..area.height {
            let cell = &mut buffer[(area.x + column, area.y + row)];
            cell.set_symbol(look.sign("┆", ":")).set_style(look.faint());
        }
    }
    for line in lines {
        match is_dotted(look, lines.len()) {
            true => dots(buffer, area, line),
            false => letters(buffer, area, line),
        }
    }
}

/// For each value, the rows that its column covers, from the previous value to its own, counted from the top.
fn rows(line: &Line, height: usize) -> impl Iterator<Item = Option<(usize, usize)>> {
    let row = move |value: f64| {
        let part = line.range.part(value);
        ((1.0 - part) * (height - 1) as f64).round() as usize
    };
    let before = [None].into_iter().chain(line.values.iter().copied());
    before.zip(line.values.iter()).map(move |(before, value)| {
        let own = row((*value)?);
        let before = before.map_or(own, row);
        // The row of the previous value belongs to the previous column, so a flat line has one dot per
        // column.
        Some(match before.cmp(&own) {
            std::cmp::Ordering::Less => (before + 1, own),
            std::cmp::Ordering::Equal => (own, own),
            std::cmp::Ordering::Greater => (own, before - 1),
        })
    })
}

fn dots(buffer: &mut Buffer, area: Rect, line: &Line) {
    /// The bits of the dots in a Braille cell, by column and row.
    const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut cells = vec![0_u8; width * height];
    for (column, range) in rows(line, height * 4).enumerate().take(width * 2) {
        let Some((from, to)) = range else { continue };
        for row in from..=to {
            cells[row / 4 * width + column / 2] |= BITS[column % 2][row % 4];
        }
    }
    for (position, bits) in cells.into_iter().enumerate().filter(|(_, bits)| *bits != 0) {
        let (x, y) = (area.x + (position % width) as u16, area.y + (position / width) as u16);
        let cell = &mut buffer[(x, y)];
        let sign = char::from_u32(0x2800 + u32::from(bits)).unwrap_or('.');
        cell.set_char(sign).set_style(line.style);
    }
}

fn letters(buffer: &mut Buffer, area: Rect, line: &Line) {
    for (column, range) in rows(line, area.height.into()).enumerate().take(area.width.into()) {
        let Some((from, to)) = range else { continue };
        for row in from..=to {
            let (x, y) = (area.x + column as u16, area.y + row as u16);
            buffer[(x, y)].set_char(line.letter).set_style(line.style);
        }
    }
}

/// How an axis is labelled.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its range.
    pub range: Range,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Whether they are rates per second.
    pub is_rate: bool,
}

/// Width of the labels of an axis.
pub const AXIS: u16 = 10;

/// Labels an axis beside a chart: at its ends and in the middle.
pub fn axis(buffer: &mut Buffer, area: Rect, axis: Axis, is_left: bool, look: Look) {
    let text = |value| match axis.is_rate {
        true => show_rate(axis.unit, value),
        false => show(axis.unit, value),
    };
    let Range { low, high } = axis.range;
    let mut write = |row: u16, value: f64| {
        let line = Text::styled(look.text(&text(value)), look.faint());
        match is_left {
            true => {
                put_right(buffer, Rect { width: area.width.saturating_sub(1), ..area }, row, &line)
            }
            false => put(buffer, super::super::layout::right_of(area, 1), row, &line),
        }
    };
    if area.height > 0 {
        write(0, high);
        write(area.height - 1, low);
    }
    if area.height > 4 {
        // The row closest to the middle.
        write((area.height - 1) / 2, (low + high) / 2.0);
    }
}

/// A sparkline of bars, from zero to the largest value.
pub fn bars(values: &[Option<f64>], look: Look) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '-', '=', '+', '#'];
    let signs = if look.is_unicode { EIGHTHS } else { ASCII };
    let range = Range::around(values.iter().copied().flatten(), true);
    let bar = |value: &Option<f64>| match value {
        None => ' ',
        // A value is visible however small it is.
        Some(value) => signs[((range.part(*value) * 8.0).round() as usize).clamp(1, 8)],
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ends() {
        let check = |values: &[f64], low, high| {
            assert_eq!(
                Range::around(values.iter().copied(), false),
                Range { low, high },
                "{values:?}"
            );
        };
        check(&[], 0.0, 1.0);
        check(&[3.0, 97.0], 0.0, 100.0);
        check(&[0.0, 0.0], 0.0, 1.0);
        check(&[1000.0, 1100.0], 1000.0, 1100.0);
        check(&[1000.0, 1010.0], 0.0, 1500.0);
        check(&[-5.0, 5.0], -5.0, 5.0);
        let ends = Range::around([7.0, 7.0].into_iter(), false);
        assert!(ends.low <= 7.0 && ends.high > ends.low, "{ends:?}");
        assert_eq!(Range::around([7.0].into_iter(), true), Range { low: 0.0, high: 8.0 });
    }

    fn drawn(values: &[f64], look: Look) -> Vec<String> {
        let area = Rect::new(0, 0, 4, 2);
        let mut buffer = Buffer::empty(area);
        let line = Line {
            values: values.iter().copied().map(Some).collect(),
            range: Range { low: 0.0, high: 7.0 },
            style: Style::new(),
            letter: 'a',
        };
        draw(&mut buffer, area, &[line], None, look);
        (0..2).map(|y| (0..4).map(|x| buffer[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn lines_are_dots_or_letters() {
        let dots = Look { has_colours: true, is_unicode: true };
        let rising = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        assert_eq!(drawn(&rising, dots), ["  ⡠⠊", "⡠⠊  "]);
        assert_eq!(drawn(&[0.0; 8], dots), ["    ", "⣀⣀⣀⣀"]);
        let letters = Look { has_colours: false, is_unicode: false };
        assert_eq!(drawn(&[0.0, 0.0, 7.0, 7.0], letters), ["  aa", "aa  "]);
    }

    #[test]
    fn bars_show_small_values_too() {
        let look = Look { has_colours: true, is_unicode: true };
        assert_eq!(bars(&[None, Some(0.0), Some(50.0), Some(100.0)], look), " ▁▄█");
    }
}
