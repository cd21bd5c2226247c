//! Warnings about the memory of the whole program.

use bactrian_live::{Database, Series, Unit, names};

use super::Warning;
use super::trend::{Growth, growth, growth_over};
use crate::live::memory_use::{NOT_SEEN, first_number as number, memory_use};
use crate::live::numbers::{show, show_rate, show_span};

/// Smaller growth is not worth a warning, in bytes.
const LEAST_GROWTH: f64 = 1e6;
/// Growth within seconds is worth a warning from this many bytes on.
const MUCH_GROWTH: f64 = 4e6;
/// These seconds, in nanoseconds.
const SECONDS: u64 = 8_000_000_000;
/// The number of major collections that must have completed meanwhile.
const COLLECTIONS: f64 = 3.0;
/// Memory outside the heap is much if it exceeds the heap and this many bytes.
const MUCH_OUTSIDE: f64 = 100e6;

/// Growth of the memory outside the heap that is worth a warning, in bytes.
const MUCH_MORE_OUTSIDE: f64 = 20e6;

/// The live size after collections grows steadily.
pub fn rising_live_size(database: &Database, at: u64) -> Vec<Warning> {
    let Some(series) = database.named_at(names::LIVE, at) else { return Vec::new() };
    let over_minutes = growth(database, series, at, LEAST_GROWTH, number);
    let Some(grows) = over_minutes.or_else(|| quick_growth(database, series, at)) else {
        return Vec::new();
    };
    let doubles = (grows.level / grows.per_second * 1e9) as u64;
    let sentence = format!(
        "live memory grows: {} for {}, now {}; doubles every {}",
        show_rate(Unit::Bytes, grows.per_second),
        show_span(grows.until - grows.since),
        show(Unit::Bytes, grows.level),
        show_span(doubles),
    );
    let advice = "Something is kept that is no longer needed. The view of sites shows the \
        allocation sites that grow; two snapshots (h) and `bactrian heap diff` show what holds \
        the memory.";
    vec![Warning {
        name: "rising live size",
        subject: names::LIVE.to_owned(),
        since: grows.since,
        sentence,
        advice,
    }]
}

/// Steady growth in the last seconds. Unless several major collections have completed meanwhile, it may be a part of one
/// slow sawtooth.
fn quick_growth(database: &Database, series: &Series, at: u64) -> Option<Growth> {
    let since = at.saturating_sub(SECONDS);
    let majors = database.named_at(names::MAJOR_COLLECTIONS, at)?;
    let counted = |time: u64| majors.at(time).and_then(|(_, value)| number(value));
    if counted(at)? - counted(since)? < COLLECTIONS {
        return None;
    }
    growth_over(SECONDS, database, series, at, MUCH_GROWTH, number)
}

/// The process grows, but the live size of its heap does not.
pub fn growing_outside_the_heap(database: &Database, at: u64) -> Vec<Warning> {
    let grows =
        |name| growth(database, database.named_at(name, at)?, at, MUCH_MORE_OUTSIDE, number);
    let Some(growth) = grows(names::RSS).filter(|_| grows(names::LIVE).is_none()) else {
        return Vec::new();
    };
    let before = memory_use(database, growth.since);
    let grown = memory_use(database, at).into_iter().map(|(title, now)| {
        let before = before.iter().find(|(it, _)| *it == title).map_or(0.0, |(_, bytes)| *bytes);
        (title, now - before)
    });
    let most = grown.filter(|(_, grown)| *grown > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    let what = most.map_or(String::new(), |(title, grown)| {
        format!("; most of it is {title}: {} more", show(Unit::Bytes, grown))
    });
    let sentence = format!(
        "the process grows while OCaml's live memory does not: {} for {}, now {}{what}",
        show_rate(Unit::Bytes, growth.per_second),
        show_span(growth.until - growth.since),
        show(Unit::Bytes, growth.level),
    );
    vec![Warning {
        name: "growing outside the heap",
        subject: names::RSS.to_owned(),
        since: growth.since,
        sentence,
        advice: NOT_SEEN,
    }]
}

/// The resident memory is much larger than the heap.
pub fn memory_outside_the_heap(database: &Database, at: u64) -> Vec<Warning> {
    let now = |name| {
        let (since, value) = database.named_at(name, at)?.at(at)?;
        Some((since, number(value)?))
    };
    let (Some((_, heap)), Some((since, rss))) = (now(names::HEAP), now(names::RSS)) else {
        return Vec::new();
    };
    let outside = rss - heap;
    if outside <= MUCH_OUTSIDE.max(heap) {
        return Vec::new();
    }
    let is_outside = |title: &str| !title.contains("heap");
    let most = memory_use(database, at).into_iter().filter(|(title, _)| is_outside(title));
    let most = most.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(String::new(), |(title, bytes)| {
        format!("; most of it is {title}: {}", show(Unit::Bytes, bytes))
    });
    let sentence = format!(
        "{} of memory are not OCaml's heap: the process has {}, the heap {}{most}",
        show(Unit::Bytes, outside),
        show(Unit::Bytes, rss),
        show(Unit::Bytes, heap),
    );
    let advice = "Bigarrays, C libraries, stacks of threads, or a heap that was larger before \
        and was not returned to the system. Gc.compact returns what is free; what remains is \
        outside OCaml.";
    vec![Warning {
        name: "memory outside the heap",
        subject: names::RSS.to_owned(),
        since,
        sentence,
        advice,
    }]
}
