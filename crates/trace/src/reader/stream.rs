//! One domain's packets, decoded event by event.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use crate::frames::Frames;
use crate::index::Index;
use crate::losses::Losses;
use crate::model::{Alloc, DomainId, Event, FrameId, Micros, ObjectId, Source, Words};
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::clock::Clock;
use super::names::NameDecoder;
use super::stacks::StackDecoder;

/// With this many domains each gets the minimum share of the stack depth.
const MANY_DOMAINS: usize = 1024;

/// An event without its stack, which stays with the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub time: Micros,
    pub kind: HeadKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum HeadKind {
    Alloc { id: ObjectId, length: Words, samples: u64, source: Source, common_prefix: usize },
    Promote(ObjectId),
    Collect(ObjectId),
}

impl Head {
    /// The event, with the stream's domain and stack.
    #[inline(always)]
    pub fn event(self, domain: DomainId, stack: &[FrameId]) -> Event<'_> {
        let Head { time, kind } = self;
        match kind {
            HeadKind::Alloc { id, length, samples, source, common_prefix } => Event::Alloc(Alloc {
                time,
                domain,
                id,
                length,
                samples,
                source,
                common_prefix,
                stack,
            }),
            HeadKind::Promote(id) => Event::Promote { time, domain, id },
            HeadKind::Collect(id) => Event::Collect { time, domain, id },
        }
    }
}

/// All state on which decoding a stream's next event depends; a clone of it is a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub domain: DomainId,
    /// Indices of this stream's packets in the trace's index; the first `taken` are done.
    packets: Vec<u32>,
    taken: usize,
    /// The unread rest of the current packet.
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
    /// One stream for each domain, in ascending order.
    pub fn all(bytes: &[u8], index: &Index) -> Vec<Stream> {
        let mut packets: BTreeMap<DomainId, Vec<u32>> = BTreeMap::new();
        for (at, packet) in index.packets().iter().enumerate() {
            packets.entry(packet.domain).or_default().push(at as u32);
        }
        let start = index.info().start;
        let domains = packets.len();
        let stream = |(domain, packets): (DomainId, Vec<u32>)| {
            // Packets without allocations hold locations. A few others are among them and end the search at
            // once.
            let packet = |&at: &u32| &index.packets()[at as usize];
            let locations = packets.iter().map(packet).filter(|p| p.ids.is_empty() && !p.cut);
            let locations = locations.map(|p| Cursor::at(&bytes[..p.body.end], p.body.start));
            let names = NameDecoder::for_packets(locations);
            let stacks = StackDecoder::new(domains);
            Stream::new(start, domain, packets, stacks, names)
        };
        packets.into_iter().map(stream).collect()
    }

    /// For a trace that is still growing: its names and the number of domains are not known in advance.
    pub fn followed(start: u64, domain: DomainId) -> Stream {
        let stacks = StackDecoder::new(MANY_DOMAINS);
        Stream::new(start, domain, Vec::new(), stacks, NameDecoder::new())
    }

    /// Continues with other packets after the present ones have been read to the end.
    pub fn go_on(&mut self, packets: Vec<u32>) {
        self.end_packet();
        (self.packets, self.taken, self.body) = (packets, 0, 0..0);
    }

    /// Drops names: their records are only skipped. False if that is impossible because some are garbled.
    pub fn forget_names(&mut self) -> bool {
        self.names.forget();
        !self.names.is_garbled()
    }

    fn new(
        start: u64,
        domain: DomainId,
        packets: Vec<u32>,
        stacks: StackDecoder,
        names: NameDecoder,
    ) -> Stream {
        Stream {
            domain,
            packets,
            taken: 0,
            body: 0..0,
            cut: false,
            next_id: 0,
            id_end: 0,
            clock: Clock::new(start),
            stacks,
            names,
            losses: Losses::default(),
        }
    }

    pub fn stack(&self) -> &[FrameId] {
        self.stacks.stack()
    }

    /// The position of this stream in the file.
    pub fn position(&self) -> usize {
        self.body.start
    }

    /// The next event, if there is one.
    pub fn next(
        &mut self,
        bytes: &[u8],
        index: &Index,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Option<Head> {
        let mut found = None;
        let _ = self.read(bytes, index, frames, with_stacks, |head, _, _| {
            found = Some(*head);
            ControlFlow::Break(())
        });
        found
    }

    /// Passes events to `visit` until it breaks or there are no more.
    ///
    /// This is the only loop that decodes events. It stays inside a packet with all state in local variables,
    /// which makes it half again as fast as taking events one by one.
    #[inline(always)]
    pub fn read(
        &mut self,
        bytes: &[u8],
        index: &Index,
        frames: &mut Frames,
        with_stacks: bool,
        mut visit: impl FnMut(&Head, &[FrameId], &Frames) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            if self.body.is_empty() {
                self.end_packet();
                if !self.begin_packet(bytes, index, frames, with_stacks) {
                    return ControlFlow::Continue(());
                }
                continue;
            }
            let mut cursor = Cursor::at(&bytes[..self.body.end], self.body.start);
            let fault = loop {
                if cursor.at_end() {
                    self.body.start = self.body.end;
                    break None;
                }
                let before = cursor.pos();
                match self.event(&mut cursor, frames, with_stacks) {
                    Ok(head) => {
                        if visit(&head, self.stacks.stack(), frames).is_break() {
                            self.body.start = cursor.pos();
                            return ControlFlow::Break(());
                        }
                    }
                    Err(fault) => {
                        self.body.start = before;
                        break Some(fault);
                    }
                }
            };
            match fault {
                None => {}
                Some(Fault::Location) => self.locations(bytes, frames, false),
                Some(fault) => self.give_up_packet(fault),
            }
        }
    }

    /// Goes to the next packet; false if there is none.
    #[cold]
    fn begin_packet(
        &mut self,
        bytes: &[u8],
        index: &Index,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> bool {
        let Some(&packet) = self.packets.get(self.taken) else { return false };
        let packet = &index.packets()[packet as usize];
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
        if packet.ids.is_empty() {
            self.locations(bytes, frames, !self.cut);
        }
        true
    }

    /// Reads the locations that come next, if any. `whole` says that the packet ends where it should, so that a
    /// repair knows where to arrive.
    #[cold]
    fn locations(&mut self, bytes: &[u8], frames: &mut Frames, whole: bool) {
        let mut cursor = Cursor::at(&bytes[..self.body.end], self.body.start);
        let read = self.names.read(&mut cursor, whole, frames, &mut self.losses);
        self.body.start = cursor.pos();
        if let Err(fault) = read {
            self.give_up_packet(fault);
        }
    }

    fn end_packet(&mut self) {
        if self.next_id > self.id_end {
            self.losses.packets_damaged += 1;
            let more = self.next_id - self.id_end;
            self.losses
                .incident(self.body.end, || format!("{more} allocations more than promised"));
        }
        if self.next_id < self.id_end {
            self.losses.allocations =
                self.losses.allocations.saturating_add(self.id_end - self.next_id);
            self.stacks.gap();
        }
        self.next_id = self.id_end;
    }

    /// Skips the rest of a packet that cannot be read.
    #[cold]
    fn give_up_packet(&mut self, fault: Fault) {
        let Range { start, end } = self.body;
        self.losses.bytes_unread += (end - start) as u64;
        // The index already counts a cut packet.
        if !self.cut {
            self.losses.packets_damaged += 1;
            self.losses.incident(start, || fault.to_string());
        }
        self.body.start = end;
    }

    /// Decodes the event at the cursor.
    #[inline(always)]
    fn event(
        &mut self,
        cursor: &mut Cursor<'_>,
        frames: &mut Frames,
        with_stacks: bool,
    ) -> Parse<Head> {
        let (event, low) = event_word(cursor)?;
        let kind = if event == code::PROMOTE || event == code::COLLECT {
            let id = self.object(cursor.vint()?)?;
            if event == code::PROMOTE { HeadKind::Promote(id) } else { HeadKind::Collect(id) }
        } else {
            let form = AllocForm::read(event, cursor)?;
            let common_prefix = if with_stacks {
                let prefix = usize::try_from(form.prefix).unwrap_or(usize::MAX);
                self.stacks.decode(cursor, prefix, form.codewords, frames, &mut self.losses)?
            } else {
                StackDecoder::skip(cursor, form.codewords)?;
                0
            };
            let id = ObjectId(self.next_id);
            self.next_id = self.next_id.wrapping_add(1);
            let AllocForm { length, samples, source, .. } = form;
            HeadKind::Alloc { id, length, samples, source, common_prefix }
        };
        let time = self.clock.event(low, &mut self.losses);
        Ok(Head { time, kind })
    }

    /// The object that was allocated `delta` allocations before the last one. Ids have 63 bits.
    #[inline]
    fn object(&self, delta: i64) -> Parse<ObjectId> {
        let id = self.next_id.wrapping_sub(1).wrapping_sub(delta as u64);
        if id > i64::MAX as u64 {
            return Err(Fault::ObjectId);
        }
        Ok(ObjectId(id))
    }
}

/// What precedes the backtrace of an allocation, in its short or long form.
struct AllocForm {
    length: Words,
    samples: u64,
    source: Source,
    prefix: i64,
    codewords: usize,
}

impl AllocForm {
    #[inline(always)]
    fn read(event: u8, cursor: &mut Cursor<'_>) -> Parse<AllocForm> {
        let words = event.wrapping_sub(code::SHORT_ALLOC);
        if (1..=code::SHORT_ALLOC_MAX_WORDS).contains(&words) {
            return Ok(AllocForm {
                length: Words(u64::from(words)),
                samples: 1,
                source: Source::Minor,
                prefix: cursor.vint()?,
                codewords: usize::from(cursor.u8()?),
            });
        }
        match event {
            code::ALLOC => {}
            code::LOCATION => return Err(Fault::Location),
            code::INFO => return Err(Fault::SecondInfo),
            _ => return Err(Fault::EventCode(event)),
        }
        let natural = |value: i64| u64::try_from(value).map_err(|_| Fault::Negative);
        let length = Words(natural(cursor.vint()?)?);
        let samples = natural(cursor.vint()?)?;
        let source = cursor.u8()?;
        let source = Source::from_code(source).ok_or(Fault::SourceCode(source))?;
        let prefix = cursor.vint()?;
        Ok(AllocForm { length, samples, source, prefix, codewords: usize::from(cursor.u16()?) })
    }
}
