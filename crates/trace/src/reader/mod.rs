//! The reader: events of all domains, in order of time.
//!
//! A trace is one stream of packets per domain (a single stream in versions 1 and 2). Decoding is sequential
//! within a stream, because stacks and names are coded relative to what came before; streams are independent of
//! each other except for the table of frames. The reader keeps one decoder per stream and delivers the earliest
//! of their next events.

mod checkpoints;
mod clock;
mod follower;
mod names;
mod parts;
mod repair;
mod stacks;
mod stream;

use std::ops::ControlFlow;

use crate::frames::Frames;
use crate::index::Index;
use crate::losses::Losses;
use crate::model::Event;

pub use checkpoints::Checkpoints;
pub use follower::Follower;
pub use parts::Parts;
use stream::{Head, Stream};

/// Whether allocations come with their stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// Decode stacks.
    Decode,
    /// Skip stacks: about twice as fast. `stack` is empty and `common_prefix` is zero.
    Skip,
}

/// Reads the events of a trace. See the example of the crate.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    index: &'a Index,
    stacks: Stacks,
    streams: Vec<Stream>,
    /// The next event of each stream, `None` at its end. Empty before the first event, and if there is only one
    /// stream, which needs no lookahead.
    heads: Vec<Option<Head>>,
    /// The stream whose head was delivered last and must be replaced.
    current: Option<usize>,
    frames: Frames,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the trace in `bytes`, whose index is `index`.
    pub fn new(bytes: &'a [u8], index: &'a Index, stacks: Stacks) -> Reader<'a> {
        assert_eq!(bytes.len(), index.bytes(), "the index belongs to other bytes");
        Reader {
            bytes,
            index,
            stacks,
            streams: Stream::all(bytes, index),
            heads: Vec::new(),
            current: None,
            frames: Frames::default(),
        }
    }

    #[inline]
    fn advance(&mut self, stream: usize) -> Option<Head> {
        let with_stacks = self.stacks == Stacks::Decode;
        self.streams[stream].next(self.bytes, self.index, &mut self.frames, with_stacks)
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
        let (stream, head) = match self.streams.len() {
            1 => (0, self.advance(0)?),
            _ => self.merged()?,
        };
        let stream = &self.streams[stream];
        let stack = if self.stacks == Stacks::Decode { stream.stack() } else { &[] };
        Some((head.event(stream.domain, stack), &self.frames))
    }

    /// Passes all further events to `visit`, with the frames their stacks refer to, until it breaks.
    ///
    /// The events are those of [`Reader::next`], half again as fast if there is only one stream.
    #[inline(always)]
    pub fn for_each(&mut self, mut visit: impl FnMut(Event<'_>, &Frames) -> ControlFlow<()>) {
        let with_stacks = self.stacks == Stacks::Decode;
        if let [stream] = &mut self.streams[..] {
            let domain = stream.domain;
            let frames = &mut self.frames;
            let _ =
                stream.read(self.bytes, self.index, frames, with_stacks, |head, stack, frames| {
                    visit(head.event(domain, if with_stacks { stack } else { &[] }), frames)
                });
            return;
        }
        while let Some((event, frames)) = self.next_with_frames() {
            if visit(event, frames).is_break() {
                return;
            }
        }
    }

    /// The earliest event of several streams, and its stream.
    fn merged(&mut self) -> Option<(usize, Head)> {
        let stream = self.earliest()?;
        self.current = Some(stream);
        Some((stream, self.heads[stream]?))
    }

    /// The stream with the earliest next event, out of several.
    fn earliest(&mut self) -> Option<usize> {
        if self.heads.is_empty() {
            self.heads = (0..self.streams.len()).map(|stream| self.advance(stream)).collect();
        }
        if let Some(stream) = self.current.take() {
            self.heads[stream] = self.advance(stream);
        }
        let times = self.heads.iter().enumerate();
        times.filter_map(|(stream, head)| Some((head.as_ref()?.time, stream))).min().map(|(_, s)| s)
    }

    /// Frames met so far.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Ends the reading and keeps the frames.
    pub fn into_frames(self) -> Frames {
        self.frames
    }

    /// The index of the trace.
    pub fn index(&self) -> &'a Index {
        self.index
    }

    /// How many bytes of the file have been read, for a progress display.
    pub fn position(&self) -> usize {
        self.streams.iter().map(Stream::position).max().unwrap_or(self.bytes.len())
    }

    /// Losses so far, including those known from packet headers.
    pub fn losses(&self) -> Losses {
        let mut losses = self.index.losses().clone();
        for stream in &self.streams {
            losses.add(&stream.losses);
        }
        if self.stacks == Stacks::Decode {
            let ids = self.frames.ids().skip(1);
            losses.names_lost = ids.filter(|&id| !self.frames.is_announced(id)).count() as u64;
        }
        losses
    }
}
