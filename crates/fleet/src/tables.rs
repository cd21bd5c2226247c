//! A profile as rows.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bactrian_export::write_table;
use bactrian_tables::schema::{FLEET_STACKS, RUNTIME, SAMPLES, Table};
use bactrian_tables::{Columns, Scan, Sink, Tables, Values};

use crate::layout::Run;
use crate::meter::{PauseCounts, RuntimeCounts};
use crate::origin::Origin;
use crate::profiler::{Counts, FrameText, NewStack, Profile};
use crate::redact::Redact;
use crate::store::Store;

/// The facts about how a run was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The sampling rate: samples per allocated word.
    pub rate: f64,
    /// The version of OCaml, if the recorder knows it.
    pub ocaml: Option<String>,
    /// The trace.
    pub trace: Option<PathBuf>,
}

impl Profile {
    /// Puts it into a store. Each of its files appears completely or not at all.
    ///
    /// # Errors
    /// If the store cannot be written to.
    pub fn put(
        &self,
        store: &dyn Store,
        run: &Run,
        origin: &Origin,
        recorded: &Recorded,
    ) -> io::Result<()> {
        let tables = ProfileTables { profile: self, run, origin, recorded };
        // Stacks first, so that no samples are there without their stacks.
        if !self.new_stacks.is_empty() {
            let name = run.stacks(&origin.build_id, self.minute);
            store.put(&name, &tables.file(&FLEET_STACKS)?)?;
        }
        store.put(&run.samples(self.minute, self.end), &tables.file(&SAMPLES)?)?;
        store.put(&run.runtime(self.minute), &tables.file(&RUNTIME)?)
    }
}

/// The tables of a profile.
struct ProfileTables<'p> {
    profile: &'p Profile,
    run: &'p Run,
    origin: &'p Origin,
    recorded: &'p Recorded,
}

impl ProfileTables<'_> {
    fn file(&self, table: &Table) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        write_table(self, table, &mut bytes)?;
        Ok(bytes)
    }

    fn samples(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let rows: Vec<(&i64, &Counts)> = self.profile.counts.iter().collect();
        let all = |text: &str| {
            let text: Arc<str> = text.into();
            Values::text(rows.iter().map(|_| Some(Arc::clone(&text))))
        };
        let same = |number: u64| Values::whole(rows.iter().map(|_| Some(number)));
        let count = |of: fn(&Counts) -> u64| Values::whole(rows.iter().map(|row| Some(of(row.1))));
        let maybe = |text: Option<&str>| {
            let text: Option<Arc<str>> = text.map(Arc::from);
            Values::text(rows.iter().map(|_| text.clone()))
        };
        let Recorded { rate, ocaml, .. } = self.recorded;
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("time", || same(self.profile.minute * 60))
                .next("service", || all(&self.origin.service))
                .next("version", || maybe(self.origin.version.as_deref()))
                .next("host", || all(&self.run.host))
                .next("pid", || same(self.run.pid))
                .next("start", || same(self.run.start / 1_000_000))
                .next("build_id", || all(&self.origin.build_id))
                .next("ocaml", || maybe(ocaml.as_deref()))
                .next("labels", || all(&self.origin.labels()))
                .next("stack_id", || Values::Whole(rows.iter().map(|row| Some(*row.0)).collect()))
                .next("rate", || Values::Real(rows.iter().map(|_| Some(*rate)).collect()))
                .next("blocks", || count(|it| it.blocks))
                .next("samples", || count(|it| it.samples))
                .next("promoted", || count(|it| it.promoted))
                .next("live_blocks", || count(|it| it.live_blocks))
                .next("live", || count(|it| it.live))
        })
    }

    /// One row.
    fn runtime(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let text = |text: Option<&str>| Values::text([text.map(Arc::from)].into_iter());
        let whole = |number: Option<u64>| Values::whole([number].into_iter());
        let seconds = |time: Option<Duration>| Values::Real(vec![time.map(|it| it.as_secs_f64())]);
        let RuntimeCounts { heap, live, rss, time, pauses, .. } = self.profile.runtime;
        let counts = self.profile.runtime;
        let of_pauses = |of: fn(PauseCounts) -> Option<Duration>| seconds(pauses.and_then(of));
        let trace = self.recorded.trace.as_deref();
        let trace = trace.and_then(|trace| self.origin.redact.path(trace));
        Columns::offer(scan, sink, 1, |columns| {
            columns
                .next("time", || whole(Some(self.profile.minute * 60)))
                .next("service", || text(Some(&self.origin.service)))
                .next("version", || text(self.origin.version.as_deref()))
                .next("host", || text(Some(&self.run.host)))
                .next("pid", || whole(Some(self.run.pid)))
                .next("start", || whole(Some(self.run.start / 1_000_000)))
                .next("build_id", || text(Some(&self.origin.build_id)))
                .next("ocaml", || text(self.recorded.ocaml.as_deref()))
                .next("labels", || text(Some(&self.origin.labels())))
                .next("heap", || whole(heap))
                .next("live", || whole(live))
                .next("free", || {
                    whole(heap.zip(live).map(|(heap, live)| heap.saturating_sub(live)))
                })
                .next("rss", || whole(rss))
                .next("seconds", || seconds(time))
                .next("minor_collections", || whole(counts.minor_collections))
                .next("major_collections", || whole(counts.major_collections))
                .next("compactions", || whole(counts.compactions))
                .next("allocated_words", || whole(counts.allocated_words))
                .next("promoted_words", || whole(counts.promoted_words))
                .next("pauses", || whole(pauses.map(|pauses| pauses.count)))
                .next("pause_seconds", || of_pauses(|pauses| Some(pauses.sum)))
                .next("pause_median", || of_pauses(|pauses| pauses.median))
                .next("pause_max", || of_pauses(|pauses| pauses.longest))
                .next("trace", || text(trace.as_deref()))
        })
    }

    fn stacks(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let redact = self.origin.redact;
        let redacted = |stack: &NewStack| {
            let frames = stack.frames.iter().map(|frame| Arc::new(redact.frame(frame)));
            NewStack { id: stack.id, frames: frames.collect() }
        };
        let told: Vec<NewStack>;
        let rows = match redact {
            Redact::Nothing => &self.profile.new_stacks,
            _ => {
                told = self.profile.new_stacks.iter().map(redacted).collect();
                &told
            }
        };
        let text = |of: fn(&FrameText) -> &str| {
            let leaves = rows.iter().map(|row| row.frames.first());
            let texts = leaves.map(|leaf| leaf.map(|leaf| of(leaf)).filter(|it| !it.is_empty()));
            Values::text(texts.map(|text| text.map(Arc::from)))
        };
        let line = |row: &NewStack| {
            row.frames.first().filter(|leaf| leaf.line > 0).map(|leaf| u64::from(leaf.line))
        };
        let frames = |row: &NewStack| {
            let mut text = String::new();
            for FrameText { function, file, line } in row.frames.iter().map(|frame| &**frame) {
                text += if text.is_empty() { "" } else { "\n" };
                text += function;
                if *line > 0 {
                    let _ = write!(text, " {file}:{line}");
                }
            }
            text
        };
        let build: Arc<str> = self.origin.build_id.as_str().into();
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("stack_id", || Values::Whole(rows.iter().map(|row| Some(row.id)).collect()))
                .next("build_id", || Values::text(rows.iter().map(|_| Some(Arc::clone(&build)))))
                .next("leaf", || text(|frame| &frame.function))
                .next("file", || text(|frame| &frame.file))
                .next("line", || Values::whole(rows.iter().map(line)))
                .next("frames", || Values::text(rows.iter().map(|row| Some(frames(row).into()))))
        })
    }
}

impl Tables for ProfileTables<'_> {
    fn tables(&self) -> &'static [&'static Table] {
        &[&SAMPLES, &FLEET_STACKS, &RUNTIME]
    }

    fn has_parts(&self, _: &Table) -> bool {
        false
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        match scan.table.name {
            _ if scan.part.index > 0 => Ok(()),
            "samples" => self.samples(scan, sink),
            "stacks" => self.stacks(scan, sink),
            "runtime" => self.runtime(scan, sink),
            name => Err(io::Error::other(format!("a profile has no table {name}"))),
        }
    }
}
