//! A profile as rows.

use std::io;
use std::sync::Arc;

use bactrian_tables::schema::{self, Table};
use bactrian_tables::{Columns, Scan, Sink, Tables, Values};
use bactrian_trace::{Recorder, TraceInfo};

use crate::layout::Run;
use crate::origin::Origin;
use crate::profiler::{Counts, FrameText, NewStack, Profile};

/// The tables of a profile.
pub struct ProfileTables<'p> {
    profile: &'p Profile,
    run: &'p Run,
    origin: &'p Origin,
    rate: f64,
    ocaml: Option<Arc<str>>,
}

impl<'p> ProfileTables<'p> {
    /// Of a profile of a run.
    pub fn new(
        profile: &'p Profile,
        run: &'p Run,
        origin: &'p Origin,
        info: Option<&TraceInfo>,
    ) -> ProfileTables<'p> {
        let rate = info.map_or(f64::NAN, |info| info.sample_rate);
        let recorder = info.and_then(|info| Recorder::parse(&info.context));
        let ocaml = recorder.map(|recorder| recorder.ocaml.into());
        ProfileTables { profile, run, origin, rate, ocaml }
    }

    fn samples(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let rows: Vec<(&i64, &Counts)> = self.profile.counts.iter().collect();
        let all = |text: &str| {
            let text: Arc<str> = text.into();
            Values::text(rows.iter().map(|_| Some(Arc::clone(&text))))
        };
        let same = |number: u64| Values::whole(rows.iter().map(|_| Some(number)));
        let count = |of: fn(&Counts) -> u64| Values::whole(rows.iter().map(|row| Some(of(row.1))));
        let version: Option<Arc<str>> = self.origin.version.as_deref().map(Arc::from);
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("time", || same(self.profile.minute * 60))
                .next("service", || all(&self.origin.service))
                .next("version", || Values::text(rows.iter().map(|_| version.clone())))
                .next("host", || all(&self.run.host))
                .next("pid", || same(self.run.pid))
                .next("start", || same(self.run.start / 1_000_000))
                .next("build_id", || all(&self.origin.build_id))
                .next("ocaml", || Values::text(rows.iter().map(|_| self.ocaml.clone())))
                .next("labels", || all(&self.origin.labels()))
                .next("stack_id", || Values::Whole(rows.iter().map(|row| Some(*row.0)).collect()))
                .next("rate", || Values::Real(rows.iter().map(|_| Some(self.rate)).collect()))
                .next("blocks", || count(|it| it.blocks))
                .next("samples", || count(|it| it.samples))
                .next("promoted", || count(|it| it.promoted))
                .next("live_blocks", || count(|it| it.live_blocks))
                .next("live", || count(|it| it.live))
        })
    }

    fn stacks(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let rows = &self.profile.new_stacks;
        let leaf = |stack: &NewStack| stack.frames.first().cloned();
        let text = |of: fn(FrameText) -> String| {
            let texts = rows.iter().map(|row| leaf(row).map(of).filter(|it| !it.is_empty()));
            Values::text(texts.map(|text| text.map(Arc::from)))
        };
        let line = |frame: FrameText| (frame.line > 0).then(|| u64::from(frame.line));
        let frame = |FrameText { function, file, line }: &FrameText| match line {
            0 => function.clone(),
            line => format!("{function} {file}:{line}"),
        };
        let frames = |row: &NewStack| row.frames.iter().map(frame).collect::<Vec<_>>().join("\n");
        let build: Arc<str> = self.origin.build_id.as_str().into();
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("stack_id", || Values::Whole(rows.iter().map(|row| Some(row.id)).collect()))
                .next("build_id", || Values::text(rows.iter().map(|_| Some(Arc::clone(&build)))))
                .next("leaf", || text(|frame| frame.function))
                .next("file", || text(|frame| frame.file))
                .next("line", || Values::whole(rows.iter().map(|row| leaf(row).and_then(line))))
                .next("frames", || Values::text(rows.iter().map(|row| Some(frames(row).into()))))
        })
    }
}

impl Tables for ProfileTables<'_> {
    fn tables(&self) -> &'static [&'static Table] {
        schema::OF_FLEETS
    }

    fn has_parts(&self, _: &Table) -> bool {
        false
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        match scan.table.name {
            _ if scan.part.index > 0 => Ok(()),
            "samples" => self.samples(scan, sink),
            "stacks" => self.stacks(scan, sink),
            name => Err(io::Error::other(format!("a profile has no table {name}"))),
        }
    }
}
