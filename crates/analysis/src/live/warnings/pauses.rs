//! Warnings about the time of garbage collection.

use bactrian_live::{Database, Histogram, Unit, Value, names};

use super::Warning;
use crate::live::measure::collector_share;
use crate::live::numbers::{show, show_span};
use crate::units::show_share;

/// How far back counts as recent, in nanoseconds.
const RECENT: u64 = 60_000_000_000;
/// Fewer pauses permit no conclusion.
const FEWEST: u64 = 100;
/// The duration of a pause that users notice, in nanoseconds.
const LONG: u64 = 10_000_000;
/// The fraction of the time that is too much.
const MUCH: f64 = 0.25;

/// The pauses of the last minute, and when that minute began.
fn recent(database: &Database, at: u64) -> Option<(u64, Histogram)> {
    let series = database.named_at(names::PAUSES, at)?;
    let of = |time| match series.at(time) {
        Some((_, Value::Histogram(histogram))) => Some(histogram),
        _ => None,
    };
    let since = at.saturating_sub(RECENT).max(database.first());
    let now = of(at)?;
    let recent = of(since).map_or_else(|| now.clone(), |before| now.since(before));
    (recent.count() >= FEWEST).then_some((since, recent))
}

/// One pause in a hundred is long.
pub fn long_pauses(database: &Database, at: u64) -> Vec<Warning> {
    let Some((since, pauses)) = recent(database, at) else { return Vec::new() };
    let p99 = pauses.percentile(99.0);
    if p99 <= LONG {
        return Vec::new();
    }
    let sentence = format!(
        "pauses are long: p99 {}, longest {} (of {} in {})",
        show(Unit::Nanos, p99 as f64),
        show(Unit::Nanos, pauses.max() as f64),
        pauses.count(),
        show_span(at - since),
    );
    let advice = "Minor heaps with many survivors, or long slices of the major collector. Look \
        at the promotion rate in the view of the GC; a smaller space_overhead spreads the work, \
        less promotion reduces it.";
    vec![Warning {
        name: "long pauses",
        subject: names::PAUSES.to_owned(),
        since,
        sentence,
        advice,
    }]
}

/// Garbage collection takes much of the time.
pub fn time_in_the_collector(database: &Database, at: u64) -> Vec<Warning> {
    let Some((since, _)) = recent(database, at) else { return Vec::new() };
    let Some(share) = collector_share(database, at, RECENT).filter(|share| *share > MUCH) else {
        return Vec::new();
    };
    let sentence = format!(
        "{} of the time goes into collections (in the last {})",
        show_share(share),
        show_span(at - since),
    );
    let advice = "The program allocates a lot, or the collector is set to save memory. The view \
        of sites shows where it allocates; a larger minor heap and a larger space_overhead trade \
        memory for time.";
    vec![Warning {
        name: "time in the collector",
        subject: names::PAUSES.to_owned(),
        since,
        sentence,
        advice,
    }]
}
