//! The answers about a fleet in the terminal: first what stands out, then tables.

use std::io::Write;

use bactrian_analysis::live::words::plain;
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_fleet::questions::Window;
use bactrian_trace::Micros;
use serde_json::Value;

use super::Answers;
use super::findings::{Finding, number, site, text};
use crate::engine::Row;
use crate::failure::Failure;
use crate::output::{Align, Console, HEADING, INTERVAL, Table, show_date, show_number, visible};

pub fn print_overview(
    window: &Window,
    totals: &Row,
    answers: &Answers,
    findings: &[Finding],
    console: &mut Console,
) -> Result<(), Failure> {
    let rows = |name: &str| answers.get(name).map_or(&[][..], Vec::as_slice);
    let total = |column: &str| number(totals, column) as u64;
    writeln!(
        console.out(),
        "{}, {}, {}; {} from {} to {}",
        show_number(total("services"), "service"),
        show_number(total("hosts"), "host"),
        show_number(total("builds"), "build"),
        show_number(total("profiles"), "profile"),
        show_date(window.begin as f64),
        show_date(window.end as f64)
    )?;
    writeln!(console.out(), "\n{HEADING}What stands out{HEADING:#}")?;
    for finding in findings {
        writeln!(console.out(), "- {}", visible(&finding.sentence))?;
    }
    if findings.is_empty() {
        writeln!(
            console.out(),
            "nothing: no site grows, and no build and no host differs, by more than chance"
        )?;
    }
    let mut services = Table::new(&[
        ("hosts", Align::Right),
        ("builds", Align::Right),
        ("allocated/min", Align::Right),
        ("held", Align::Right),
        ("service", Align::Left),
    ]);
    for row in rows("services") {
        services.row(vec![
            number(row, "hosts").to_string(),
            number(row, "builds").to_string(),
            show_bytes(number(row, "allocated_per_minute")),
            show_bytes(number(row, "live")),
            text(row, "service").to_owned(),
        ]);
    }
    services.print_apart(console)?;
    let mut sites = Table::new(&[
        ("held", Align::Right),
        (INTERVAL, Align::Right),
        ("hosts", Align::Right),
        ("service", Align::Left),
        ("allocated in", Align::Left),
    ]);
    for row in rows("live_sites").iter().take(12) {
        let live = number(row, "live");
        sites.row(vec![
            show_bytes(live),
            format!("±{:.1} %", 196.0 * number(row, "error") / live),
            number(row, "hosts").to_string(),
            text(row, "service").to_owned(),
            site(row),
        ]);
    }
    sites.print_apart(console)?;
    let mut classes = Table::new(&[
        ("in heaps", Align::Right),
        ("retained", Align::Right),
        ("hosts", Align::Right),
        ("service", Align::Left),
        ("class", Align::Left),
    ]);
    for row in rows("held_classes").iter().take(8) {
        classes.row(vec![
            show_bytes(number(row, "bytes")),
            show_bytes(number(row, "retained")),
            number(row, "hosts").to_string(),
            text(row, "service").to_owned(),
            text(row, "class").to_owned(),
        ]);
    }
    if !rows("held_classes").is_empty() {
        classes.print_apart(console)?;
    }
    Ok(())
}

/// The programs of one host, the command that shows each trace there, and what they hold.
pub fn print_host(host: &str, answers: &Answers, console: &mut Console) -> Result<(), Failure> {
    let rows = |name: &str| answers.get(name).map_or(&[][..], Vec::as_slice);
    if rows("host_runs").is_empty() {
        writeln!(
            console.out(),
            "{}: there are no profiles of this host in this time",
            plain(host)
        )?;
        return Ok(());
    }
    for run in rows("host_runs") {
        writeln!(
            console.out(),
            "{HEADING}{}{HEADING:#}, process {} since {}, build {}{}{}",
            plain(text(run, "service")),
            number(run, "pid"),
            show_date(number(run, "start")),
            plain(text(run, "build_id")),
            said(run, "version", ", version "),
            said(run, "ocaml", ", OCaml ")
        )?;
        let sizes = [("held", "held by sampled sites"), ("heap", "heap"), ("rss", "in memory")];
        let sizes = sizes.iter().filter(|(name, _)| run.get(*name).is_some_and(|it| !it.is_null()));
        let sizes: Vec<String> =
            sizes.map(|(name, what)| format!("{} {what}", show_bytes(number(run, name)))).collect();
        writeln!(
            console.out(),
            "  {}; {} allocated a minute, {}",
            sizes.join(", "),
            show_bytes(number(run, "allocated_per_minute")),
            show_number(number(run, "minutes") as u64, "profile")
        )?;
        match text(run, "trace") {
            "" => writeln!(console.out(), "  the path of its trace is not in the store")?,
            _ => writeln!(console.out(), "  on {}: {}", plain(host), text(run, "command"))?,
        }
    }
    let mut sites = Table::new(&[
        ("held", Align::Right),
        (INTERVAL, Align::Right),
        ("process", Align::Right),
        ("service", Align::Left),
        ("allocated in", Align::Left),
    ]);
    for row in rows("host_sites").iter().take(20) {
        let live = number(row, "live");
        sites.row(vec![
            show_bytes(live),
            format!("±{:.1} %", 196.0 * number(row, "error") / live),
            number(row, "pid").to_string(),
            text(row, "service").to_owned(),
            site(row),
        ]);
    }
    Ok(sites.print_apart(console)?)
}

/// The text of a column, preceded by `before`; nothing if the column is empty.
fn said(row: &Row, column: &str, before: &str) -> String {
    match text(row, column) {
        "" => String::new(),
        text => format!("{before}{}", plain(text)),
    }
}

/// Columns in seconds since 1970, counts, and other numbers. The remaining numbers are bytes.
const DATES: [&str; 3] = ["time", "since", "start"];
const COUNTS: [&str; 8] =
    ["hosts", "hosts_growing", "builds", "runs", "profiles", "blocks", "pid", "minutes"];
const PLAIN: [&str; 4] = ["line", "significance", "minor_per_minute", "major_per_minute"];

/// Prints any answer as a table with the names of its columns.
pub fn print_rows(rows: &[Row], console: &mut Console) -> Result<(), Failure> {
    let Some(first) = rows.first() else {
        writeln!(console.out(), "nothing")?;
        return Ok(());
    };
    let is_site = first.contains_key("file");
    let columns: Vec<&String> = first
        .keys()
        .filter(|name| !is_site || !["file", "line"].contains(&name.as_str()))
        .collect();
    let mut table = Table::named(columns.iter().map(|name| {
        let is_text = first[name.as_str()].is_string() || DATES.contains(&name.as_str());
        (name.replace('_', " ").into(), if is_text { Align::Left } else { Align::Right })
    }));
    for row in rows {
        let cell = |name: &&String| match &row[name.as_str()] {
            _ if is_site && *name == "leaf" => site(row),
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value if DATES.contains(&name.as_str()) => {
                show_date(value.as_f64().unwrap_or_default())
            }
            value if COUNTS.contains(&name.as_str()) => value.to_string(),
            value if PLAIN.contains(&name.as_str()) => {
                format!("{:.1}", value.as_f64().unwrap_or_default())
            }
            value if name.as_str() == "share_in_collector" => {
                format!("{:.2} %", 100.0 * value.as_f64().unwrap_or_default())
            }
            value if name.as_str() == "longest_pause" => {
                show_time(Micros((value.as_f64().unwrap_or_default() * 1e6) as u64))
            }
            value => show_bytes(value.as_f64().unwrap_or_default()),
        };
        table.row(columns.iter().map(cell).collect());
    }
    Ok(table.print(console)?)
}
