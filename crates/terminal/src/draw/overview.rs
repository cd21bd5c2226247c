//! The program as a whole: memory, time and warnings.

use bactrian_analysis::live::memory_use::memory_use;
use bactrian_analysis::live::numbers::{show, show_clock, show_rate, show_span, show_whole};
use bactrian_live::{Series, Unit, Value, names};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::plot::{self, Axis, Range};
use super::{Scene, cut, put};
use crate::layout::{below, right_of};
use crate::measure::{self, RECENT, collector_share, cpu_share, rate, recent, sample};
use bactrian_analysis::units::show_share;

/// A number with its history.
struct Tile {
    name: &'static str,
    value: String,
    past: Vec<Option<f64>>,
}

const NAME: usize = 10;
const VALUE: usize = 11;
/// Tiles per column.
const TILES: u16 = 4;

pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let half = area.width / 2;
    let bars = usize::from(half).saturating_sub(NAME + VALUE + 5).min(60);
    let tiles = tiles(scene, bars);
    for (position, tile) in tiles.iter().enumerate() {
        let (column, row) = (position as u16 / TILES, position as u16 % TILES);
        let line = Line::from(vec![
            Span::styled(format!(" {:<NAME$}", tile.name), scene.look.faint()),
            scene.span(&format!("{:>VALUE$}", tile.value), scene.look.heading()),
            Span::raw("  "),
            Span::styled(plot::bars(&tile.past, scene.look), scene.look.line(0)),
        ]);
        put(buffer, right_of(area, column * half), row, &line);
    }
    let uses = memory_use(scene.database, scene.at());
    let has_uses = !uses.is_empty() && area.height > TILES + LEAST_CHART;
    if has_uses {
        put(buffer, area, TILES + 1, &used(scene, uses, usize::from(area.width)));
    }
    chart(scene, below(area, TILES + if has_uses { 3 } else { 1 }), buffer);
}

/// The least number of rows, including the rows above it, at which a chart is useful.
const LEAST_CHART: u16 = 9;

/// What the memory is used for, largest first, as far as it fits.
fn used(scene: &Scene<'_>, mut uses: Vec<(&'static str, f64)>, width: usize) -> Line<'static> {
    uses.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts = uses.iter().filter(|(_, bytes)| *bytes > 0.0);
    let parts = parts.map(|(title, bytes)| format!("{title} {}", show(Unit::Bytes, *bytes)));
    let text = format!(" {:<NAME$}{}", "memory is", parts.collect::<Vec<_>>().join(", "));
    Line::styled(cut(&text, width, scene.look), scene.look.faint())
}

fn tiles(scene: &Scene<'_>, bars: usize) -> Vec<Tile> {
    let (database, at) = (scene.database, scene.at());
    let named = |name| database.named_at(name, at);
    let step = scene.state.time.window() / bars.max(1) as u64;
    let past = |value: &dyn Fn(u64) -> Option<f64>| {
        sample(step, bars, at, |time| (time >= database.first()).then(|| value(time)).flatten())
    };
    let level = |name: &'static str, title| {
        let of = |series: &Series, time| first_number(series, time);
        let now = named(name).and_then(|series| Some((of(series, at)?, series.declaration.unit)));
        Tile {
            name: title,
            value: now.map_or_else(missing, |(now, _)| show(Unit::Bytes, now)),
            past: past(&|time| named(name).and_then(|series| of(series, time))),
        }
    };
    let per_second = |name: &'static str, time: u64| {
        named(name).and_then(|series| rate(database, series, "", time))
    };
    let pauses = |time: u64, over: u64| {
        let recent = recent(named(names::PAUSES)?, time, over)?;
        (recent.count() > 0).then_some(recent)
    };
    let p99 = pauses(at, RECENT).map(|pauses| pauses.percentile(99.0) as f64);
    let in_gc = collector_share(database, at, RECENT);
    let count = |name: &'static str| named(name).and_then(|series| first_number(series, at));
    let beside = match (count(names::DOMAINS), count(names::THREADS)) {
        (Some(domains), _) if domains > 1.0 => format!("{domains:.0} domains"),
        (_, Some(threads)) => {
            format!("{threads:.0} thread{}", if threads == 1.0 { "" } else { "s" })
        }
        (Some(domains), None) => format!("{domains:.0} domain"),
        (None, None) => missing(),
    };
    let minors = per_second(names::MINOR_COLLECTIONS, at);
    vec![
        level(names::HEAP, "heap"),
        level(names::LIVE, "live"),
        level(names::RSS, "memory"),
        Tile {
            name: "allocates",
            value: per_second(names::ALLOCATED, at)
                .map_or_else(missing, |rate| show_rate(Unit::Bytes, rate)),
            past: past(&|time| per_second(names::ALLOCATED, time)),
        },
        Tile {
            name: "processor",
            value: cpu_share(database, at).map_or_else(missing, show_share),
            past: past(&|time| cpu_share(database, time)),
        },
        Tile {
            name: "pauses p99",
            value: p99.map_or_else(missing, |p99| show(Unit::Nanos, p99)),
            past: past(&|time| pauses(time, step.max(1)).map(|pauses| pauses.max() as f64)),
        },
        Tile {
            name: "in the GC",
            value: in_gc.map_or_else(missing, show_share),
            past: past(&|time| collector_share(database, time, step.max(1))),
        },
        Tile {
            name: if minors.is_some() { "minor GCs" } else { "runs on" },
            value: minors.map_or(beside, |rate| show_rate(Unit::None, rate)),
            past: past(&|time| per_second(names::MINOR_COLLECTIONS, time)),
        },
    ]
}

fn missing() -> String {
    "-".to_owned()
}

fn first_number(series: &Series, at: u64) -> Option<f64> {
    let (_, value) = series.at(at)?;
    match value {
        Value::Failed(_) => None,
        value => value.numbers().first().map(|(_, number)| *number),
    }
}

/// The chart of memory over time.
fn chart(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    const SHOWN: [(&str, &str); 3] =
        [(names::RSS, "memory"), (names::HEAP, "heap"), (names::LIVE, "live")];
    let (look, database, time) = (scene.look, scene.database, &scene.state.time);
    if area.height < 3 {
        return;
    }
    let (end, window) = (time.chart_end(), time.window());
    let inner = Rect { height: area.height - 2, ..right_of(below(area, 1), plot::AXIS) };
    let there: Vec<(&str, &str)> = SHOWN
        .into_iter()
        .filter(|(name, _)| database.named_at(name, scene.at()).is_some())
        .collect();
    if there.is_empty() {
        let text = match database.program().name.is_empty() {
            true => "Waiting for data from the program.",
            false => "No data from the runtime has arrived yet.",
        };
        return put(buffer, area, 1, &Line::styled(format!(" {text}"), look.faint()));
    }
    let count = plot::samples(inner.width, look, there.len());
    let step = window / count.max(1) as u64;
    let values = there.iter().map(|(name, _)| {
        sample(step, count, end, |time| {
            let is_known = time >= database.first();
            let series = database.named_at(name, time).filter(|_| is_known)?;
            first_number(series, time)
        })
    });
    let values: Vec<Vec<Option<f64>>> = values.collect();
    let range = Range::around(values.iter().flatten().copied().flatten(), true);
    let lines: Vec<plot::Line> = values
        .into_iter()
        .zip(0..)
        .map(|(values, number)| plot::Line {
            values,
            range,
            style: look.line(number),
            letter: letter(number),
        })
        .collect();
    let is_past = scene.at() < end;
    let moment = is_past.then(|| 1.0 - (end - scene.at()) as f64 / window as f64);
    plot::draw(buffer, inner, &lines, moment, look);
    let axis = Axis { range, unit: Unit::Bytes, is_rate: false };
    let beside = Rect { width: plot::AXIS, x: area.x, ..inner };
    plot::axis(buffer, beside, axis, true, look);
    let mut legend = vec![Span::raw(" ".repeat(plot::AXIS.into()))];
    for (number, (_, title)) in there.iter().enumerate() {
        let sign = if look.has_colours {
            look.sign("━", "-").to_owned()
        } else {
            letter(number).to_string()
        };
        legend.push(Span::styled(format!("{sign} {title}   "), look.line(number)));
    }
    put(buffer, area, 0, &Line::from(legend));
    time_axis(
        scene,
        Rect { x: inner.x, width: inner.width, ..below(area, area.height - 1) },
        buffer,
    );
}

/// The letter that represents a line where there are no colours.
pub fn letter(number: usize) -> char {
    char::from(b'a' + (number % 26) as u8)
}

/// The times below a chart.
pub fn time_axis(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let time = &scene.state.time;
    let (end, window) = (time.chart_end(), time.window());
    let start = match end.checked_sub(window) {
        Some(start) => show_clock(start),
        None => format!("-{}", show_span(window - end)),
    };
    let style = scene.look.faint();
    put(buffer, area, 0, &Line::styled(start, style));
    super::put_right(buffer, area, 0, &Line::styled(show_clock(end), style));
}

pub fn warnings(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let (look, state) = (scene.look, scene.state);
    let title = match state.warnings.len() {
        0 => Line::styled(" no warnings", look.faint()),
        1 => Line::styled(" 1 warning", look.warning()),
        count => Line::styled(format!(" {} warnings", show_whole(count as i64)), look.warning()),
    };
    put(buffer, area, 0, &title);
    let list = state.list();
    let page = usize::from(area.height.saturating_sub(1));
    let seen = state.warnings.iter().enumerate().skip(list.top()).take(page);
    for (row, (position, warning)) in (1..).zip(seen) {
        let is_chosen = position == list.position();
        let sentence = cut(&warning.sentence, usize::from(area.width).saturating_sub(3), look);
        let style = if is_chosen { look.warning().patch(look.chosen()) } else { look.warning() };
        let line = Line::from(vec![
            Span::styled(look.sign(" ▲ ", " ! "), look.warning()),
            Span::styled(sentence, style),
        ]);
        put(buffer, area, row, &line);
    }
}

/// The values of a measure in the chart's window.
pub fn values_of(scene: &Scene<'_>, measure: &measure::Measure, count: usize) -> Vec<Option<f64>> {
    let time = &scene.state.time;
    let step = time.window() / count.max(1) as u64;
    sample(step, count, time.chart_end(), |time| measure.at(scene.database, time))
}
