//! Draws a state, without changing anything.

mod chart;
mod details;
mod gc;
mod help;
mod log;
mod overview;
mod plot;
mod slider;
mod status;
mod table;

use bactrian_live::Database;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout::Layout;
use super::look::Look;
use super::state::{Over, State, Tab};
use crate::session::Status;

#[cfg(test)]
pub use help::KEYS;

/// Everything needed for drawing.
pub struct Scene<'a> {
    /// The user's state.
    pub state: &'a State,
    /// The program's data.
    pub database: &'a Database,
    /// The state of the data source.
    pub status: &'a Status,
    /// What the terminal can display.
    pub look: Look,
}

impl Scene<'_> {
    /// Draws the whole screen.
    pub fn draw(&self, buffer: &mut Buffer) {
        let layout = Layout::of(buffer.area);
        status::header(self, layout.header, buffer);
        status::tabs(self, layout.tabs, buffer);
        slider::draw(self, layout.slider, buffer);
        status::status(self, layout.status, buffer);
        match &self.state.over {
            Over::Help(top) => help::draw(self, *top, layout.body, buffer),
            Over::Details(subject, chosen) => {
                details::draw(self, subject, *chosen, layout.body, buffer);
            }
            Over::Chart(chosen) => chart::draw(self, *chosen, layout.body, buffer),
            Over::Warning(warning) => help::explain(self, warning, layout.body, buffer),
            Over::Nothing => self.draw_view(layout, buffer),
        }
    }

    fn draw_view(&self, layout: Layout, buffer: &mut Buffer) {
        let tab = self.state.tab;
        let (list, beside) = (layout.list(tab), layout.beside_list(tab));
        match tab {
            Tab::Overview => {
                overview::draw(self, beside, buffer);
                overview::warnings(self, list, buffer);
            }
            Tab::Log => log::draw(self, list, buffer),
            Tab::Gc => {
                table::draw(self, list, buffer);
                gc::draw(self, beside, buffer);
            }
            _ => table::draw(self, list, buffer),
        }
    }

    /// The moment that is shown.
    fn at(&self) -> u64 {
        self.state.time.at()
    }

    /// A span of text that this terminal can display.
    fn span(&self, text: &str, style: Style) -> Span<'static> {
        Span::styled(self.look.text(text), style)
    }
}

/// Draws a row of an area, counted from 0. Rows below the area are not drawn.
pub(super) fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Draws a row, right-aligned.
fn put_right(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    let width = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
    put(buffer, super::layout::right_of(area, area.width - width), row, line);
}

/// A text cut to a width, with a mark if it was cut.
pub(super) fn cut(text: &str, width: usize, look: Look) -> String {
    let text = look.text(text);
    if Span::raw(text.as_str()).width() <= width {
        return text;
    }
    let sign = look.sign("…", "~");
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = Span::raw(c.to_string()).width();
        if used + wide + 1 > width {
            break;
        }
        kept.push(c);
        used += wide;
    }
    if width == 0 { String::new() } else { format!("{kept}{sign}") }
}

/// Wraps a text to this width, at spaces where there are any.
fn wrap(text: &str, width: usize, look: Look) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut rest: Vec<char> = look.text(line).chars().collect();
        while rest.len() > width {
            let space = rest[..=width].iter().rposition(|c| *c == ' ').filter(|at| *at > width / 3);
            let (end, skipped) = space.map_or((width, 0), |space| (space, 1));
            lines.push(rest[..end].iter().collect());
            rest.drain(..end + skipped);
        }
        lines.push(rest.into_iter().collect());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { has_colours: false, is_unicode: true };

    #[test]
    fn long_texts_are_cut_and_wrapped() {
        assert_eq!(cut("abcdef", 6, LOOK), "abcdef");
        assert_eq!(cut("abcdefg", 6, LOOK), "abcde…");
        assert_eq!(cut("abc", 0, LOOK), "");
        assert_eq!(wrap("one two three", 8, LOOK), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij\n\nk", 4, LOOK), ["abcd", "efgh", "ij", "", "k"]);
    }
}
