//! Warnings about data that was lost.

use bactrian_live::{Database, Value, names};

use super::Warning;
use crate::units::show_number;

/// How far back counts as recent, in nanoseconds.
const RECENT: u64 = 60_000_000_000;

/// The runtime wrote events faster than they were read.
pub fn lost_events(database: &Database, at: u64) -> Vec<Warning> {
    let Some(series) = database.named_at(names::LOST_EVENTS, at) else { return Vec::new() };
    let count = |time| match series.at(time) {
        Some((_, Value::Count(count))) => *count,
        _ => 0,
    };
    let since = at.saturating_sub(RECENT).max(database.first());
    let lost = count(at).saturating_sub(count(since));
    if lost == 0 {
        return Vec::new();
    }
    let sentence = format!(
        "{} of the runtime were lost in the last minute: pauses and counts are too low",
        show_number(lost, "event")
    );
    let advice = "The ring buffer of runtime events was overwritten before it was read. Make it \
        larger: \
                  OCAMLRUNPARAM=e=20 (words per domain, as a power of two).";
    vec![Warning {
        name: "lost events",
        subject: names::LOST_EVENTS.to_owned(),
        since,
        sentence,
        advice,
    }]
}

/// This client was too slow.
pub fn dropped_moments(database: &Database, at: u64) -> Vec<Warning> {
    let dropped = database.dropped();
    // The time of the losses is not known, so the warning is given for the present only.
    if (dropped.ticks == 0 && dropped.lines == 0) || at < database.last() {
        return Vec::new();
    }
    let sentence = format!(
        "{} and {} of the log did not arrive here",
        show_number(dropped.ticks, "moment"),
        show_number(dropped.lines, "line")
    );
    let advice = "The connection is too slow for the data that the program sends. Observe less, \
        or less often (r).";
    vec![Warning { name: "dropped moments", subject: String::new(), since: at, sentence, advice }]
}
