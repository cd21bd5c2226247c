//! The program's log: times and wrapped lines.

use bactrian_analysis::live::numbers::show_clock;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Scene, put, put_right, wrap};
use crate::layout::below;

/// Width of a line's time.
const TIME: usize = 11;

pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (state, look) = (scene.state, scene.look);
    let heading = format!("{:>9}  line", "time");
    put(buffer, area, 0, &Line::styled(heading, look.heading()));
    if !state.log.follows() {
        put_right(buffer, area, 0, &Line::styled("End shows the newest ", look.faint()));
    }
    let area = below(area, 1);
    let height = usize::from(area.height);
    let width = usize::from(area.width).saturating_sub(TIME);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (time, text) in state.log.upwards(scene.database, scene.at()) {
        // A line can be longer than the screen: only what can be visible is wrapped.
        let seen: String = text.chars().take(width.max(1) * height).collect();
        for (number, piece) in wrap(&seen, width, look).into_iter().enumerate().rev() {
            let clock =
                if number == 0 { format!("{:>9}", show_clock(time)) } else { String::new() };
            lines.push(Line::from(vec![
                Span::styled(format!("{clock:<TIME$}"), look.faint()),
                Span::raw(piece),
            ]));
        }
        if lines.len() >= height {
            break;
        }
    }
    lines.truncate(height);
    if lines.is_empty() {
        let text = match state.search.is_empty() {
            true => "The program has written nothing to its log.".to_owned(),
            false if state.log.is_looking(scene.database) => "Searching the log.".to_owned(),
            false => format!("No line contains \"{}\".", state.search),
        };
        put(buffer, area, 1, &Line::styled(look.text(&format!("  {text}")), look.faint()));
    }
    for (row, line) in (0..).zip(lines.iter().rev()) {
        put(buffer, area, row, line);
    }
}
