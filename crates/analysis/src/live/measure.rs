//! What can be drawn as a line: any number of any observer, its rate of growth, and recent percentiles of a
//! distribution.

use bactrian_live::{Database, Histogram, ObserverKind, Series, Site, Unit, Value, names};

use super::numbers;

/// The index of an observer in the database. Observers are never removed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObserverIndex(pub usize);

impl ObserverIndex {
    /// The observer.
    pub fn series(self, database: &Database) -> Option<&Series> {
        database.series().nth(self.0)
    }
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Measure {
    /// The observer.
    pub place: ObserverIndex,
    /// Which of its numbers.
    pub part: Part,
}

/// A number of an observer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A number that it has itself, by name.
    Level(&'static str),
    /// The growth of such a number, per second.
    Rate(&'static str),
    /// This percentile of the recent values.
    Recent(u8),
    /// The allocation rate of a site.
    SiteRate(String),
    /// The live bytes of a site.
    SiteLive(String),
}

/// The least time over which rates are computed, in nanoseconds: shorter ones fluctuate.
const RATE_OVER: u64 = 2_000_000_000;
/// How far back values of a distribution count as recent, in nanoseconds.
pub const RECENT: u64 = 60_000_000_000;
/// The same for lines, which show more than one moment anyway.
const RECENT_IN_LINES: u64 = 5_000_000_000;

impl Measure {
    /// The most interesting number of an observer.
    pub fn of(place: ObserverIndex, series: &Series, at: u64) -> Option<Measure> {
        let parts = parts(series, at);
        parts.into_iter().next().map(|part| Measure { place, part })
    }

    /// Its value at a moment, if it had one.
    pub fn at(&self, database: &Database, at: u64) -> Option<f64> {
        let series = self.place.series(database)?;
        if series.is_past(at) || at < database.first() {
            return None;
        }
        match &self.part {
            Part::Level(name) => level(series.at(at)?.1, name),
            Part::Rate(name) => rate(database, series, name, at),
            Part::Recent(percent) => {
                let recent = recent(series, at, RECENT_IN_LINES)?;
                (recent.count() > 0).then(|| recent.percentile(f64::from(*percent)) as f64)
            }
            Part::SiteRate(name) => site(series, name, at).map(|site| site.rate),
            Part::SiteLive(name) => site(series, name, at).map(|site| site.live),
        }
    }

    /// The unit of its values.
    pub fn unit(&self, database: &Database) -> Unit {
        let Some(series) = self.place.series(database) else { return Unit::None };
        match &self.part {
            Part::Level(name) | Part::Rate(name) => unit_of(series, name),
            Part::Recent(_) => unit_of(series, "p50"),
            Part::SiteRate(_) | Part::SiteLive(_) => Unit::Bytes,
        }
    }

    /// Whether it is a rate per second.
    pub fn is_rate(&self) -> bool {
        matches!(self.part, Part::Rate(_) | Part::SiteRate(_))
    }

    /// A value with its unit, for people.
    pub fn show(&self, database: &Database, value: f64) -> String {
        let unit = self.unit(database);
        if self.is_rate() { numbers::show_rate(unit, value) } else { numbers::show(unit, value) }
    }

    /// Its title.
    pub fn title(&self, database: &Database) -> String {
        let name = self.place.series(database).map(full_name).unwrap_or_default();
        match &self.part {
            part @ (Part::SiteRate(_) | Part::SiteLive(_)) => part.name(),
            part => match part.name().as_str() {
                "" => name,
                part => format!("{name} {part}"),
            },
        }
    }
}

impl Part {
    /// Its name, to be shown beside the observer's name.
    pub fn name(&self) -> String {
        match self {
            Part::Level(name) => said(name).to_owned(),
            Part::Rate("nanos") => "share of time".to_owned(),
            Part::Rate("") => "per second".to_owned(),
            Part::Rate(name) => format!("{} per second", said(name)),
            Part::Recent(percent) => format!("recent p{percent}"),
            Part::SiteRate(site) => format!("rate of {site}"),
            Part::SiteLive(site) => format!("live of {site}"),
        }
    }
}

fn said(name: &str) -> &str {
    if name == "nanos" { "time" } else { name }
}

/// An observer's name with its labels.
pub fn full_name(series: &Series) -> String {
    let declaration = &series.declaration;
    if declaration.labels.is_empty() {
        return declaration.name.clone();
    }
    let labels = declaration.labels.iter().map(|(key, value)| format!("{key}={value}"));
    format!("{}{{{}}}", declaration.name, labels.collect::<Vec<_>>().join(","))
}

/// Everything that can be drawn of an observer, the most interesting first.
pub fn parts(series: &Series, at: u64) -> Vec<Part> {
    let names: Vec<&'static str> = match series.at(at) {
        Some((_, value)) => value.numbers().into_iter().map(|(name, _)| name).collect(),
        None => Vec::new(),
    };
    let levels = names.iter().map(|name| Part::Level(name));
    match series.declaration.kind {
        ObserverKind::Point | ObserverKind::Counter => {
            names.iter().map(|name| Part::Rate(name)).chain(levels).collect()
        }
        ObserverKind::Time => {
            let rates = names.iter().map(|name| Part::Rate(name));
            rates.chain(levels).collect()
        }
        ObserverKind::Histogram | ObserverKind::Span if !names.is_empty() => {
            let recent = [99, 90, 50].map(Part::Recent);
            recent.into_iter().chain([Part::Rate("count")]).chain(levels).collect()
        }
        _ => levels.collect(),
    }
}

/// The unit of one of an observer's numbers.
pub fn unit_of(series: &Series, name: &str) -> Unit {
    match name {
        "nanos" => Unit::Nanos,
        "bytes" => Unit::Bytes,
        "fill" | "count" | "runs" | "open" | "nodes" | "sites" => Unit::None,
        _ if series.declaration.kind == ObserverKind::Span => Unit::Nanos,
        _ => series.declaration.unit,
    }
}

fn level(value: &Value, name: &str) -> Option<f64> {
    value.numbers().into_iter().find(|(it, _)| *it == name).map(|(_, number)| number)
}

/// The recent growth of one of an observer's numbers, per second.
pub fn rate(database: &Database, series: &Series, name: &str, at: u64) -> Option<f64> {
    let over = RATE_OVER.max(3_000_000 * u64::from(series.declaration.period_ms));
    let now = level(series.at(at)?.1, name)?;
    // Nothing is known before the first value, so growth is measured from there.
    let first = series.values().next().map_or(0, |(time, _)| time);
    let before = at.saturating_sub(over).max(database.first()).max(first);
    let then = level(series.at(before)?.1, name)?;
    per_second(now - then, before, at)
}

/// The growth per second between two moments.
pub fn per_second(growth: f64, from: u64, to: u64) -> Option<f64> {
    (to > from).then(|| growth * 1e9 / (to - from) as f64)
}

/// The number of processors that the program has kept busy recently, on average.
pub fn cpu_share(database: &Database, at: u64) -> Option<f64> {
    let before = at.saturating_sub(RATE_OVER).max(database.first());
    let (now, then) = (database.cpu_at(at)?, database.cpu_at(before)?);
    let share = per_second(now.saturating_sub(then) as f64, before, at)?;
    // Programs that do not report processor time always have 0.
    (now > 0).then_some(share / 1e9)
}

/// The fraction of its domains' time that the program spent in the collector, within `over` nanoseconds
/// before a moment.
pub fn collector_share(database: &Database, at: u64, over: u64) -> Option<f64> {
    let pauses = || database.named_at(names::PAUSES, at);
    let series = database.named_at(names::COLLECTOR_TIME, at).or_else(pauses)?;
    // Older recordings contain only the pauses.
    let nanos = |time: u64| match series.at(time)?.1 {
        Value::Histogram(pauses) => Some(pauses.sum() as f64),
        value => level(value, ""),
    };
    let before = at.saturating_sub(over).max(database.first());
    let grown = nanos(at)? - nanos(before).unwrap_or(0.0);
    let domains = database.named_at(names::DOMAINS, at).and_then(|series| series.at(at));
    let domains = domains.and_then(|(_, value)| level(value, "")).unwrap_or(1.0).max(1.0);
    Some(per_second(grown, before, at)? / 1e9 / domains)
}

fn distribution(value: &Value) -> Option<&Histogram> {
    match value {
        Value::Histogram(histogram) | Value::Span { durations: histogram, .. } => Some(histogram),
        _ => None,
    }
}

/// What was recorded within `over` nanoseconds before a moment.
pub fn recent(series: &Series, at: u64, over: u64) -> Option<Histogram> {
    let now = distribution(series.at(at)?.1)?;
    let before = series.at(at.saturating_sub(over)).and_then(|(_, value)| distribution(value));
    Some(before.map_or_else(|| now.clone(), |before| now.since(before)))
}

fn site<'a>(series: &'a Series, name: &str, at: u64) -> Option<&'a Site> {
    match series.at(at)?.1 {
        Value::Sites(sites) => sites.iter().find(|site| site.name == name),
        _ => None,
    }
}

/// Values at the ends of equal steps up to a moment. Steps are aligned to the program's start, so that a
/// moving line shifts instead of being resampled at other moments each time.
pub fn sample(
    step: u64,
    count: usize,
    up_to: u64,
    value: impl Fn(u64) -> Option<f64>,
) -> Vec<Option<f64>> {
    let step = step.max(1);
    let last = up_to / step;
    let moments = (0..count as u64).rev().map(|back| match back {
        0 => Some(up_to),
        _ => last.checked_sub(back - 1).map(|number| number * step),
    });
    moments.map(|moment| moment.and_then(&value)).collect()
}
