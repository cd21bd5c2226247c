//! The index: packet headers only, without decoding the events between them.
//!
//! One pass over the headers ("skimming") finds where each packet begins and ends, which domain wrote it, and
//! which times and ids it covers. On a sound 400 MB file that touches one page in eight. All decisions about
//! framing are made here and only here: what is cut, what is missing, what belongs to another process. The
//! reader then follows this list of packets.
//!
//! A packet's length is believed if another packet, or the end of the file, follows. Otherwise the next
//! plausible header is searched inside it, so that one wrong length costs one packet.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Result, TraceError};
use crate::losses::Losses;
use crate::model::{DomainId, Micros, TraceInfo};
use crate::packet::{CacheCheck, Header, HeaderFault, ID_CHUNK, MAGIC, code, event_word};
use crate::wire::Cursor;

/// Packets of further domains are left out, because decoding takes 130 KB per domain.
const MAX_DOMAINS: usize = 1024;

/// At a lower rate, a word would be sampled once in years.
const LEAST_RATE: f64 = 1e-15;

/// A packet of events or locations.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Byte offset of its header.
    pub offset: usize,
    /// Byte range of its events.
    pub(crate) body: Range<usize>,
    /// The file ends, or another packet begins, before the promised end of this one.
    pub cut: bool,
    /// Something before it in its stream is missing.
    pub(crate) after_gap: bool,
    /// The domain that wrote it.
    pub domain: DomainId,
    /// Microseconds since the Unix epoch, as written.
    pub(crate) time_begin: u64,
    pub(crate) time_end: u64,
    pub(crate) ids: Range<u64>,
    pub(crate) check: Option<CacheCheck>,
}

/// The contents of a trace's packet headers.
#[derive(Clone, Debug)]
pub struct Index {
    info: TraceInfo,
    packets: Vec<Packet>,
    losses: Losses,
    bytes: usize,
    duration: Micros,
}

impl Index {
    /// Reads the packet headers of `bytes`, a whole trace file.
    ///
    /// # Errors
    /// If the first packet is not a readable trace-info packet. Then nothing in the file can be used.
    pub fn skim(bytes: &[u8]) -> Result<Index> {
        let (info, first_end) = read_info(bytes)?;
        let mut skim = Skim::new(bytes, &info, HashMap::new(), false);
        skim.packets(first_end);
        Ok(skim.finish().0)
    }

    /// Facts about the run.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The packets in file order, without the first one.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// The byte offset of a stable position ([`Follower::stable_position`]): the end of the last packet that ends there or before.
    ///
    /// [`Follower::stable_position`]: crate::Follower::stable_position
    pub fn offset_of(&self, stable: u64) -> u64 {
        let surplus = Header::surplus(self.info.version);
        // The first packet has the facts about the run and is not in the list.
        let ends = self.packets.iter().zip(2..).map(|(packet, count)| {
            let end = packet.body.end as u64;
            (end.saturating_sub(surplus * count), end)
        });
        ends.take_while(|(position, _)| *position <= stable).last().map_or(0, |(_, end)| end)
    }

    /// Losses found so far. Reading the events may find more.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The size of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The domains that wrote packets, in ascending order.
    pub fn domains(&self) -> Vec<DomainId> {
        let mut domains: Vec<_> = self.packets.iter().map(|p| p.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        domains
    }

    /// From the start to the last time in any header, by a clock that is never set back.
    pub fn duration(&self) -> Micros {
        self.duration
    }

    /// The number of sampled allocations that the headers announce.
    pub fn allocations(&self) -> u64 {
        self.packets.iter().fold(0, |n, p| n.saturating_add(p.ids.end.saturating_sub(p.ids.start)))
    }
}

/// From the start to the last time in these headers.
fn duration(info: &TraceInfo, packets: &[Packet]) -> Micros {
    let mut clocks: HashMap<DomainId, (u64, u64)> = HashMap::new();
    for packet in packets {
        let (last, shift) = clocks.entry(packet.domain).or_insert((info.start, 0));
        for time in [packet.time_begin, packet.time_end] {
            // As the reader does with the times of events.
            *shift = (*shift).max(last.saturating_sub(time));
            *last = time.saturating_add(*shift);
        }
    }
    let last = clocks.into_values().map(|(last, _)| last).max();
    Micros(last.unwrap_or(info.start).saturating_sub(info.start))
}

impl Packet {
    /// The times it covers, counted from the start of the trace, as written (not corrected).
    pub fn times(&self, info: &TraceInfo) -> Range<Micros> {
        let begin = self.time_begin.saturating_sub(info.start);
        Micros(begin)..Micros(self.time_end.saturating_sub(info.start))
    }

    /// The number of allocations that it announces.
    pub fn allocations(&self) -> u64 {
        self.ids.end.saturating_sub(self.ids.start)
    }

    /// Its size in the file, in bytes.
    pub fn bytes(&self) -> usize {
        self.body.end - self.offset
    }
}

pub(crate) struct Skim<'a> {
    bytes: &'a [u8],
    info: &'a TraceInfo,
    packets: Vec<Packet>,
    losses: Losses,
    /// The next id of each domain.
    running: HashMap<DomainId, u64>,
    /// Bytes were lost since the last packet.
    gap: bool,
}

impl<'a> Skim<'a> {
    /// For bytes that continue earlier ones: the next id of each domain, and whether bytes were lost.
    pub fn new(
        bytes: &'a [u8],
        info: &'a TraceInfo,
        running: HashMap<DomainId, u64>,
        gap: bool,
    ) -> Skim<'a> {
        Skim { bytes, info, packets: Vec::new(), losses: Losses::default(), running, gap }
    }

    /// The index, and the state from which skimming continues.
    pub fn finish(self) -> (Index, HashMap<DomainId, u64>, bool) {
        let Skim { bytes, info, packets, losses, running, gap } = self;
        let duration = duration(info, &packets);
        let index = Index { info: info.clone(), packets, losses, bytes: bytes.len(), duration };
        (index, running, gap)
    }

    /// Skims the packets from an offset on.
    pub fn packets(&mut self, mut at: usize) {
        while at < self.bytes.len() {
            at = match Header::parse(&self.bytes[at..]) {
                Ok(header) if header.version == self.info.version => self.packet(at, &header),
                Ok(header) => {
                    let ours = self.info.version;
                    let theirs = header.version;
                    self.resync(at, || {
                        format!("a packet of version {theirs} in a trace of version {ours}")
                    })
                }
                Err(fault) => self.resync(at, || fault.to_string()),
            };
        }
    }

    /// Takes the packet at `at` and returns where the next one should be.
    fn packet(&mut self, at: usize, header: &Header) -> usize {
        let body = at + Header::len(header.version);
        let promised = at.saturating_add(header.size as usize);
        let (end, cut) = self.extent(body, promised);
        if header.pid != self.info.pid {
            self.losses.packets_foreign += 1;
            self.losses.incident(at, || format!("a packet of process {}", header.pid));
            return end;
        }
        if self.running.len() >= MAX_DOMAINS && !self.running.contains_key(&header.domain) {
            self.losses.bytes_unread += (end - at) as u64;
            self.losses.incident(at, || format!("a packet of one more than {MAX_DOMAINS} domains"));
            return end;
        }
        if cut {
            self.losses.packets_damaged += 1;
            self.losses.bytes_missing += (promised - end) as u64;
            self.losses.incident(at, || {
                let (size, left) = (header.size, end - at);
                format!("a packet of {size} bytes, of which only {left} are there")
            });
        }
        let after_gap = self.gap | self.breaks_numbering(at, header);
        self.gap = cut;
        let running = self.running.entry(header.domain).or_default();
        // Before version 3, ids only ascend; a packet that comes late fills an earlier gap.
        *running = match self.info.version {
            ..3 => header.id_end.max(*running),
            _ => header.id_end,
        };
        self.packets.push(Packet {
            offset: at,
            body: body..end,
            cut,
            after_gap,
            domain: header.domain,
            time_begin: header.time_begin,
            time_end: header.time_end,
            ids: header.id_begin..header.id_end,
            check: header.check,
        });
        end
    }

    /// Where a packet with this body ends, and whether that is before its promised end.
    fn extent(&self, body: usize, promised: usize) -> (usize, bool) {
        let len = self.bytes.len();
        let followed = |at: usize| at == len || self.bytes[at..].starts_with(&MAGIC.to_le_bytes());
        if promised <= len && followed(promised) {
            return (promised, false);
        }
        match self.find_header(body..promised.min(len)) {
            Some(inner) => (inner, true),
            None if promised <= len => (promised, false),
            None => (len, true),
        }
    }

    /// Counts ids that are missing between this packet and the one before it, and returns whether numbering
    /// breaks here.
    fn breaks_numbering(&mut self, at: usize, header: &Header) -> bool {
        let Some(&running) = self.running.get(&header.domain) else {
            let missing = if self.info.version < 3 { header.id_begin } else { 0 };
            return missing > 0 && self.note_gap(at, missing);
        };
        if header.id_begin == running {
            return false;
        }
        // Version 3 moves to a new chunk of ids when one is used up.
        let starts_chunk = |id: u64| id.is_multiple_of(ID_CHUNK);
        if self.info.version >= 3 && starts_chunk(running) && starts_chunk(header.id_begin) {
            return false;
        }
        if self.info.version < 3 && header.id_begin < running {
            let brings = header.id_end.saturating_sub(header.id_begin);
            self.losses.allocations = self.losses.allocations.saturating_sub(brings);
        }
        let missing =
            if self.info.version < 3 { header.id_begin.saturating_sub(running) } else { 0 };
        self.note_gap(at, missing)
    }

    fn note_gap(&mut self, at: usize, missing: u64) -> bool {
        self.losses.gaps += 1;
        self.losses.allocations = self.losses.allocations.saturating_add(missing);
        self.losses.incident(at, || "packets before this one are missing".to_owned());
        true
    }

    /// Nothing readable at `at`: continues at the next header.
    fn resync(&mut self, at: usize, why: impl FnOnce() -> String) -> usize {
        let len = self.bytes.len();
        let next = self.find_header(at + 1..len).unwrap_or(len);
        self.losses.bytes_unread += (next - at) as u64;
        self.losses.incident(at, why);
        self.gap = true;
        next
    }

    /// The first offset in `range` at which a packet of this trace plausibly begins.
    fn find_header(&self, range: Range<usize>) -> Option<usize> {
        let magic = MAGIC.to_le_bytes();
        let mut at = range.start;
        while at < range.end {
            at += self.bytes[at..range.end].iter().position(|&b| b == magic[0])?;
            let rest = &self.bytes[at..];
            if rest.starts_with(&magic)
                && Header::parse(rest)
                    .is_ok_and(|h| h.version == self.info.version && h.pid == self.info.pid)
            {
                return Some(at);
            }
            at += 1;
        }
        None
    }
}

/// Reads the first packet: facts about the run, and where the second packet begins.
pub(crate) fn read_info(bytes: &[u8]) -> Result<(TraceInfo, usize)> {
    let not =
        |offset: usize, reason: String| TraceError::NotATrace { offset: offset as u64, reason };
    if bytes.is_empty() {
        return Err(not(0, "the file is empty".to_owned()));
    }
    let header = Header::parse(bytes).map_err(|fault| match fault {
        HeaderFault::Short if bytes.starts_with(&MAGIC.to_le_bytes()) => not(
            bytes.len(),
            format!("the file ends inside its first packet header, after {} bytes", bytes.len()),
        ),
        HeaderFault::Version(v) => TraceError::Version(v),
        HeaderFault::Size(_) => not(4, fault.to_string()),
        HeaderFault::Short | HeaderFault::Magic => {
            not(0, "it does not start with the bytes c1 1f fc c1".to_owned())
        }
    })?;
    let end = usize::try_from(header.size).unwrap_or(usize::MAX);
    let body = bytes.get(..end).ok_or_else(|| {
        not(
            bytes.len(),
            format!("the file ends inside its first packet ({} of {end} bytes)", bytes.len()),
        )
    })?;
    let mut cursor = Cursor::at(body, Header::len(header.version));
    let mut parse = || {
        let (event, _) = event_word(&mut cursor)?;
        if event != code::INFO {
            return Ok(None);
        }
        let sample_rate = f64::from_bits(cursor.u64()?);
        let word_bits = cursor.u8()?;
        let executable = cursor.string()?.to_vec();
        let host = cursor.string()?.to_vec();
        let runtime_params = cursor.string()?.to_vec();
        let pid = cursor.u64()?;
        let context = if header.version >= 2 { cursor.string()?.to_vec() } else { Vec::new() };
        Ok(Some(TraceInfo {
            version: header.version,
            sample_rate,
            word_bits,
            executable,
            host,
            runtime_params,
            pid,
            context,
            start: header.time_begin,
        }))
    };
    let info = parse().map_err(|fault: crate::wire::Fault| not(cursor.pos(), fault.to_string()))?;
    let info = info.ok_or_else(|| {
        not(Header::len(header.version), "the first packet does not say what was traced".to_owned())
    })?;
    if !(LEAST_RATE..=1.0).contains(&info.sample_rate) {
        let rate = info.sample_rate;
        let reason = format!("a sampling rate of {rate}, which is not from {LEAST_RATE} to 1");
        return Err(not(Header::len(header.version) + 4, reason));
    }
    if !matches!(info.word_bits, 32 | 64) {
        let reason = format!("words of {} bits instead of 32 or 64", info.word_bits);
        return Err(not(Header::len(header.version) + 12, reason));
    }
    Ok((info, end))
}
