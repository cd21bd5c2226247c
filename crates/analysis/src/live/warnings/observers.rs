//! Warnings about the program's own observers.

use bactrian_live::{Database, ObserverKind, Series, Table, Unit, Value, names};

use super::Warning;
use super::trend::growth;
use crate::live::numbers::{show, show_rate, show_span};

/// Smaller growth is not worth a warning.
const LEAST_BINDINGS: f64 = 1000.0;
const LEAST_TAGGED: f64 = 100.0;
/// Chains that arise by chance are shorter than this, whatever the size of a table.
const LONG_CHAIN: u64 = 24;
/// And a chain is suspicious only if it is this many times as long as the mean.
const UNEVEN: f64 = 8.0;
/// OCaml hash tables grow when there are twice as many bindings as buckets; a table with more bindings per
/// bucket than this does not grow.
const CROWDED: f64 = 6.0;

/// How an observer grows, in words, and since when.
fn grown(
    database: &Database,
    series: &Series,
    at: u64,
    least: f64,
    number: fn(&Value) -> Option<f64>,
) -> Option<(u64, String)> {
    let grows = growth(database, series, at, least, number)?;
    let how = format!(
        "{} for {}, now {}",
        show_rate(Unit::None, grows.per_second),
        show_span(grows.until - grows.since),
        show(Unit::None, grows.level)
    );
    Some((grows.since, how))
}

/// A table with a growing number of bindings.
pub fn growing_table(database: &Database, series: &Series, at: u64) -> Option<Warning> {
    let bindings = |value: &Value| match value {
        Value::Table(table) => Some(table.bindings as f64),
        _ => None,
    };
    if series.declaration.kind != ObserverKind::Table {
        return None;
    }
    let (since, how) = grown(database, series, at, LEAST_BINDINGS, bindings)?;
    let subject = series.declaration.name.clone();
    let sentence = format!("table {subject} only grows: {how}");
    let advice = "What is added is never removed. If it is a cache, give it a bound, or keep its keys weakly \
                  (Ephemeron).";
    Some(Warning { name: "growing table", subject, since, sentence, advice })
}

/// A growing number of tagged values.
pub fn growing_tag(database: &Database, series: &Series, at: u64) -> Option<Warning> {
    let count = |value: &Value| match value {
        Value::Tag { count, .. } => count.map(|count| count as f64),
        _ => None,
    };
    if series.declaration.kind != ObserverKind::Tag {
        return None;
    }
    let (since, how) = grown(database, series, at, LEAST_TAGGED, count)?;
    let subject = series.declaration.name.clone();
    let sentence = format!("tag {subject} only grows: {how}");
    let advice = "Something holds these values. A snapshot (h) and `bactrian heap paths` show \
        what.";
    Some(Warning { name: "growing tag", subject, since, sentence, advice })
}

/// A table with slow lookups.
pub fn long_chains(_: &Database, series: &Series, at: u64) -> Option<Warning> {
    let (since, Value::Table(table)) = series.at(at)? else { return None };
    let Table { buckets, bindings, longest, .. } = *table;
    let mean = bindings as f64 / buckets.max(1) as f64;
    let is_long = longest > LONG_CHAIN && longest as f64 > UNEVEN * mean.max(1.0);
    let is_crowded = bindings > 64 && mean > CROWDED;
    let name = &series.declaration.name;
    let (sentence, advice) = if is_crowded {
        let sentence =
            format!("table {name} is too small: {mean:.1} bindings for each of {buckets} buckets");
        (
            sentence,
            "It cannot grow: Hashtbl.add while it is iterated over, or a table of a fixed size. Create \
                        it larger.",
        )
    } else if is_long {
        let sentence = format!(
            "table {name} is badly spread: {longest} of {bindings} bindings in one of {buckets} buckets"
        );
        (
            sentence,
            "Many keys have the same hash, or one key has many bindings (Hashtbl.add instead of \
                        Hashtbl.replace). Hashtbl.hash looks at ten meaningful words of a key only.",
        )
    } else {
        return None;
    };
    Some(Warning { name: "long chains", subject: name.clone(), since, sentence, advice })
}

/// An observer that cannot be evaluated.
pub fn failing(_: &Database, series: &Series, at: u64) -> Option<Warning> {
    let subject = series.declaration.name.clone();
    // Numbers that could not be measured from outside are reported where they would be shown.
    let (since, Value::Failed(reason)) = series.at(at).filter(|_| !names::is_reserved(&subject))?
    else {
        return None;
    };
    let advice = "It raised an exception when it was evaluated, which does not affect the \
        program. It is evaluated again and may recover.";
    let sentence = format!("observer {subject} fails: {reason}");
    Some(Warning { name: "failing observer", subject, since, sentence, advice })
}
