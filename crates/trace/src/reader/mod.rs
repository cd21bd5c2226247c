//! The reader: events of all domains, in order of time.
//!
//! A trace is one stream of packets per domain (one in all for versions 1 and 2). Decoding is
//! sequential within a stream because stacks and names are coded against what came before; streams are
//! independent of each other but for the table of frames. The reader keeps one decoder per stream and
//! hands out the earliest of their next events.

mod checkpoints;
mod clock;
mod names;
mod repair;
mod stacks;
mod stream;

use crate::frames::Frames;
use crate::index::Index;
use crate::losses::Losses;
use crate::model::{Alloc, Event};

pub use checkpoints::Checkpoints;
use stream::{Head, Kind, Stream};

/// Whether allocations come with their stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// Decode them.
    Decode,
    /// Move over them: about twice as fast. `stack` is empty and `common_prefix` zero.
    Skip,
}

/// Reads the events of a trace. See the crate's example.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    index: &'a Index,
    stacks: Stacks,
    streams: Vec<Stream>,
    /// The next event of each stream; `None` at its end.
    heads: Vec<Option<Head>>,
    /// The stream whose head was handed out last and has to be replaced.
    current: Option<usize>,
    frames: Frames,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the trace in `bytes`, whose index is `index`.
    pub fn new(bytes: &'a [u8], index: &'a Index, stacks: Stacks) -> Reader<'a> {
        assert_eq!(bytes.len(), index.bytes(), "the index belongs to other bytes");
        let mut reader = Reader {
            bytes,
            index,
            stacks,
            streams: index.domains().into_iter().map(|domain| Stream::new(index, domain)).collect(),
            heads: Vec::new(),
            current: None,
            frames: Frames::default(),
        };
        reader.heads = (0..reader.streams.len()).map(|stream| reader.advance(stream)).collect();
        reader
    }

    #[inline]
    fn advance(&mut self, stream: usize) -> Option<Head> {
        let with_stacks = self.stacks == Stacks::Decode;
        self.streams[stream].next(self.bytes, self.index, &mut self.frames, with_stacks)
    }

    /// The stream with the earliest next event.
    #[inline]
    fn earliest(&mut self) -> Option<usize> {
        if let Some(stream) = self.current.take() {
            self.heads[stream] = self.advance(stream);
        }
        if let [head] = &self.heads[..] {
            return head.is_some().then_some(0);
        }
        let times = self.heads.iter().enumerate();
        times.filter_map(|(stream, head)| Some((head.as_ref()?.time, stream))).min().map(|(_, s)| s)
    }

    /// The next event, or `None` at the end. Damage never ends the reading; see [`Reader::losses`].
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "the event borrows the reader")]
    pub fn next(&mut self) -> Option<Event<'_>> {
        self.next_with_frames().map(|(event, _)| event)
    }

    /// The next event and the frames that its stack refers to.
    #[inline]
    pub fn next_with_frames(&mut self) -> Option<(Event<'_>, &Frames)> {
        let stream = self.earliest()?;
        self.current = Some(stream);
        let Head { time, kind } = self.heads[stream]?;
        let domain = self.streams[stream].domain;
        let event = match kind {
            Kind::Alloc { id, length, samples, source, common_prefix } => {
                let stack = self.streams[stream].stack();
                Event::Alloc(Alloc {
                    time,
                    domain,
                    id,
                    length,
                    samples,
                    source,
                    common_prefix,
                    stack,
                })
            }
            Kind::Promote(id) => Event::Promote { time, domain, id },
            Kind::Collect(id) => Event::Collect { time, domain, id },
        };
        Some((event, &self.frames))
    }

    /// Frames met so far.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The index this reads by.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// How many bytes of the file lie behind, for a progress display.
    pub fn position(&self) -> usize {
        self.streams.iter().map(Stream::position).max().unwrap_or(self.bytes.len())
    }

    /// What was lost up to here, that known from packet headers included.
    pub fn losses(&self) -> Losses {
        let mut losses = self.index.losses().clone();
        for stream in &self.streams {
            losses.add(&stream.losses);
        }
        if self.stacks == Stacks::Decode && !losses.is_clean() {
            let ids = self.frames.ids().skip(1);
            losses.names_lost = ids.filter(|&id| !self.frames.is_announced(id)).count() as u64;
        }
        losses
    }
}
