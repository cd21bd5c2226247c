//! Warnings about what the program observes of itself.

use bactrian_live::{Database, Kind, Series, Table, Unit, Value, names};

use super::trend::growth;
use super::{Warning, there};
use crate::live::numbers::{show, show_rate, show_span};

/// Growth of less is not worth a word.
const LEAST_BINDINGS: f64 = 1000.0;
const LEAST_TAGGED: f64 = 100.0;
/// Chains as long as chance makes them are shorter than this, whatever the size of a table.
const LONG_CHAIN: u64 = 24;
/// And a chain is odd only if it is that many times as long as the mean one.
const UNEVEN: f64 = 8.0;
/// Hash tables of OCaml grow when they have twice as many bindings as buckets; one that has more than this
/// per bucket does not.
const CROWDED: f64 = 6.0;

fn grown(
    database: &Database,
    at: u64,
    kind: Kind,
    least: f64,
    number: fn(&Value) -> Option<f64>,
    warn: fn(&Series, String) -> (String, &'static str, &'static str),
) -> Vec<Warning> {
    let observers = there(database, at).filter(|series| series.declaration.kind == kind);
    let warning = |series: &Series| {
        let grows = growth(database, series, at, least, number)?;
        let how = format!(
            "{} for {}, now {}",
            show_rate(Unit::None, grows.per_second),
            show_span(grows.until - grows.since),
            show(Unit::None, grows.level)
        );
        let (sentence, name, advice) = warn(series, how);
        let subject = series.declaration.name.clone();
        Some(Warning { name, subject, since: grows.since, sentence, advice })
    };
    observers.filter_map(warning).collect()
}

/// Tables that get more and more bindings.
pub fn growing_tables(database: &Database, at: u64) -> Vec<Warning> {
    let bindings = |value: &Value| match value {
        Value::Table(table) => Some(table.bindings as f64),
        _ => None,
    };
    grown(database, at, Kind::Table, LEAST_BINDINGS, bindings, |series, how| {
        let sentence = format!("table {} only grows: {how}", series.declaration.name);
        let advice = "What is added is never removed. If it is a cache, give it a bound, or keep its keys weakly \
                      (Ephemeron).";
        (sentence, "growing table", advice)
    })
}

/// Marked values of which there are more and more.
pub fn growing_tags(database: &Database, at: u64) -> Vec<Warning> {
    let count = |value: &Value| match value {
        Value::Tag { count, .. } => count.map(|count| count as f64),
        _ => None,
    };
    grown(database, at, Kind::Tag, LEAST_TAGGED, count, |series, how| {
        let sentence = format!("tag {} only grows: {how}", series.declaration.name);
        let advice =
            "Something holds these values. A snapshot (h) and `bactrian heap path` show what.";
        (sentence, "growing tag", advice)
    })
}

/// Tables in which one looks for long.
pub fn long_chains(database: &Database, at: u64) -> Vec<Warning> {
    let warning = |series: &Series| {
        let (since, Value::Table(table)) = series.at(at)? else { return None };
        let Table { buckets, bindings, longest, .. } = *table;
        let mean = bindings as f64 / buckets.max(1) as f64;
        let is_long = longest > LONG_CHAIN && longest as f64 > UNEVEN * mean.max(1.0);
        let is_crowded = bindings > 64 && mean > CROWDED;
        let name = &series.declaration.name;
        let (sentence, advice) = if is_crowded {
            let sentence = format!(
                "table {name} is too small: {mean:.1} bindings for each of {buckets} buckets"
            );
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
    };
    there(database, at).filter_map(warning).collect()
}

/// Observers that cannot be evaluated.
pub fn failing(database: &Database, at: u64) -> Vec<Warning> {
    let advice = "It raised an exception when it was asked; the program is not disturbed by it. It is asked again \
                  and may come back.";
    // What is not known of a program from outside is said where it would be shown.
    let own = there(database, at).filter(|series| !names::is_reserved(&series.declaration.name));
    let fails = |series: &Series| match series.at(at) {
        Some((since, Value::Failed(reason))) => {
            let subject = series.declaration.name.clone();
            let sentence = format!("observer {subject} fails: {reason}");
            Some(Warning { name: "failing observer", subject, since, sentence, advice })
        }
        _ => None,
    };
    own.filter_map(fails).collect()
}
