//! Traces read into memory, in a form that can be compared.

use std::ops::ControlFlow;

use bactrian_trace::{
    DomainId, Event, FrameId, Frames, Index, Losses, Micros, ObjectId, Reader, Source, Stacks,
    Words,
};

/// An event, with codes instead of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub time: Micros,
    pub domain: DomainId,
    pub id: ObjectId,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Alloc { length: Words, samples: u64, source: Source, stack: Vec<u64> },
    Promote,
    Collect,
}

impl Seen {
    pub fn new(event: &Event<'_>, frames: &Frames) -> Seen {
        let (domain, id, what) = match *event {
            Event::Alloc(alloc) => {
                let stack = alloc.stack.iter().map(|&frame| frames.code(frame)).collect();
                let (length, samples, source) = (alloc.length, alloc.samples, alloc.source);
                (alloc.domain, alloc.id, What::Alloc { length, samples, source, stack })
            }
            Event::Promote { domain, id, .. } => (domain, id, What::Promote),
            Event::Collect { domain, id, .. } => (domain, id, What::Collect),
        };
        Seen { time: event.time(), domain, id, what }
    }

    /// The same event without its stack.
    pub fn bare(mut self) -> Seen {
        if let What::Alloc { stack, .. } = &mut self.what {
            stack.clear();
        }
        self
    }
}

/// Everything that a trace yields.
#[derive(Debug)]
pub struct Reading {
    pub events: Vec<Seen>,
    pub frames: Frames,
    pub losses: Losses,
}

/// A source location with its names: file, function, line, first and last column.
pub type Place = (Vec<u8>, Vec<u8>, u32, u16, u16);

impl Reading {
    /// The number of allocations read.
    pub fn allocations(&self) -> u64 {
        self.events.iter().filter(|seen| matches!(seen.what, What::Alloc { .. })).count() as u64
    }

    pub fn bare_events(&self) -> Vec<Seen> {
        self.events.iter().cloned().map(Seen::bare).collect()
    }

    /// The source locations of a frame.
    pub fn places(&self, frame: FrameId) -> Vec<Place> {
        let name = |id| self.frames.names().bytes(id).to_vec();
        let locations = self.frames.locations(frame).iter();
        locations
            .map(|l| (name(l.file), name(l.function), l.line, l.start_char, l.end_char))
            .collect()
    }
}

/// All further events of a reader, taken one by one.
pub fn rest(reader: &mut Reader<'_>) -> Vec<Seen> {
    let mut events = Vec::new();
    while let Some((event, frames)) = reader.next_with_frames() {
        events.push(Seen::new(&event, frames));
    }
    events
}

/// Reads a trace, taking events one by one.
pub fn read_with(bytes: &[u8], stacks: Stacks) -> Reading {
    let index = Index::skim(bytes).expect("a readable trace");
    let mut reader = Reader::new(bytes, &index, stacks);
    let events = rest(&mut reader);
    let losses = reader.losses();
    Reading { events, losses, frames: reader.into_frames() }
}

/// Reads a trace with its stacks.
pub fn read(bytes: &[u8]) -> Reading {
    read_with(bytes, Stacks::Decode)
}

/// Events of a trace, taken by `for_each`.
pub fn read_by_visits(bytes: &[u8]) -> Vec<Seen> {
    let index = Index::skim(bytes).expect("a readable trace");
    let mut events = Vec::new();
    Reader::new(bytes, &index, Stacks::Decode).for_each(|event, frames| {
        events.push(Seen::new(&event, frames));
        ControlFlow::Continue(())
    });
    events
}
