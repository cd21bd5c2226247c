//! Tables that fit the terminal: numbers keep their width, names are shortened.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;

use super::{Console, FAINT, HEADING, visible};

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For names.
    Left,
    /// For numbers.
    Right,
}

/// Space between columns.
const GAP: usize = 2;
/// The heading of columns with 95 % confidence intervals.
pub const INTERVAL: &str = "95 %";
/// The heading of columns with shares of the total.
pub const SHARE: &str = "%";
/// Names are not shortened below this width.
const LEAST_NAME: usize = 16;

/// Rows of text under headings. The last column gets the rest of the line.
#[derive(Debug)]
pub struct Table {
    headings: Vec<(Cow<'static, str>, Align)>,
    rows: Vec<(Vec<String>, Style)>,
}

impl Table {
    /// A table with these columns.
    pub fn new(headings: &[(&'static str, Align)]) -> Table {
        Table::named(headings.iter().map(|(name, align)| (Cow::Borrowed(*name), *align)))
    }

    /// A table with column names that are computed at run time.
    pub fn named(headings: impl Iterator<Item = (Cow<'static, str>, Align)>) -> Table {
        Table { headings: headings.collect(), rows: Vec::new() }
    }

    /// Adds a row, one text per column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.styled(cells, Style::new());
    }

    /// Adds a row in a style.
    pub fn styled(&mut self, cells: Vec<String>, style: Style) {
        assert_eq!(cells.len(), self.headings.len());
        let cells = cells.iter().map(|cell| visible(cell).into_owned());
        self.rows.push((cells.collect(), style));
    }

    /// Adds a less important row.
    pub fn faint(&mut self, cells: Vec<String>) {
        self.styled(cells, FAINT);
    }

    fn widths(&self) -> Vec<usize> {
        let width_of = |column: usize| {
            let cells = self.rows.iter().map(|(cells, _)| width(&cells[column]));
            cells.chain([width(&self.headings[column].0)]).max().unwrap_or(0)
        };
        (0..self.headings.len()).map(width_of).collect()
    }

    /// Removes a column.
    fn drop_column(&mut self, column: usize) {
        self.headings.remove(column);
        for (cells, _) in &mut self.rows {
            cells.remove(column);
        }
    }

    /// Prints the table, or nothing if it has no rows. If the line is too short for all columns, intervals
    /// are dropped first, then shares.
    pub fn print(&mut self, console: &mut Console) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut widths = self.widths();
        if let Some(line) = console.width() {
            let too_wide = |widths: &[usize]| {
                let numbers: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
                numbers + LEAST_NAME > line
            };
            for least in [INTERVAL, SHARE] {
                while too_wide(&widths)
                    && let Some(column) = self.headings.iter().rposition(|(name, _)| *name == least)
                {
                    self.drop_column(column);
                    widths = self.widths();
                }
            }
        }
        if let (Some(line), Some((last, others))) = (console.width(), widths.split_last_mut()) {
            let taken: usize = others.iter().map(|width| width + GAP).sum();
            *last = (*last).min(line.saturating_sub(taken).max(LEAST_NAME));
        }
        let headings: Vec<_> =
            self.headings.iter().map(|(text, _)| text.clone().into_owned()).collect();
        self.line(&headings, HEADING, &widths, console.out())?;
        for (cells, style) in &self.rows {
            self.line(cells, *style, &widths, console.out())?;
        }
        Ok(())
    }

    /// Prints the table after an empty line, or nothing if it has no rows.
    pub fn print_apart(&mut self, console: &mut Console) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(console.out())?;
        self.print(console)
    }

    fn line(
        &self,
        cells: &[String],
        style: Style,
        widths: &[usize],
        out: &mut impl Write,
    ) -> io::Result<()> {
        write!(out, "{style}")?;
        for (column, (cell, &room)) in cells.iter().zip(widths).enumerate() {
            let text = shorten(cell, room);
            let space = room - width(&text);
            let last = column + 1 == cells.len();
            match self.headings[column].1 {
                Align::Right => write!(out, "{:space$}{text}", "")?,
                Align::Left if last => write!(out, "{text}")?,
                Align::Left => write!(out, "{text}{:space$}", "")?,
            }
            if !last {
                write!(out, "{:GAP$}", "")?;
            }
        }
        writeln!(out, "{style:#}")
    }
}

/// The width on a terminal, accurate enough for names of functions and files.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Shortens a name in the middle, because both its module and its end are informative.
pub fn shorten(text: &str, room: usize) -> String {
    let length = width(text);
    if length <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let (start, end) = (kept / 2, kept - kept / 2);
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shorten("Stdlib__List.map", 20), "Stdlib__List.map");
        assert_eq!(shorten("Stdlib__List.map", 9), "Stdl….map");
        assert_eq!(shorten("été", 2), "…é");
        assert_eq!(shorten("abc", 0), "…");
    }
}
