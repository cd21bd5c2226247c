//! What is known in the end, as text or JSON: for scripts, and where there is no terminal.

use std::io::{self, Write};

use bactrian_analysis::live::warnings::{self, Warning};
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_live::{Database, Histogram, Series, Unit, Value, names};
use bactrian_trace::Micros;
use serde_json::{Value as Json, json};

use super::show::{plain, show_kind, show_value};
use crate::output::{Align, Console, FAINT, HEADING, Table, WARNING, print_json_of_live};

/// So many lines of the log are printed.
const LINES: usize = 20;

/// Prints a table of what is known.
pub fn print(database: &Database, console: &mut Console) -> io::Result<()> {
    let program = database.program();
    let time = show_time(Micros((database.last() - database.first()) / 1000));
    let runtime = if program.runtime.is_empty() {
        String::new()
    } else {
        format!(", {}", plain(&program.runtime))
    };
    writeln!(
        console.out(),
        "{HEADING}{}{HEADING:#}{runtime}: {time} observed",
        plain(&program.name)
    )?;
    if let Some((_, reason)) = database.ended() {
        writeln!(console.out(), "{}", plain(reason))?;
    }
    writeln!(console.out())?;
    let mut table =
        Table::new(&[("observer", Align::Left), ("kind", Align::Left), ("value", Align::Left)]);
    let mut unknown: Vec<&str> = Vec::new();
    for series in database.series() {
        let declaration = &series.declaration;
        if let Some(Value::Failed(why)) =
            series.latest().filter(|_| names::is_reserved(&declaration.name))
        {
            // Said once: it is the same for most of them.
            if !unknown.contains(&why.as_str()) {
                unknown.push(why);
            }
            continue;
        }
        let value = series
            .latest()
            .map_or("not told yet".to_owned(), |value| show_value(value, declaration.unit));
        let cells = vec![name(series), show_kind(declaration.kind).to_owned(), value];
        match series.latest() {
            Some(Value::Failed(_) | Value::Collected | Value::Killed) => table.faint(cells),
            _ => table.row(cells),
        }
    }
    table.print(console)?;
    for why in unknown {
        writeln!(console.out(), "{FAINT}not all numbers are known: {}{FAINT:#}", plain(why))?;
    }
    for series in database.series() {
        if let Some(Value::Sites(sites)) = series.latest() {
            let mut table = Table::new(&[
                ("live", Align::Right),
                ("per second", Align::Right),
                ("site", Align::Left),
            ]);
            for site in sites {
                table.row(vec![show_bytes(site.live), show_bytes(site.rate), plain(&site.name)]);
            }
            writeln!(console.out())?;
            table.print(console)?;
        }
    }
    let warnings = warnings::find(database, database.last());
    if !warnings.is_empty() {
        writeln!(console.out(), "\n{HEADING}warnings{HEADING:#}")?;
        for Warning { sentence, advice, .. } in warnings {
            writeln!(
                console.out(),
                "{WARNING}{}{WARNING:#} {FAINT}{advice}{FAINT:#}",
                plain(&sentence)
            )?;
        }
    }
    let log: Vec<(u64, &str)> = database.log().rev().take(LINES).collect();
    if !log.is_empty() {
        writeln!(console.out(), "\n{HEADING}log{HEADING:#}")?;
        for (time, line) in log.into_iter().rev() {
            writeln!(console.out(), "{:>9}  {}", show_time(Micros(time / 1000)), plain(line))?;
        }
    }
    let dropped = database.dropped();
    if dropped.ticks > 0 || dropped.lines > 0 {
        let what =
            format!("{} moments and {} lines were lost on the way", dropped.ticks, dropped.lines);
        console.warn(&what)?;
    }
    Ok(())
}

/// A name with what tells it apart from others of that name.
fn name(series: &Series) -> String {
    let labels = series.declaration.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let labels: Vec<String> = labels.collect();
    let name = plain(&series.declaration.name);
    if labels.is_empty() { name } else { format!("{name} {{{}}}", plain(&labels.join(", "))) }
}

/// Prints all that is known.
pub fn print_json(database: &Database, console: &mut Console) -> io::Result<()> {
    print_json_of_live(console, &json_of(database))
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn json_of(database: &Database) -> Json {
    let program = database.program();
    let line = |(time, text): (u64, &str)| json!({ "time": seconds(time), "text": text });
    let ended =
        database.ended().map(|(time, reason)| json!({ "time": seconds(time), "reason": reason }));
    let dropped = database.dropped();
    json!({
        "program": { "name": program.name, "pid": program.pid, "runtime": program.runtime },
        "from": seconds(database.first()),
        "to": seconds(database.last()),
        "cpu": database.cpu_at(database.last()).map(seconds),
        "ended": ended,
        "dropped": { "ticks": dropped.ticks, "lines": dropped.lines },
        "forgotten_values": database.forgotten(),
        "observers": database.series().map(observer).collect::<Vec<_>>(),
        "warnings": warnings::find(database, database.last()).iter().map(warning).collect::<Vec<_>>(),
        "log": database.log().map(line).collect::<Vec<_>>(),
        "markers": database.markers().map(line).collect::<Vec<_>>(),
    })
}

fn warning(warning: &Warning) -> Json {
    json!({
        "name": warning.name,
        "subject": warning.subject,
        "since": seconds(warning.since),
        "sentence": warning.sentence,
        "advice": warning.advice,
    })
}

fn observer(series: &Series) -> Json {
    let declaration = &series.declaration;
    let labels: serde_json::Map<String, Json> =
        declaration.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let unit = match declaration.unit {
        Unit::None => None,
        Unit::Bytes => Some("bytes"),
        Unit::Nanos => Some("nanoseconds"),
        Unit::Percent => Some("percent"),
    };
    let (state, value) = match series.latest() {
        None => ("unknown", Json::Null),
        Some(Value::Failed(why)) => ("failed", json!(why)),
        Some(Value::Collected) => ("collected", Json::Null),
        Some(Value::Killed) => ("killed", Json::Null),
        Some(value) => ("observed", value_json(value)),
    };
    json!({
        "name": declaration.name,
        "kind": show_kind(declaration.kind),
        "labels": labels,
        "unit": unit,
        "period_ms": declaration.period_ms,
        "changes": series.values().count(),
        "state": state,
        "value": value,
    })
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Count(count) => json!(count),
        Value::Elapsed { nanos, runs, running } => {
            json!({ "seconds": seconds(*nanos), "runs": runs, "running": running })
        }
        Value::Int(number) => json!(number),
        // What JSON has no number for is null.
        Value::Float(number) => json!(number),
        Value::Bool(truth) => json!(truth),
        Value::Text(text) | Value::Failed(text) => json!(text),
        Value::Tag { count, bytes } => json!({ "count": count, "bytes": bytes }),
        Value::Tree(tree) => {
            let node = |node: &bactrian_live::Node| json!({ "label": node.label, "children": node.children });
            json!({ "nodes": tree.nodes.iter().map(node).collect::<Vec<_>>() })
        }
        Value::Table(table) => json!({
            "buckets": table.buckets,
            "bindings": table.bindings,
            "empty": table.empty,
            "fill": table.fill(),
            "longest": table.longest,
        }),
        Value::Histogram(histogram) => histogram_json(histogram),
        Value::Span { open, durations } => {
            json!({ "open": open, "durations": histogram_json(durations) })
        }
        Value::Sites(sites) => {
            let site = |site: &bactrian_live::Site| {
                json!({
                    "name": site.name,
                    "bytes_per_second": site.rate,
                    "live_bytes": site.live,
                    "samples": site.samples,
                })
            };
            json!(sites.iter().map(site).collect::<Vec<_>>())
        }
        Value::Collected | Value::Killed => Json::Null,
    }
}

fn histogram_json(histogram: &Histogram) -> Json {
    json!({
        "count": histogram.count(),
        "sum": histogram.sum(),
        "min": histogram.min(),
        "max": histogram.max(),
        "p50": histogram.percentile(50.0),
        "p90": histogram.percentile(90.0),
        "p99": histogram.percentile(99.0),
        "p999": histogram.percentile(99.9),
    })
}
