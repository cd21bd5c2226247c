//! Live numbers as lines: one value for each of several equal steps, with the minimum and maximum in between.

use bactrian_live::{Database, ObserverKind, Series, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use super::known::{seconds, unit_name};
use super::measure::{Measure, ObserverIndex, Part, full_name, parts};

/// Numbers over time, all at the same moments.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Lines {
    /// The moments: ends of equal steps, in seconds since the program's start. The last one is the requested end.
    pub times: Vec<f64>,
    /// One line for each number of each observer.
    pub lines: Vec<DrawnLine>,
}

/// One number over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrawnLine {
    /// The observer's name with its labels.
    pub name: String,
    /// Which of its numbers; empty if it has only one.
    pub part: String,
    /// The unit: `bytes`, `nanoseconds`, `percent`.
    pub unit: Option<&'static str>,
    /// Whether it is per second.
    pub rate: bool,
    /// Its value at each moment; null where there was none.
    pub values: Vec<Option<f64>>,
    /// The minimum within each step; absent for rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<Vec<Option<f64>>>,
    /// The maximum within each step; absent for rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Vec<Option<f64>>>,
}

/// The lines of the observers with these names between two moments, with `points` values each.
pub fn lines(database: &Database, names: &[String], from: u64, to: u64, points: usize) -> Lines {
    let moments = moments(from.max(database.first()), to, points);
    let mut all = Vec::new();
    for name in names {
        // If another program replaced the first, the observer exists twice.
        let named: Vec<(ObserverIndex, &Series)> = (0..)
            .map(ObserverIndex)
            .zip(database.series())
            .filter(|(_, series)| full_name(series) == *name)
            .collect();
        let mut seen: Vec<Part> = Vec::new();
        for (_, series) in &named {
            for part in drawn_parts(series, to) {
                if !seen.contains(&part) {
                    seen.push(part);
                }
            }
        }
        let places: Vec<ObserverIndex> = named.iter().map(|(place, _)| *place).collect();
        all.extend(seen.into_iter().map(|part| line(database, name, &places, part, &moments)));
    }
    Lines { times: moments.iter().map(|at| seconds(*at)).collect(), lines: all }
}

/// The ends of equal steps. Steps are aligned to the program's start, so that a moving picture shifts instead
/// of being resampled at other moments each time.
fn moments(from: u64, to: u64, points: usize) -> Vec<u64> {
    let step = (to.saturating_sub(from) / points.max(1) as u64).max(1);
    let first = from.div_ceil(step);
    let ends = (first..=u64::MAX).map_while(|number| number.checked_mul(step));
    let mut moments: Vec<u64> = ends.take_while(|at| *at < to).collect();
    moments.push(to);
    moments
}

/// The numbers of an observer that are worth drawing.
fn drawn_parts(series: &Series, at: u64) -> Vec<Part> {
    let all = parts(series, at);
    let is_drawn = |part: &Part| match series.declaration.kind {
        ObserverKind::Point | ObserverKind::Counter => matches!(part, Part::Rate(_)),
        ObserverKind::Time => matches!(part, Part::Rate("nanos")),
        ObserverKind::Histogram | ObserverKind::Span => matches!(part, Part::Recent(_)),
        ObserverKind::Table => matches!(part, Part::Level("bindings" | "fill")),
        _ => true,
    };
    all.into_iter().filter(is_drawn).collect()
}

fn line(
    database: &Database,
    name: &str,
    places: &[ObserverIndex],
    part: Part,
    moments: &[u64],
) -> DrawnLine {
    let measures: Vec<Measure> =
        places.iter().map(|&place| Measure { place, part: part.clone() }).collect();
    let at = |moment: u64| {
        measures
            .iter()
            .rev()
            .find_map(|measure| measure.at(database, evaluated_at(database, measure, moment)))
    };
    let values: Vec<Option<f64>> = moments.iter().map(|moment| at(*moment)).collect();
    let (mut low, mut high) = (None, None);
    if let Part::Level(wanted) = &part {
        let ends = extremes(database, places, wanted, moments, &values);
        (low, high) = (
            Some(ends.iter().map(|e| e.map(|e| e.0)).collect()),
            Some(ends.iter().map(|e| e.map(|e| e.1)).collect()),
        );
    }
    let unit = measures.last().and_then(|measure| unit_name(measure.unit(database)));
    if part == Part::Level("fill") {
        let percent = |share: &mut Option<f64>| *share = share.map(|share| share * 100.0);
        let mut values = values;
        [Some(&mut values), low.as_mut(), high.as_mut()]
            .into_iter()
            .flatten()
            .flatten()
            .for_each(percent);
        let (name, part, unit) = (name.to_owned(), part.name(), unit_name(Unit::Percent));
        return DrawnLine { name, part, unit, rate: false, values, low, high };
    }
    let rate = measures.last().is_some_and(Measure::is_rate);
    DrawnLine { name: name.to_owned(), part: part.name(), unit, rate, values, low, high }
}

/// The moment at which to evaluate a measure. Until the next value is overdue, a rate is evaluated at the last one, so
/// that it does not decay in between.
fn evaluated_at(database: &Database, measure: &Measure, moment: u64) -> u64 {
    let Some(series) = measure.place.series(database).filter(|_| measure.is_rate()) else {
        return moment;
    };
    let period = 1_500_000 * u64::from(series.declaration.period_ms);
    let last = series.at(moment).map(|(time, _)| time);
    last.filter(|last| moment - last <= period).unwrap_or(moment)
}

/// The minimum and maximum within each step.
fn extremes(
    database: &Database,
    places: &[ObserverIndex],
    part: &str,
    moments: &[u64],
    values: &[Option<f64>],
) -> Vec<Option<(f64, f64)>> {
    let mut before = None;
    let mut found = Vec::with_capacity(moments.len());
    for (&moment, value) in moments.iter().zip(values) {
        let mut ends = value.map(|value| (value, value));
        if let Some(before) = before {
            let series = places.iter().filter_map(|place| place.series(database));
            let changes = series.flat_map(|series| series.between(before, moment));
            let numbers = changes.flat_map(|(_, value)| value.numbers());
            for (_, number) in numbers.filter(|(name, number)| *name == part && !number.is_nan()) {
                let (low, high) = ends.unwrap_or((number, number));
                ends = Some((low.min(number), high.max(number)));
            }
        }
        before = Some(moment);
        found.push(ends);
    }
    found
}

#[cfg(test)]
mod tests {
    use bactrian_live::{Declaration, Event, Limits, ObserverId, Stamp, Table, Value};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn database() -> Database {
        let mut database = Database::new(Limits::default());
        for (id, kind, name) in
            [(1, ObserverKind::Gauge, "level"), (2, ObserverKind::Counter, "counter")]
        {
            let (id, name, labels) = (ObserverId(id), name.to_owned(), Vec::new());
            let unit = Unit::Bytes;
            let declared = Declaration { id, kind, name, labels, unit, period_ms: 100 };
            database.add(Event::Declare(declared));
        }
        for tenth in 0..100_u64 {
            database.add(Event::Tick(Stamp { at: tenth * SECOND / 10, cpu: 0 }));
            let spike = if tenth == 55 { 1000.0 } else { tenth as f64 };
            database.add(Event::Update(ObserverId(1), Value::Float(spike)));
            database.add(Event::Update(ObserverId(2), Value::Count(tenth * 10)));
        }
        database
    }

    #[test]
    fn extremes_between_two_values_are_kept() {
        let names = ["level".to_owned(), "counter".to_owned(), "nobody".to_owned()];
        let drawn = lines(&database(), &names, 0, 9 * SECOND, 9);
        assert_eq!(drawn.times, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(drawn.lines.len(), 2);
        let level = &drawn.lines[0];
        assert_eq!((level.values[6], level.unit, level.rate), (Some(60.0), Some("bytes"), false));
        assert_eq!(level.high.as_ref().expect("a level")[6], Some(1000.0));
        assert_eq!(level.low.as_ref().expect("a level")[6], Some(51.0));
        let counter = &drawn.lines[1];
        assert!(counter.rate && counter.low.is_none());
        assert_eq!(counter.values[5], Some(100.0));
    }

    #[test]
    fn tables_are_drawn_by_bindings_and_fill() {
        let mut database = database();
        let (id, name, labels) = (ObserverId(3), "cache".to_owned(), Vec::new());
        let (kind, unit, period_ms) = (ObserverKind::Table, Unit::None, 100);
        database.add(Event::Declare(Declaration { id, kind, name, labels, unit, period_ms }));
        let table = Table { buckets: 8, bindings: 30, empty: 2, longest: 9 };
        database.add(Event::Update(id, Value::Table(table)));
        let drawn = lines(&database, &["cache".to_owned()], 0, 10 * SECOND, 2).lines;
        let last: Vec<_> = drawn
            .iter()
            .map(|line| (line.part.as_str(), line.unit, *line.values.last().expect("one")))
            .collect();
        let expected = [("bindings", None, Some(30.0)), ("fill", Some("percent"), Some(75.0))];
        assert_eq!(last, expected);
    }

    #[test]
    fn moving_picture_keeps_its_moments() {
        let one = moments(0, 9 * SECOND, 9);
        let other = moments(SECOND / 2, 9 * SECOND + SECOND / 2, 9);
        assert!(other.iter().filter(|at| one.contains(at)).count() >= 8);
        assert_eq!(moments(5, 5, 0), [5]);
        // Files may contain any numbers.
        assert!(moments(0, u64::MAX, 300).len() <= 302);
        assert!(moments(u64::MAX - 1, u64::MAX, 300).len() <= 302);
    }
}
