//! The time line: the part that charts show, the current moment, and the markers.

use bactrian_analysis::live::numbers::{show_clock, show_span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Scene, put};

pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (look, time, database) = (scene.look, &scene.state.time, scene.database);
    let (first, last) = (database.first(), database.last());
    let left = format!("{:>8} ", show_clock(first));
    let right = format!(" {:<8} chart {}", show_clock(last), show_span(time.window()));
    let right = format!("{right:<25}");
    let width = usize::from(area.width).saturating_sub(left.len() + right.len());
    if width < 3 {
        return;
    }
    let span = last.saturating_sub(first).max(1);
    let cell = |moment: u64| {
        let part = moment.saturating_sub(first).min(span) as f64 / span as f64;
        (part * (width - 1) as f64).round() as usize
    };
    let plain = (look.sign("─", "-"), look.faint());
    let mut cells: Vec<(&str, Style)> = vec![plain; width];
    if last > first {
        let end = time.chart_end();
        let shown = cell(end.saturating_sub(time.window()))..=cell(end);
        cells[shown].fill((look.sign("━", "="), look.faint()));
        for (moment, _) in database.markers() {
            cells[cell(moment)] = (look.sign("◆", "v"), look.warning());
        }
        cells[cell(scene.at())] = (look.sign("●", "o"), look.heading());
    }
    let spans = cells.into_iter().map(|(sign, style)| Span::styled(sign, style));
    let ends = |text: String| Span::styled(text, look.faint());
    let line = [ends(left)].into_iter().chain(spans).chain([ends(right)]);
    put(buffer, area, 0, &line.collect::<Line<'_>>());
}
