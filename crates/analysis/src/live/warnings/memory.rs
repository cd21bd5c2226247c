//! Warnings about memory as a whole.

use bactrian_live::{Database, Unit, Value, names};

use super::Warning;
use super::trend::growth;
use crate::live::numbers::{show, show_rate, show_span};

/// Growth of less is not worth a word.
const LEAST_GROWTH: f64 = 1e6;
/// Memory beside the heap is much if it is more than the heap and than this.
const MUCH_OUTSIDE: f64 = 100e6;

fn number(value: &Value) -> Option<f64> {
    value.numbers().into_iter().next().map(|(_, number)| number)
}

/// What is alive after collections grows and grows.
pub fn rising_live_size(database: &Database, at: u64) -> Vec<Warning> {
    let Some(series) = database.named_at(names::LIVE, at) else { return Vec::new() };
    let Some(grows) = growth(database, series, at, LEAST_GROWTH, number) else { return Vec::new() };
    let doubles = (grows.level / grows.per_second * 1e9) as u64;
    let sentence = format!(
        "live memory grows: {} for {}, now {}; doubles every {}",
        show_rate(Unit::Bytes, grows.per_second),
        show_span(grows.until - grows.since),
        show(Unit::Bytes, grows.level),
        show_span(doubles),
    );
    let advice = "Something is kept that is not needed any more. The view of sites shows which places of \
                  allocation hold more and more; two snapshots (h) and `bactrian heap diff` show by whom.";
    vec![Warning {
        name: "rising live size",
        subject: names::LIVE.to_owned(),
        since: grows.since,
        sentence,
        advice,
    }]
}

/// The system sees much more memory than the heap has.
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
    let sentence = format!(
        "{} of memory are not OCaml's heap: the process has {}, the heap {}",
        show(Unit::Bytes, outside),
        show(Unit::Bytes, rss),
        show(Unit::Bytes, heap),
    );
    let advice = "Bigarrays, C libraries, stacks of threads, or a heap that was larger once and was not given \
                  back. Gc.compact gives back what is free; what remains is outside OCaml.";
    vec![Warning {
        name: "memory outside the heap",
        subject: names::RSS.to_owned(),
        since,
        sentence,
        advice,
    }]
}
