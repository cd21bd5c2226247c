//! One observer: its properties, its numbers, and the history of one of them.

use bactrian_analysis::live::numbers::show_clock;
use bactrian_live::{Unit, Value};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::overview::{time_axis, values_of};
use super::plot::{self, Axis, Range};
use super::{Scene, cut, put, wrap};
use crate::layout::{below, right_of};
use crate::measure::{Measure, Part, full_name};
use crate::state::Subject;
use bactrian_analysis::live::known::show_kind;

/// Widths of the names and values of numbers.
const NAME: usize = 22;
const VALUE: usize = 12;
const LEFT: u16 = (NAME + VALUE + 4) as u16;

pub fn draw(scene: &Scene<'_>, subject: &Subject, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let look = scene.look;
    let Some(series) = subject.place.series(scene.database) else { return };
    let declaration = &series.declaration;
    let (name, kind) = match &subject.site {
        Some(site) => (site.clone(), "allocation site"),
        None => (full_name(series), show_kind(declaration.kind)),
    };
    let title = Line::from(vec![
        Span::styled(cut(&format!(" {name}"), area.width.into(), look), look.heading()),
        Span::styled(format!("  {kind}"), look.faint()),
    ]);
    put(buffer, area, 0, &title);
    let value = series.at(scene.at());
    let mut facts = Vec::new();
    facts.push(match declaration.period_ms {
        0 => "stopped".to_owned(),
        period => format!("every {period} ms"),
    });
    facts.push(unit_name(declaration.unit).to_owned());
    if let Some((time, _)) = value {
        facts.push(format!("changed at {}", show_clock(time)));
    }
    facts.push(format!("{} changes known", series.values().count()));
    let facts = cut(&format!(" {}", facts.join(", ")), area.width.into(), look);
    put(buffer, area, 1, &Line::styled(facts, look.faint()));
    let rest = below(area, 3);
    let sentence = match value {
        None => Some(("It has no value yet.".to_owned(), look.faint())),
        Some((_, Value::Failed(reason))) => {
            Some((format!("It could not be evaluated: {reason}"), look.bad()))
        }
        Some((_, Value::Collected)) => {
            Some(("What was observed is no longer alive.".to_owned(), look.faint()))
        }
        Some((_, Value::Killed)) => {
            Some(("The program no longer observes it.".to_owned(), look.faint()))
        }
        Some((_, Value::Text(text))) => Some((text.clone(), Style::new())),
        Some(_) => None,
    };
    match sentence {
        Some((sentence, style)) => {
            let width = usize::from(rest.width).saturating_sub(2);
            for (row, line) in (0..rest.height).zip(wrap(&sentence, width, look)) {
                put(buffer, rest, row, &Line::styled(format!(" {line}"), style));
            }
        }
        None => {
            let measures = subject.measures(scene.database, scene.at());
            numbers(scene, &measures, chosen, rest, buffer);
        }
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "no unit",
        Unit::Bytes => "bytes",
        Unit::Nanos => "time",
        Unit::Percent => "percent",
    }
}

fn numbers(
    scene: &Scene<'_>,
    measures: &[Measure],
    chosen: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (look, database) = (scene.look, scene.database);
    let left = Rect { width: LEFT.min(area.width), ..area };
    let heading = format!("  {:<NAME$}{:>VALUE$}", "number (space marks)", "now");
    put(buffer, left, 0, &Line::styled(heading, look.heading()));
    let page = usize::from(left.height.saturating_sub(1)).max(1);
    let top = (chosen + 1).saturating_sub(page);
    for (row, (number, measure)) in (1..).zip(measures.iter().enumerate().skip(top).take(page)) {
        let now = measure.at(database, scene.at());
        let now = now.map_or("-".to_owned(), |now| measure.show(database, now));
        let name = match (&measure.part, measure.part.name().as_str()) {
            (Part::SiteRate(_), _) => "rate".to_owned(),
            (Part::SiteLive(_), _) => "live".to_owned(),
            (_, "") => "value".to_owned(),
            (_, name) => name.to_owned(),
        };
        let name = cut(&name, NAME - 1, look);
        let text = look.text(&format!("{name:<NAME$}{now:>VALUE$}"));
        let style = if number == chosen { look.chosen() } else { Style::new() };
        let is_marked = scene.state.marked.contains(measure);
        let mark = if is_marked { look.sign("✓ ", "* ") } else { "  " };
        let line = Line::from(vec![Span::styled(mark, look.warning()), Span::styled(text, style)]);
        put(buffer, left, row, &line);
    }
    let Some(measure) = measures.get(chosen) else { return };
    let right = right_of(area, LEFT);
    let inner = right_of(right, plot::AXIS);
    let inner = Rect {
        width: inner.width.saturating_sub(1),
        height: area.height.saturating_sub(1),
        ..inner
    };
    if inner.width < 8 || inner.height < 3 {
        return;
    }
    let values = values_of(scene, measure, plot::samples(inner.width, look, 1));
    let range = Range::around(values.iter().copied().flatten(), false);
    let line = plot::Line { values, range, style: look.line(0), letter: '*' };
    let time = &scene.state.time;
    let (end, window) = (time.chart_end(), time.window());
    let is_past = scene.at() < end;
    let moment = is_past.then(|| 1.0 - (end - scene.at()) as f64 / window as f64);
    plot::draw(buffer, inner, &[line], moment, look);
    let axis = Axis { range, unit: measure.unit(database), is_rate: measure.is_rate() };
    plot::axis(buffer, Rect { x: right.x, width: plot::AXIS, ..inner }, axis, true, look);
    time_axis(scene, Rect { y: inner.bottom(), height: 1, ..inner }, buffer);
}
