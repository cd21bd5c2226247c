//! One domain's packets, decoded event by event.

use std::ops::Range;

use crate::frames::Frames;
use crate::index::{Index, Packet};
use crate::losses::Losses;
use crate::model::{DomainId, FrameId, Micros, ObjectId, Source, Words};
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::clock::Clock;
use super::names::NameDecoder;
use super::stacks::StackDecoder;

/// An event without its stack, which stays with the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub time: Micros,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Alloc { id: ObjectId, length: Words, samples: u64, source: Source, common_prefix: usize },
    Promote(ObjectId),
    Collect(ObjectId),
}

/// Everything that decoding a stream's next event depends on; a clone of it is a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub domain: DomainId,
    /// Which packets of the index are this stream's; the front is taken next.
    packets: Vec<u32>,
    taken: usize,
    /// What is left of the present packet.
    body: Range<usize>,
    cut: bool,
    next_id: u64,
    id_end: u64,
    clock: Clock,
    stacks: StackDecoder,
    names: NameDecoder,
    pub losses: Losses,
}

impl Stream {
    pub fn new(index: &Index, domain: DomainId) -> Stream {
        let mine = |(_, packet): &(usize, &Packet)| packet.domain == domain;
        let packets = index.packets().iter().enumerate().filter(mine).map(|(at, _)| at as u32);
        Stream {
            domain,
            packets: packets.collect(),
            taken: 0,
            body: 0..0,
            cut: false,
            next_id: 0,
            id_end: 0,
            clock: Clock::new(index.info().start),
            stacks: StackDecoder::new(),
            names: NameDecoder::new(),
            losses: Losses::default(),
        }
    }

    pub fn stack(&self) -> &[FrameId] {
        self.stacks.stack()
    }

    /// How far in the file this stream has come.
    pub fn position(&self) -> usize {
        self.body.start
    }

    /// The next event, if there is one.
    #[inline]
    pub fn next(
        &mut self,
        bytes: &[u8],
        index: &Index,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Option<Head> {
        loop {
            if self.body.is_empty() {
                self.end_packet();
                self.begin_packet(bytes, index, frames, with_stacks)?;
                continue;
            }
            let mut cursor = Cursor::at(&bytes[..self.body.end], self.body.start);
            match self.event(&mut cursor, frames, with_stacks) {
                Ok(head) => {
                    self.body.start = cursor.pos();
                    if head.is_some() {
                        return head;
                    }
                }
                Err(fault) => self.give_up_packet(fault),
            }
        }
    }

    fn begin_packet(
        &mut self,
        bytes: &[u8],
        index: &Index,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Option<()> {
        let packet = &index.packets()[*self.packets.get(self.taken)? as usize];
        self.taken += 1;
        self.body = packet.body.clone();
        self.cut = packet.cut;
        self.next_id = packet.ids.start;
        self.id_end = packet.ids.end;
        self.clock.packet(packet.time_begin, packet.time_end);
        if packet.after_gap {
            self.stacks.gap();
        }
        if let Some(check) = packet.check.filter(|_| with_stacks)
            && !self.stacks.agrees(check, frames)
        {
            self.losses.cache_mismatches += 1;
            self.losses.incident(packet.offset, || "the packet's cache check fails".to_owned());
        }
        let mut cursor = Cursor::at(&bytes[..self.body.end], self.body.start);
        if packet.ids.is_empty()
            && let Err(fault) = self.names.read(&mut cursor, !self.cut, frames, &mut self.losses)
        {
            self.body.start = cursor.pos();
            self.give_up_packet(fault);
        }
        self.body.start = cursor.pos();
        Some(())
    }

    fn end_packet(&mut self) {
        if self.next_id < self.id_end {
            self.losses.allocations =
                self.losses.allocations.saturating_add(self.id_end - self.next_id);
            self.stacks.gap();
        }
        self.next_id = self.id_end;
    }

    /// The rest of the packet cannot be read.
    #[cold]
    fn give_up_packet(&mut self, fault: Fault) {
        let Range { start, end } = self.body;
        self.losses.bytes_unread += (end - start) as u64;
        // That a packet was cut is in the index's account already.
        if !self.cut {
            self.losses.packets_damaged += 1;
            self.losses.incident(start, || fault.to_string());
        }
        self.body.start = end;
    }

    /// Decodes the event at the cursor; locations yield nothing.
    #[inline]
    fn event(
        &mut self,
        cursor: &mut Cursor<'_>,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Parse<Option<Head>> {
        const SHORT_FIRST: u8 = code::SHORT_ALLOC + 1;
        const SHORT_LAST: u8 = code::SHORT_ALLOC + code::SHORT_ALLOC_MAX_WORDS;
        let at = *cursor;
        let (event, low) = event_word(cursor)?;
        let kind = match event {
            SHORT_FIRST..=SHORT_LAST => {
                let length = Words(u64::from(event - code::SHORT_ALLOC));
                let prefix = cursor.vint()?;
                let codewords = usize::from(cursor.u8()?);
                self.alloc(
                    cursor,
                    (length, 1, Source::Minor),
                    prefix,
                    codewords,
                    frames,
                    with_stacks,
                )?
            }
            code::ALLOC => {
                let length = Words(cursor.vint()? as u64);
                let samples = cursor.vint()? as u64;
                let source = cursor.u8()?;
                let source = Source::from_code(source).ok_or(Fault::SourceCode(source))?;
                let prefix = cursor.vint()?;
                let codewords = usize::from(cursor.u16()?);
                self.alloc(
                    cursor,
                    (length, samples, source),
                    prefix,
                    codewords,
                    frames,
                    with_stacks,
                )?
            }
            code::PROMOTE => Kind::Promote(self.object(cursor.vint()?)?),
            code::COLLECT => Kind::Collect(self.object(cursor.vint()?)?),
            code::LOCATION => {
                *cursor = at;
                self.names.read(cursor, false, frames, &mut self.losses)?;
                return Ok(None);
            }
            code::INFO => return Err(Fault::SecondInfo),
            _ => return Err(Fault::EventCode(event)),
        };
        let time = self.clock.event(low, &mut self.losses);
        Ok(Some(Head { time, kind }))
    }

    #[inline]
    fn alloc(
        &mut self,
        cursor: &mut Cursor<'_>,
        (length, samples, source): (Words, u64, Source),
        prefix: i64,
        codewords: usize,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Parse<Kind> {
        let common_prefix = if with_stacks {
            let prefix = usize::try_from(prefix).unwrap_or(usize::MAX);
            self.stacks.decode(cursor, prefix, codewords, frames, &mut self.losses)?
        } else {
            StackDecoder::skip(cursor, codewords)?;
            0
        };
        let id = ObjectId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        Ok(Kind::Alloc { id, length, samples, source, common_prefix })
    }

    /// The object that was allocated `delta` allocations before the last.
    fn object(&self, delta: i64) -> Parse<ObjectId> {
        let last = i128::from(self.next_id) - 1;
        u64::try_from(last - i128::from(delta)).map(ObjectId).map_err(|_| Fault::ObjectId)
    }
}
