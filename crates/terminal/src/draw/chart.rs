//! A chart of all marked numbers. Numbers of one unit share an axis, two units have one axis each, and with
//! more units each line has its own scale.

use bactrian_live::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::overview::{letter, time_axis, values_of};
use super::plot::{self, Axis, Range};
use super::{Scene, cut, put};
use crate::layout::{below, right_of};
use crate::measure::Measure;

/// A marked number with its values.
struct Drawn<'a> {
    measure: &'a Measure,
    values: Vec<Option<f64>>,
    unit: Unit,
}

impl Drawn<'_> {
    fn largest(&self) -> f64 {
        self.values.iter().flatten().fold(0.0, |most, value| value.abs().max(most))
    }
}

/// The axis of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Own,
}

/// Lines of the same unit get separate axes if their magnitudes differ by more than this factor.
const TOO_DIFFERENT: f64 = 30.0;

pub fn draw(scene: &Scene<'_>, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let (state, look) = (scene.state, scene.look);
    let rows = (state.marked.len() as u16 + 1).min(area.height / 2);
    let plot_area = Rect { height: area.height.saturating_sub(rows + 1), ..area };
    let inner = right_of(plot_area, plot::AXIS);
    let inner = Rect { width: inner.width.saturating_sub(plot::AXIS), ..inner };
    let count = plot::samples(inner.width, look, state.marked.len());
    let drawn: Vec<Drawn<'_>> = state
        .marked
        .iter()
        .map(|measure| Drawn {
            measure,
            values: values_of(scene, measure, count),
            unit: measure.unit(scene.database),
        })
        .collect();
    let sides = sides(&drawn, state.is_normalised);
    let range = |side: Side| {
        let of_side = drawn.iter().zip(&sides).filter(|(_, its)| **its == side);
        Range::around(of_side.flat_map(|(drawn, _)| drawn.values.iter().copied().flatten()), false)
    };
    let (left, right) = (range(Side::Left), range(Side::Right));
    let mut lines = Vec::new();
    for (number, (drawn, side)) in drawn.iter().zip(&sides).enumerate() {
        let range = match side {
            Side::Left => left,
            Side::Right => right,
            Side::Own => Range::around(drawn.values.iter().copied().flatten(), true),
        };
        let values = drawn.values.clone();
        lines.push(plot::Line { values, range, style: look.line(number), letter: letter(number) });
    }
    let (end, window) = (state.time.chart_end(), state.time.window());
    let is_past = scene.at() < end;
    let moment = is_past.then(|| 1.0 - (end - scene.at()) as f64 / window as f64);
    plot::draw(buffer, inner, &lines, moment, look);
    for (side, range, is_left) in [(Side::Left, left, true), (Side::Right, right, false)] {
        let first = drawn.iter().zip(&sides).find(|(_, its)| **its == side);
        let Some((first, _)) = first else { continue };
        let axis = Axis { range, unit: first.unit, is_rate: first.measure.is_rate() };
        let x = if is_left { area.x } else { inner.right() };
        let beside = Rect { x, width: plot::AXIS, ..inner };
        plot::axis(buffer, beside, axis, is_left, look);
    }
    let bottom = below(area, plot_area.height);
    time_axis(scene, Rect { x: inner.x, width: inner.width, height: 1, ..bottom }, buffer);
    legend(scene, chosen, &drawn, &sides, below(bottom, 1), buffer);
}

/// The axis of each line.
fn sides(drawn: &[Drawn<'_>], is_normalised: bool) -> Vec<Side> {
    let all = |side| vec![side; drawn.len()];
    if is_normalised {
        return all(Side::Own);
    }
    let meaning = |drawn: &Drawn<'_>| (drawn.unit, drawn.measure.is_rate());
    let mut meanings = Vec::new();
    for drawn in drawn {
        if !meanings.contains(&meaning(drawn)) {
            meanings.push(meaning(drawn));
        }
    }
    match meanings.len() {
        0 | 1 => {
            let sizes = drawn.iter().map(Drawn::largest).filter(|size| *size > 0.0);
            let (least, most) = sizes
                .fold((f64::MAX, 0.0_f64), |(least, most), size| (least.min(size), most.max(size)));
            if most <= TOO_DIFFERENT * least {
                return all(Side::Left);
            }
            let between = (least * most).sqrt();
            let side = |drawn: &Drawn<'_>| {
                if drawn.largest() >= between { Side::Left } else { Side::Right }
            };
            drawn.iter().map(side).collect()
        }
        2 => {
            let side = |drawn: &Drawn<'_>| {
                if meaning(drawn) == meanings[0] { Side::Left } else { Side::Right }
            };
            drawn.iter().map(side).collect()
        }
        _ => all(Side::Own),
    }
}

fn legend(
    scene: &Scene<'_>,
    chosen: usize,
    drawn: &[Drawn<'_>],
    sides: &[Side],
    area: Rect,
    buffer: &mut Buffer,
) {
    const NUMBER: usize = 11;
    const SIDE: usize = 11;
    let (look, database) = (scene.look, scene.database);
    let name = usize::from(area.width).saturating_sub(5 + 3 * NUMBER + SIDE);
    let heading = format!(
        "    {:<name$}{:>NUMBER$}{:>NUMBER$}{:>NUMBER$}  {:<9}",
        "marked (space takes away, y scales)", "now", "least", "most", "axis"
    );
    put(buffer, area, 0, &Line::styled(heading, look.heading()));
    let page = usize::from(area.height.saturating_sub(1)).max(1);
    let top = (chosen + 1).saturating_sub(page);
    for (row, (number, drawn)) in (1..).zip(drawn.iter().enumerate().skip(top).take(page)) {
        let shown = |value: Option<f64>| {
            let text = value.map_or("-".to_owned(), |value| drawn.measure.show(database, value));
            look.text(&format!("{text:>NUMBER$}"))
        };
        let ends = drawn.values.iter().copied().flatten();
        let now = drawn.measure.at(database, scene.at());
        let (least, most) = (ends.clone().reduce(f64::min), ends.reduce(f64::max));
        let axis = match sides[number] {
            Side::Left => "left",
            Side::Right => "right",
            Side::Own => "its own",
        };
        let title = cut(&drawn.measure.title(database), name.saturating_sub(1), look);
        let free = " ".repeat(name.saturating_sub(Span::raw(title.as_str()).width()));
        let text = format!("{title}{free}{}{}{}  {axis:<9}", shown(now), shown(least), shown(most));
        let style = if number == chosen { look.chosen() } else { ratatui::style::Style::new() };
        let sign = if look.has_colours {
            look.sign("━━", "--").to_owned()
        } else {
            format!("{} ", letter(number))
        };
        let line = Line::from(vec![
            Span::styled(format!(" {sign} "), look.line(number)),
            Span::styled(text, style),
        ]);
        put(buffer, area, row, &line);
    }
}
