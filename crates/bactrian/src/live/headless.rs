//! What is known at the end, as text or JSON: for scripts, and where there is no terminal.

use std::io::{self, Write};

use bactrian_analysis::live::glance::GLANCES;
use bactrian_analysis::live::known::{known, show_kind};
use bactrian_analysis::live::memory_use::NOT_SEEN;
use bactrian_analysis::live::warnings::{self, Warning};
use bactrian_analysis::live::words::{plain, show_value};
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_live::{Database, Series, Value, names};
use bactrian_trace::Micros;
use serde_json::{Value as Json, json};

use crate::output::{Align, Console, FAINT, HEADING, Table, WARNING, print_json_of_live};

/// The most log lines printed.
const LINES: usize = 20;

/// Prints the data of a program as tables.
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
    // Observers of an earlier run are omitted, here as everywhere.
    let now = database.last();
    for series in database.series().filter(|series| database.is_known(series, now)) {
        let declaration = &series.declaration;
        if let Some(Value::Failed(why)) =
            series.latest().filter(|_| names::is_reserved(&declaration.name))
        {
            // Printed once, because the reason is the same for most of them.
            if !unknown.contains(&why.as_str()) {
                unknown.push(why);
            }
            continue;
        }
        let value = series
            .latest()
            .map_or("not known yet".to_owned(), |value| show_value(value, declaration.unit));
        let cells = vec![name(series), show_kind(declaration.kind).to_owned(), value];
        match series.latest() {
            Some(Value::Failed(_) | Value::Collected | Value::Killed) => table.faint(cells),
            _ => table.row(cells),
        }
    }
    table.print(console)?;
    for why in unknown {
        writeln!(console.out(), "{FAINT}some numbers are unknown: {}{FAINT:#}", plain(why))?;
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
            writeln!(console.out(), "{FAINT}{NOT_SEEN}{FAINT:#}")?;
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
        let what = format!("{} ticks and {} log lines were lost", dropped.ticks, dropped.lines);
        console.warn(&what)?;
    }
    Ok(())
}

/// A name with its labels.
fn name(series: &Series) -> String {
    let labels = series.declaration.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let labels: Vec<String> = labels.collect();
    let name = plain(&series.declaration.name);
    if labels.is_empty() { name } else { format!("{name} {{{}}}", plain(&labels.join(", "))) }
}

/// Prints several programs, one per line.
pub fn print_several<'d>(
    programs: impl Iterator<Item = (&'d Database, bool)>,
    console: &mut Console,
) -> io::Result<()> {
    let mut headings = vec![("process", Align::Right), ("program", Align::Left)];
    headings.extend(GLANCES.iter().map(|glance| (glance.title, Align::Right)));
    let mut table = Table::new(&headings);
    let mut known = Vec::new();
    for (database, is_up) in programs {
        let program = database.program();
        let mut cells = vec![program.pid.to_string(), plain(&program.name)];
        cells.extend(GLANCES.iter().map(|glance| glance.show(glance.of(database))));
        if is_up {
            table.row(cells)
        } else {
            table.faint(cells)
        }
        known.push((database, is_up));
    }
    let running = || known.iter().filter(|(_, is_up)| *is_up).map(|(database, _)| *database);
    let mut cells = vec![running().count().to_string(), "running".to_owned()];
    cells.extend(GLANCES.iter().map(|glance| {
        glance.of_all(running()).map_or(String::new(), |all| glance.show(Some(all)))
    }));
    table.styled(cells, HEADING);
    table.print(console)?;
    for (database, _) in known {
        for Warning { sentence, .. } in warnings::find(database, database.last()) {
            let pid = database.program().pid;
            writeln!(console.out(), "{WARNING}{pid}: {}{WARNING:#}", plain(&sentence))?;
        }
    }
    Ok(())
}

/// Prints the data of several programs as JSON.
pub fn print_json_of_several<'d>(
    programs: impl Iterator<Item = &'d Database>,
    console: &mut Console,
) -> io::Result<()> {
    let programs = programs.map(|database| -> io::Result<Json> {
        let numbers =
            GLANCES.iter().map(|glance| (glance.name.to_owned(), json!(glance.of(database))));
        let mut known = serde_json::to_value(known(database))?;
        known["glance"] = Json::Object(numbers.collect());
        Ok(known)
    });
    let programs = programs.collect::<io::Result<Vec<_>>>()?;
    print_json_of_live(console, &json!({ "programs": programs }))
}

/// Prints the data of a program as JSON.
pub fn print_json(database: &Database, console: &mut Console) -> io::Result<()> {
    print_json_of_live(console, &serde_json::to_value(known(database))?)
}
