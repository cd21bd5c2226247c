//! The writer: events in, the bytes that memtrace would write out.
//!
//! Each domain has an unfinished packet. Before an event is added, the packet is written out if it is nearly
//! full, if many new locations wait, or if it spans 30 s (events hold 25 bits of their time). Locations are
//! written first, in packets of their own, so that a reader knows the names of all frames before they appear.
//! Every packet goes to the [`Sink`] in one piece, so a program that dies leaves only complete packets. A sink
//! that outlives the program also sees the unfinished packets ([`Making`]) after each event, so that nothing is
//! lost at all.

mod buffer;
mod making;
mod names;
mod stacks;

use alloc::vec::Vec;

#[cfg(feature = "std")]
use crate::frames::Frames;
use crate::model::{DomainId, Micros, ObjectId, Source, TraceInfo, Words};
use crate::packet::{CacheCheck, Header, ID_CHUNK, MAX_PACKET, code, event_start, put_event_word};
use crate::wire::Put;

use buffer::PacketBuffer;
pub use making::{Making, MakingWords, complete};
use names::{MAX_LOCATION, NameEncoder};
pub use stacks::LastStack;
use stacks::{MAX_BACKTRACE, StackEncoder};

/// Room that an event may need besides its backtrace, in bytes.
const EVENT_ROOM: usize = 100;
/// A packet ends when more new locations than this wait.
const MAX_QUEUED: usize = 128;
/// The maximum time span of a packet, in microseconds.
const MAX_SPAN: u64 = 30_000_000;

/// Where packets go: any `std::io::Write`, or the equivalent in a program without the standard library.
pub trait Sink {
    /// Why a packet was not taken.
    type Error;

    /// Takes a complete packet.
    ///
    /// # Errors
    /// If the packet was not taken, or not completely.
    fn put_packet(&mut self, packet: &[u8]) -> Result<(), Self::Error>;

    /// Flushes what was taken.
    ///
    /// # Errors
    /// If that was not possible.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Sees the unfinished packets of the domain at index `_place`, after each event.
    #[inline]
    fn making(&mut self, _place: usize, _making: Making<'_>) {}

    /// The unfinished packets at this index were put, and new ones are begun.
    #[inline]
    fn made(&mut self, _place: usize) {}
}

#[cfg(feature = "std")]
impl<W: std::io::Write> Sink for W {
    type Error = std::io::Error;

    fn put_packet(&mut self, packet: &[u8]) -> std::io::Result<()> {
        self.write_all(packet)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::Write::flush(self)
    }
}

/// A source location, as given to the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLocation<'a> {
    /// Source file.
    pub file: &'a [u8],
    /// Function name, qualified by module.
    pub function: &'a [u8],
    /// Line, up to 1,048,575.
    pub line: u32,
    /// First column, up to 255.
    pub start_char: u32,
    /// Column after the last, up to 1,023.
    pub end_char: u32,
}

/// Tells the writer which source locations a code stands for.
pub trait Locate {
    /// Calls `found` with the locations of `code`, outermost caller first; with none if they are unknown.
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>]));
}

#[cfg(feature = "std")]
impl Locate for Frames {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let known = self.find(code).map_or(&[][..], |frame| self.locations(frame));
        let as_bytes = known.iter().map(|location| SourceLocation {
            file: self.names().bytes(location.file),
            function: self.names().bytes(location.function),
            line: location.line,
            start_char: location.start_char.into(),
            end_char: location.end_char.into(),
        });
        found(&as_bytes.collect::<Vec<_>>());
    }
}

/// An allocation to write.
#[derive(Clone, Copy, Debug)]
pub struct NewAlloc<'a> {
    /// When it happened, counted from the start of the trace; within a domain, never before the last event.
    pub time: Micros,
    /// The domain that allocated; 0 before version 3.
    pub domain: DomainId,
    /// The block's size without its header.
    pub length: Words,
    /// How many of the block's words were sampled.
    pub samples: u64,
    /// Where the block was allocated.
    pub source: Source,
    /// Codes of the frames, outermost first.
    pub stack: &'a [u64],
}

/// The same without its stack, for writers that put the stack together themselves.
#[derive(Clone, Copy, Debug)]
pub struct NewBlock {
    /// As in [`NewAlloc`], like the rest.
    pub time: Micros,
    /// The domain that allocated.
    pub domain: DomainId,
    /// The block's size.
    pub length: Words,
    /// How many of its words were sampled.
    pub samples: u64,
    /// Where it was allocated.
    pub source: Source,
}

/// Writes a trace of version 2 or 3.
#[derive(Debug)]
pub struct Writer<S> {
    out: S,
    info: TraceInfo,
    /// In the order of their first events. There are few, and the last one used is usually the next.
    domains: Vec<Domain>,
    last_used: usize,
    /// In version 3, where the next chunk of ids starts.
    next_chunk: u64,
    /// Buffer in which location packets are made.
    scratch: Vec<u8>,
}

/// The unfinished packets of a domain.
#[derive(Debug)]
struct Domain {
    id: DomainId,
    /// The packet with events; it begins with room for the header.
    packet: PacketBuffer,
    check: Option<CacheCheck>,
    time_begin: u64,
    time_end: u64,
    id_begin: u64,
    next_id: u64,
    id_limit: u64,
    stacks: StackEncoder,
    names: NameEncoder,
    /// Codes of the last event whose locations are not written yet.
    queue: Vec<u64>,
    /// The packet with locations, which must precede the packet with events; it begins with room for the
    /// header.
    locations: Vec<u8>,
    /// The number of locations in it.
    located: usize,
}

impl<S: Sink> Writer<S> {
    /// Writes the first packet. If `info` has a version that cannot be written, the nearest one that can is
    /// used.
    ///
    /// # Errors
    /// If `out` does not take the packet.
    pub fn new(out: S, mut info: TraceInfo) -> Result<Writer<S>, S::Error> {
        info.version = info.version.clamp(*crate::WRITES.start(), *crate::WRITES.end());
        let mut writer = Writer {
            out,
            domains: Vec::new(),
            last_used: 0,
            next_chunk: 0,
            scratch: Vec::with_capacity(MAX_PACKET),
            info,
        };
        writer.write_info()?;
        writer.begin_domain(DomainId(0), writer.info.start);
        Ok(writer)
    }

    fn write_info(&mut self) -> Result<(), S::Error> {
        let info = &self.info;
        let out = &mut self.scratch;
        out.resize(Header::len(info.version), 0);
        put_event_word(out, code::INFO, info.start);
        out.put_u64(info.sample_rate.to_bits());
        out.put_u8(info.word_bits);
        out.put_string(&info.executable);
        out.put_string(&info.host);
        out.put_string(&info.runtime_params);
        out.put_u64(info.pid);
        out.put_string(&info.context);
        let header = Header {
            size: out.len() as u64,
            time_begin: info.start,
            time_end: info.start,
            version: info.version,
            pid: info.pid,
            domain: DomainId(0),
            check: None,
            id_begin: 0,
            id_end: 0,
        };
        write_packet(&mut self.out, &header, out)
    }

    /// Adds an allocation and returns its id.
    ///
    /// # Errors
    /// If a packet had to be written and was not taken. The event is then lost, but the writer remains usable.
    pub fn alloc(
        &mut self,
        alloc: &NewAlloc<'_>,
        locate: &impl Locate,
    ) -> Result<ObjectId, S::Error> {
        let NewAlloc { time, domain, length, samples, source, stack } = *alloc;
        let block = NewBlock { time, domain, length, samples, source };
        self.alloc_block(&block, |last| last.replace(stack, 0), locate)
    }

    /// The same, for callers that know more of the stack: `stack` replaces the stack of the domain's last
    /// allocation and returns how many outer frames stay the same.
    ///
    /// # Errors
    /// As [`Writer::alloc`].
    #[inline(always)]
    pub fn alloc_block(
        &mut self,
        block: &NewBlock,
        stack: impl FnOnce(&mut LastStack) -> usize,
        locate: &impl Locate,
    ) -> Result<ObjectId, S::Error> {
        let time = self.absolute(block.time);
        let at = self.place(block.domain, time);
        if self.domains[at].is_full(time) {
            self.end_packet(at, time)?;
        }
        let Writer { out, info, domains, .. } = self;
        let domain = &mut domains[at];
        let Domain { packet, stacks, queue, .. } = domain;
        domain.time_end = time;
        let start = packet.len();
        let common = stack(&mut stacks.last);
        let small = (1..=u64::from(code::SHORT_ALLOC_MAX_WORDS)).contains(&block.length.0);
        let is_short = small
            && block.source == Source::Minor
            && block.samples == 1
            && stacks.last.len() - common < 256;
        let id = domain.next_id;
        domain.next_id += 1;
        // The number of codewords comes last, and is filled in when it is known.
        if is_short {
            let code = code::SHORT_ALLOC + block.length.0 as u8;
            put_short(packet, event_start(code, time), common as u64, 1);
        } else {
            put_event_word(packet, code::ALLOC, time);
            packet.put_vint(block.length.0 as i64);
            packet.put_vint(block.samples as i64);
            packet.put_u8(block.source.code());
            packet.put_vint(common as i64);
            packet.put_u16(0);
        }
        let end = packet.len();
        let codewords = stacks.encode(common, id, packet, queue);
        if is_short {
            // Fewer than 256 new frames take fewer than 256 codewords.
            packet.patch(end - 1, [codewords as u8]);
        } else {
            packet.patch(end - 2, codewords.to_le_bytes());
        }
        if queue.is_empty() {
            out.making(at, Making { info, domain, start });
        } else {
            self.show_located(at, time, locate)?;
        }
        Ok(ObjectId(id))
    }

    /// Adds the promotion of a block.
    ///
    /// # Errors
    /// As [`Writer::alloc`].
    pub fn promote(
        &mut self,
        time: Micros,
        domain: DomainId,
        id: ObjectId,
    ) -> Result<(), S::Error> {
        self.refer(code::PROMOTE, time, domain, id)
    }

    /// Adds that a block was freed.
    ///
    /// # Errors
    /// As [`Writer::alloc`].
    pub fn collect(
        &mut self,
        time: Micros,
        domain: DomainId,
        id: ObjectId,
    ) -> Result<(), S::Error> {
        self.refer(code::COLLECT, time, domain, id)
    }

    /// Adds that a block was freed, if that takes no more than a few bytes behind others in the domain's packet:
    /// nearly always. Returns whether it did. This neither panics nor needs much stack.
    #[inline]
    pub fn collect_briefly(&mut self, time: Micros, domain: DomainId, id: ObjectId) -> bool {
        let time = self.absolute(time);
        let Writer { out, info, domains, last_used, .. } = self;
        let Some(domain) = domains.get_mut(*last_used).filter(|known| known.id == domain) else {
            return false;
        };
        if domain.packet.is_empty() || domain.is_full(time) {
            return false;
        }
        let start = domain.packet.len();
        domain.put_reference(code::COLLECT, time, id);
        out.making(*last_used, Making { info, domain, start });
        true
    }

    fn refer(
        &mut self,
        code: u8,
        time: Micros,
        domain: DomainId,
        id: ObjectId,
    ) -> Result<(), S::Error> {
        let time = self.absolute(time);
        let at = self.place(domain, time);
        if self.domains[at].is_full(time) {
            self.end_packet(at, time)?;
        }
        let Writer { out, info, domains, .. } = self;
        let start = domains[at].packet.len();
        domains[at].put_reference(code, time, id);
        out.making(at, Making { info, domain: &domains[at], start });
        Ok(())
    }

    /// The sink that receives the packets.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.out
    }

    /// Writes out unfinished packets, as if an event at `time` had found no room.
    ///
    /// # Errors
    /// If a packet was not taken.
    pub fn flush(&mut self, time: Micros) -> Result<(), S::Error> {
        let time = self.absolute(time);
        for at in self.in_order() {
            let domain = &self.domains[at];
            if !domain.packet.is_empty() || domain.located > 0 {
                self.end_packet(at, time)?;
            }
        }
        self.out.flush()
    }

    /// Writes out unfinished packets and ends the trace.
    ///
    /// # Errors
    /// If a packet was not taken.
    pub fn finish(mut self) -> Result<S, S::Error> {
        for at in self.in_order() {
            self.end_packet(at, self.domains[at].time_end)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn absolute(&self, time: Micros) -> u64 {
        self.info.start.saturating_add(time.0)
    }

    /// Indices of the domains, in ascending order of their ids.
    fn in_order(&self) -> Vec<usize> {
        let mut places: Vec<_> = (0..self.domains.len()).collect();
        places.sort_by_key(|&at| self.domains[at].id);
        places
    }

    /// The index of a domain. A new domain begins at `time`.
    #[inline(always)]
    fn place(&mut self, id: DomainId, time: u64) -> usize {
        if self.domains.get(self.last_used).is_none_or(|domain| domain.id != id) {
            self.change_place(id, time);
        }
        self.last_used
    }

    #[cold]
    fn change_place(&mut self, id: DomainId, time: u64) {
        let known = self.domains.iter().position(|domain| domain.id == id);
        self.last_used = known.unwrap_or_else(|| self.begin_domain(id, time));
    }

    fn begin_domain(&mut self, id: DomainId, time: u64) -> usize {
        let version = self.info.version;
        let ids = new_chunk(version, &mut self.next_chunk);
        let mut locations = Vec::with_capacity(MAX_PACKET);
        locations.resize(Header::len(version), 0);
        self.domains.push(Domain {
            id,
            packet: PacketBuffer::new(Header::len(version)),
            check: None,
            time_begin: time,
            time_end: time,
            id_begin: ids.start,
            next_id: ids.start,
            id_limit: ids.end,
            stacks: StackEncoder::new(),
            names: NameEncoder::default(),
            queue: Vec::new(),
            locations,
            located: 0,
        });
        self.domains.len() - 1
    }

    /// Writes locations of the last event's new frames. If they do not fit, some are put before the rest, and
    /// the packet of events must follow at once, or whoever sees it unfinished would miss them. In that case
    /// returns true.
    fn locate_queued(&mut self, at: usize, locate: &impl Locate) -> Result<bool, S::Error> {
        let Writer { out, info, domains, .. } = self;
        let domain = &mut domains[at];
        let mut written = Ok(false);
        let mut queue = core::mem::take(&mut domain.queue);
        for code in queue.drain(..) {
            if MAX_PACKET - domain.locations.len() <= MAX_LOCATION {
                let header = domain.locations_header(info);
                let put = write_packet(out, &header, &mut domain.locations);
                written = written.and(put.map(|()| true));
                domain.locations.truncate(Header::len(info.version));
            }
            let Domain { names, locations, time_begin, .. } = domain;
            locate.locate(code, &mut |found| names.encode(code, found, *time_begin, locations));
            domain.located += 1;
        }
        domain.queue = queue;
        written
    }

    /// Writes locations of the last event's new frames, and shows the sink the unfinished packets.
    #[cold]
    fn show_located(&mut self, at: usize, time: u64, locate: &impl Locate) -> Result<(), S::Error> {
        if self.locate_queued(at, locate)? {
            self.end_packet(at, time)?;
        }
        let Writer { out, info, domains, .. } = self;
        out.making(at, Making { info, domain: &domains[at], start: 0 });
        Ok(())
    }

    /// Writes the waiting locations and the packet, and begins a new one at `now`.
    fn end_packet(&mut self, at: usize, now: u64) -> Result<(), S::Error> {
        let Writer { out, info, domains, next_chunk, .. } = self;
        let domain = &mut domains[at];
        let empty = Header::len(info.version);
        // The new packet is begun even if the old one could not be written: a full disk must not make the
        // packet grow, and room may become available again.
        let mut written = Ok(());
        if domain.located > 0 {
            let header = domain.locations_header(info);
            written = written.and(write_packet(out, &header, &mut domain.locations));
        }
        let header = domain.events_header(info);
        written = written.and(write_packet(out, &header, domain.packet.as_mut_slice()));
        out.made(at);
        domain.packet.clear();
        domain.locations.truncate(empty);
        domain.located = 0;
        (domain.time_begin, domain.time_end) = (now, now);
        if domain.next_id == domain.id_limit {
            let ids = new_chunk(info.version, next_chunk);
            (domain.next_id, domain.id_limit) = (ids.start, ids.end);
        }
        domain.id_begin = domain.next_id;
        domain.check = Some(domain.stacks.check());
        written
    }
}

impl Domain {
    /// Whether the packet has to end before the next event.
    #[inline]
    fn is_full(&self, time: u64) -> bool {
        self.is_at_end(time) || self.located > MAX_QUEUED || self.next_id == self.id_limit
    }

    /// Whether the packet has neither room nor time for another event.
    #[inline]
    fn is_at_end(&self, time: u64) -> bool {
        MAX_PACKET - self.packet.len() < EVENT_ROOM + MAX_BACKTRACE
            || time > self.time_begin.saturating_add(MAX_SPAN)
    }

    /// Writes what happened to a block. There is room for it.
    #[inline]
    fn put_reference(&mut self, code: u8, time: u64, id: ObjectId) {
        self.time_end = time;
        let delta = self.next_id.wrapping_sub(1).wrapping_sub(id.0);
        put_short(&mut self.packet, event_start(code, time), delta, 0);
    }

    /// The current header of the packet with events.
    fn events_header(&self, info: &TraceInfo) -> Header {
        Header {
            size: self.packet.len() as u64,
            time_begin: self.time_begin,
            time_end: self.time_end,
            version: info.version,
            pid: info.pid,
            domain: self.id,
            check: self.check,
            id_begin: self.id_begin,
            id_end: self.next_id,
        }
    }

    /// The current header of the packet with locations.
    fn locations_header(&self, info: &TraceInfo) -> Header {
        Header {
            size: self.locations.len() as u64,
            time_end: self.time_begin,
            check: None,
            id_end: self.id_begin,
            ..self.events_header(info)
        }
    }
}

/// Writes the first word of an event, a vint and at most one zero byte; at once if the vint is short.
#[inline(always)]
fn put_short(packet: &mut PacketBuffer, word: u32, number: u64, zeros: usize) {
    let word = u64::from(word);
    match number {
        0..=252 => packet.put_low(word | number << 32, 5 + zeros),
        253..=0xFFFF => packet.put_low(word | 253 << 32 | number << 40, 7 + zeros),
        _ => {
            packet.put_low(word, 4);
            packet.put_vint(number as i64);
            packet.put_low(0, zeros);
        }
    }
}

/// The ids that a domain may use next: all ids before version 3.
fn new_chunk(version: u16, next_chunk: &mut u64) -> core::ops::Range<u64> {
    if version < 3 {
        return 0..u64::MAX;
    }
    let start = *next_chunk;
    *next_chunk += ID_CHUNK;
    start..*next_chunk
}

/// Fills in the header and writes the packet at once.
fn write_packet<S: Sink>(out: &mut S, header: &Header, packet: &mut [u8]) -> Result<(), S::Error> {
    let mut bytes = Vec::with_capacity(Header::len(header.version));
    header.emit(&mut bytes);
    packet[..bytes.len()].copy_from_slice(&bytes);
    out.put_packet(packet)
}
