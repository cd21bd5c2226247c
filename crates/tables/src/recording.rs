//! The table of a recording: every change of a number.

use std::io;
use std::sync::Arc;

use bactrian_analysis::live::known::show_kind;
use bactrian_analysis::live::measure::full_name;
use bactrian_live::{Database, Value};

use crate::batch::{Columns, Values};
use crate::schema::{self, Table};
use crate::{Scan, Sink, Tables};

const BATCH: usize = 1 << 16;

/// The table of a recording, or of a program that is being watched.
pub struct RecordingTables {
    database: Arc<Database>,
}

struct Row {
    time: f64,
    observer: Arc<str>,
    kind: Arc<str>,
    part: Arc<str>,
    value: Option<f64>,
    text: Option<Arc<str>>,
}

impl RecordingTables {
    /// The table of a database of live numbers.
    pub fn new(database: Arc<Database>) -> RecordingTables {
        RecordingTables { database }
    }

    fn values(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut rows: Vec<Row> = Vec::new();
        let mut offer = |rows: &mut Vec<Row>| {
            let text = |of: &dyn Fn(&Row) -> Option<Arc<str>>| Values::text(rows.iter().map(of));
            let real = |of: fn(&Row) -> Option<f64>| Values::Real(rows.iter().map(of).collect());
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("time", || real(|row| Some(row.time)))
                    .next("observer", || text(&|row| Some(Arc::clone(&row.observer))))
                    .next("kind", || text(&|row| Some(Arc::clone(&row.kind))))
                    .next("part", || text(&|row| Some(Arc::clone(&row.part))))
                    .next("value", || real(|row| row.value))
                    .next("text", || text(&|row| row.text.clone()))
            })?;
            rows.clear();
            Ok(())
        };
        for series in self.database.series() {
            let observer: Arc<str> = full_name(series).into();
            let kind: Arc<str> = show_kind(series.declaration.kind).into();
            for (time, value) in series.values() {
                let row = |part: &str, value: Option<f64>, text: Option<&str>| Row {
                    time: time as f64 / 1e9,
                    observer: Arc::clone(&observer),
                    kind: Arc::clone(&kind),
                    part: part.into(),
                    value,
                    text: text.map(Arc::from),
                };
                match value {
                    Value::Text(text) | Value::Failed(text) => rows.push(row("", None, Some(text))),
                    Value::Sites(sites) => rows.extend(sites.iter().flat_map(|site| {
                        [("live", site.live), ("rate", site.rate)]
                            .map(|(part, number)| row(part, Some(number), Some(&site.name)))
                    })),
                    value => rows.extend(
                        value.numbers().iter().map(|(part, number)| row(part, Some(*number), None)),
                    ),
                }
                if rows.len() >= BATCH {
                    offer(&mut rows)?;
                }
            }
        }
        if rows.is_empty() { Ok(()) } else { offer(&mut rows) }
    }
}

impl Tables for RecordingTables {
    fn tables(&self) -> &'static [&'static Table] {
        schema::OF_RECORDINGS
    }

    fn has_parts(&self, _: &Table) -> bool {
        false
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        match scan.table.name {
            _ if scan.part.index > 0 => Ok(()),
            "values" => self.values(scan, sink),
            name => Err(io::Error::other(format!("a recording has no table {name}"))),
        }
    }
}
