//! The tables of a trace. A first pass, without stacks, collects the ends of objects; a second one makes the
//! rows.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bactrian_analysis::TraceFile;
use bactrian_trace::{Event, FrameId, Frames, Losses, Micros, ObjectId, Stacks};
use bactrian_types::written;

use crate::batch::{Columns, Values};
use crate::schema::{self, OBJECTS, Table};
use crate::stack_numbers::StackNumbers;
use crate::{Scan, Sink, Tables};

const BATCH: usize = 1 << 16;

/// The tables of a trace.
pub struct TraceTables {
    trace: Arc<TraceFile>,
    losses: Mutex<Losses>,
}

/// When an object was promoted and collected; None if it was not.
#[derive(Clone, Copy, Default)]
struct Ends {
    promoted: Option<Micros>,
    collected: Option<Micros>,
}

/// A row of `objects`.
struct Object {
    id: u64,
    time: Micros,
    domain: u16,
    words: u64,
    samples: u64,
    heap: Arc<str>,
    stack: u32,
    ends: Ends,
}

/// A source location in the form that rows have.
#[derive(Clone)]
struct SourcePlace {
    function: Arc<str>,
    file: Option<Arc<str>>,
    line: Option<u64>,
}

/// The source locations of frames; of inlined functions the innermost is first.
#[derive(Default)]
struct Places {
    of: HashMap<FrameId, Arc<[SourcePlace]>>,
    texts: HashMap<String, Arc<str>>,
}

impl Places {
    fn of(&mut self, frame: FrameId, frames: &Frames) -> Arc<[SourcePlace]> {
        if let Some(known) = self.of.get(&frame) {
            return Arc::clone(known);
        }
        let names = frames.names();
        let mut text = |text: &str| match self.texts.get(text) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = text.into();
                self.texts.insert(text.to_owned(), Arc::clone(&new));
                new
            }
        };
        let locations = frames.locations(frame).iter().rev();
        let mut places: Vec<SourcePlace> = locations
            .map(|location| {
                let file = names.text(location.file);
                SourcePlace {
                    function: text(&written(&names.text(location.function))),
                    file: (!file.is_empty()).then(|| text(&file)),
                    line: (location.line > 0).then(|| location.line.into()),
                }
            })
            .collect();
        if places.is_empty() {
            let function = text(&format!("[{:#x}]", frames.code(frame)));
            places.push(SourcePlace { function, file: None, line: None });
        }
        let places: Arc<[SourcePlace]> = places.into();
        self.of.insert(frame, Arc::clone(&places));
        places
    }
}

impl TraceTables {
    /// The tables of a trace.
    pub fn new(trace: Arc<TraceFile>) -> TraceTables {
        TraceTables { trace, losses: Mutex::new(Losses::default()) }
    }

    /// What could not be read in the last scan.
    pub fn losses(&self) -> Losses {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, losses: Losses) {
        *self.losses.lock().unwrap_or_else(PoisonError::into_inner) = losses;
    }

    fn ends(&self) -> HashMap<ObjectId, Ends> {
        let mut ends: HashMap<ObjectId, Ends> = HashMap::new();
        let mut reader = self.trace.reader(Stacks::Skip);
        while let Some(event) = reader.next() {
            match event {
                Event::Alloc(_) => {}
                Event::Promote { time, id, .. } => {
                    ends.entry(id).or_default().promoted = Some(time)
                }
                Event::Collect { time, id, .. } => {
                    ends.entry(id).or_default().collected = Some(time);
                }
            }
        }
        ends
    }

    fn objects(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let needs_ends = OBJECTS.columns.iter().enumerate().any(|(place, column)| {
            ["promoted", "collected", "lifetime"].contains(&column.name) && scan.reads(place)
        });
        let ends = if needs_ends { self.ends() } else { HashMap::new() };
        let rate = self.trace.info().sample_rate;
        let mut heaps: HashMap<&'static str, Arc<str>> = HashMap::new();
        let mut numbers = StackNumbers::default();
        let mut rows: Vec<Object> = Vec::with_capacity(BATCH);
        let seconds = |time: Micros| time.0 as f64 / 1e6;
        let mut offer = |rows: &mut Vec<Object>| {
            let whole =
                |of: fn(&Object) -> u64| Values::whole(rows.iter().map(|row| Some(of(row))));
            let real =
                |of: &dyn Fn(&Object) -> Option<f64>| Values::Real(rows.iter().map(of).collect());
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("id", || whole(|row| row.id))
                    .next("time", || real(&|row| Some(seconds(row.time))))
                    .next("domain", || whole(|row| row.domain.into()))
                    .next("words", || whole(|row| row.words))
                    .next("samples", || whole(|row| row.samples))
                    .next("rate", || real(&|_| Some(rate)))
                    .next("heap", || {
                        Values::text(rows.iter().map(|row| Some(Arc::clone(&row.heap))))
                    })
                    .next("stack", || whole(|row| row.stack.into()))
                    .next("promoted", || real(&|row| row.ends.promoted.map(seconds)))
                    .next("collected", || real(&|row| row.ends.collected.map(seconds)))
                    .next("lifetime", || {
                        real(&|row| {
                            Some((seconds(row.ends.collected?) - seconds(row.time)).max(0.0))
                        })
                    })
            })?;
            rows.clear();
            Ok(())
        };
        let mut reader = self.trace.reader(Stacks::Decode);
        while let Some(event) = reader.next() {
            let Event::Alloc(alloc) = event else { continue };
            let stack = numbers.of(alloc.domain.0, alloc.common_prefix, alloc.stack);
            let heap = alloc.source.name();
            rows.push(Object {
                id: alloc.id.0,
                time: alloc.time,
                domain: alloc.domain.0,
                words: alloc.length.0,
                samples: alloc.samples,
                heap: Arc::clone(heaps.entry(heap).or_insert_with(|| heap.into())),
                stack,
                ends: ends.get(&alloc.id).copied().unwrap_or_default(),
            });
            if rows.len() >= BATCH {
                offer(&mut rows)?;
            }
        }
        self.note(reader.losses());
        if rows.is_empty() { Ok(()) } else { offer(&mut rows) }
    }

    /// The stacks of objects, with the frames that they refer to.
    fn stacks_read(&self) -> (StackNumbers, Frames) {
        let mut numbers = StackNumbers::default();
        let mut reader = self.trace.reader(Stacks::Decode);
        while let Some(event) = reader.next() {
            if let Event::Alloc(alloc) = event {
                numbers.of(alloc.domain.0, alloc.common_prefix, alloc.stack);
            }
        }
        self.note(reader.losses());
        (numbers, reader.into_frames())
    }

    fn stacks(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let (numbers, frames) = self.stacks_read();
        let mut places = Places::default();
        for stacks in numbers.allocating().chunks(BATCH) {
            // The allocating location and the depth: stacks may be long.
            let rows: Vec<(u32, Option<SourcePlace>, u64)> = stacks
                .iter()
                .map(|&stack| {
                    let (mut leaf, mut depth) = (None, 0);
                    for frame in numbers.frames(stack) {
                        let found = places.of(frame, &frames);
                        leaf = leaf.or_else(|| found.first().cloned());
                        depth += found.len() as u64;
                    }
                    (stack, leaf, depth)
                })
                .collect();
            let leaves = || rows.iter().map(|row| row.1.as_ref());
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("stack", || Values::whole(rows.iter().map(|row| Some(row.0.into()))))
                    .next("leaf", || {
                        Values::text(leaves().map(|leaf| Some(Arc::clone(&leaf?.function))))
                    })
                    .next("file", || Values::text(leaves().map(|leaf| leaf?.file.clone())))
                    .next("line", || Values::whole(leaves().map(|leaf| leaf?.line)))
                    .next("depth", || Values::whole(rows.iter().map(|row| Some(row.2))))
            })?;
        }
        Ok(())
    }

    fn frames(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let (numbers, frames) = self.stacks_read();
        let mut places = Places::default();
        let mut rows: Vec<(u32, u64, SourcePlace)> = Vec::with_capacity(BATCH);
        let mut offer = |rows: &mut Vec<(u32, u64, SourcePlace)>| {
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("stack", || Values::whole(rows.iter().map(|row| Some(row.0.into()))))
                    .next("position", || Values::whole(rows.iter().map(|row| Some(row.1))))
                    .next("function", || {
                        Values::text(rows.iter().map(|row| Some(Arc::clone(&row.2.function))))
                    })
                    .next("file", || Values::text(rows.iter().map(|row| row.2.file.clone())))
                    .next("line", || Values::whole(rows.iter().map(|row| row.2.line)))
            })?;
            rows.clear();
            Ok(())
        };
        for stack in numbers.allocating() {
            let mut position = 0;
            for frame in numbers.frames(stack) {
                for place in places.of(frame, &frames).iter() {
                    rows.push((stack, position, place.clone()));
                    position += 1;
                }
                if rows.len() >= BATCH {
                    offer(&mut rows)?;
                }
            }
        }
        if rows.is_empty() { Ok(()) } else { offer(&mut rows) }
    }
}

impl Tables for TraceTables {
    fn tables(&self) -> &'static [&'static Table] {
        schema::OF_TRACES
    }

    fn has_parts(&self, _: &Table) -> bool {
        false
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        match scan.table.name {
            _ if scan.part.index > 0 => Ok(()),
            "objects" => self.objects(scan, sink),
            "stacks" => self.stacks(scan, sink),
            "frames" => self.frames(scan, sink),
            name => Err(io::Error::other(format!("a trace has no table {name}"))),
        }
    }
}
