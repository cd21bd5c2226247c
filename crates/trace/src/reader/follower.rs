//! Reading a trace while it is written.
//!
//! A [`Follower`] is given the bytes of a trace piece by piece, as they arrive, and delivers the events of
//! complete packets. It keeps only the state of the decoders and the bytes of the incomplete packet, so it
//! reads a trace of any length in little memory, and the caller need not keep any bytes.
//!
//! Events of one piece are in order of time. A domain whose packet arrives in a later piece may bring events
//! that are earlier than events of other domains that were already delivered.

use std::collections::{BTreeMap, HashMap};

use crate::error::Result;
use crate::frames::Frames;
use crate::index::{Skim, read_info};
use crate::losses::Losses;
use crate::model::{DomainId, Event, TraceInfo};
use crate::packet::{Header, HeaderFault, MAGIC};

use super::stream::Stream;
use super::{Reader, Stacks};

/// Writers make packets of 32 KiB. A packet that claims to be longer than this is damaged and not waited for.
const LONGEST_PACKET: u64 = 1 << 22;

/// Reads a trace that is still growing.
///
/// ```
/// # use bactrian_trace::{DomainId, Follower, Locate, Micros, NewAlloc, Source, SourceLocation};
/// # use bactrian_trace::{TraceInfo, Words, Writer};
/// # struct Nowhere;
/// # impl Locate for Nowhere {
/// #     fn locate(&self, _code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) { found(&[]) }
/// # }
/// # let info = TraceInfo { version: 2, sample_rate: 1e-4, word_bits: 64, executable: Vec::new(),
/// #     host: Vec::new(), runtime_params: Vec::new(), pid: 1, context: Vec::new(), start: 0 };
/// # let mut writer = Writer::new(Vec::new(), info)?;
/// # writer.alloc(&NewAlloc { time: Micros(1), domain: DomainId(0), length: Words(2), samples: 1,
/// #     source: Source::Minor, stack: &[1] }, &Nowhere)?;
/// # let bytes = writer.finish()?;
/// let mut follower = Follower::new();
/// let mut events = 0;
/// for piece in bytes.chunks(7) {
///     follower.push(piece, |_event, _frames| events += 1)?;
/// }
/// assert_eq!(events, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Follower {
    info: Option<TraceInfo>,
    /// The bytes of the incomplete packet.
    rest: Vec<u8>,
    /// The next id of each domain.
    running: HashMap<DomainId, u64>,
    /// Bytes were lost since the last packet.
    gap: bool,
    streams: BTreeMap<DomainId, Stream>,
    frames: Frames,
    losses: Losses,
    /// Bytes that were read, without those in `rest`, and the packets in them.
    consumed: u64,
    packets: u64,
}

impl Follower {
    /// A follower at the start of a trace.
    pub fn new() -> Follower {
        Follower::default()
    }

    /// Takes the next bytes, and passes the events of packets that are now complete to `visit`, with the frames
    /// their stacks refer to.
    ///
    /// # Errors
    /// If the first packet is not a readable trace-info packet. Then nothing in the file can be used.
    pub fn push(&mut self, bytes: &[u8], mut visit: impl FnMut(Event<'_>, &Frames)) -> Result<()> {
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        if self.info.is_none() {
            match Header::parse(&self.rest) {
                Err(HeaderFault::Short) => return Ok(()),
                Ok(header)
                    if header.size > self.rest.len() as u64 && header.size <= LONGEST_PACKET =>
                {
                    return Ok(());
                }
                _ => {}
            }
            let (info, end) = read_info(&self.rest)?;
            (self.info, start) = (Some(info), end);
            self.packets = 1;
        }
        let end = whole(&self.rest, start);
        if end > start {
            self.read(start, end, &mut visit);
        }
        self.rest.drain(..end);
        self.consumed += end as u64;
        Ok(())
    }

    /// How much was read, up to the end of a packet.
    ///
    /// Headers of version 3 are longer than those of version 2, into which a finished trace of one domain is converted. This
    /// position counts headers as version 2 has them, so the conversion does not change it. [`Index::offset_of`] finds the
    /// packet again.
    ///
    /// [`Index::offset_of`]: crate::Index::offset_of
    pub fn stable_position(&self) -> u64 {
        let version = self.info.as_ref().map_or(2, |info| info.version);
        self.consumed.saturating_sub(Header::surplus(version) * self.packets)
    }

    /// Facts about the run; None until the first packet is complete.
    pub fn info(&self) -> Option<&TraceInfo> {
        self.info.as_ref()
    }

    /// Frames met so far.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Losses so far.
    pub fn losses(&self) -> Losses {
        let mut losses = self.losses.clone();
        for stream in self.streams.values() {
            losses.add(&stream.losses);
        }
        losses
    }

    /// Reads complete packets.
    fn read(&mut self, start: usize, end: usize, visit: &mut impl FnMut(Event<'_>, &Frames)) {
        let Some(info) = &self.info else { return };
        let bytes = self.rest.get(..end).unwrap_or_default();
        let mut skim = Skim::new(bytes, info, std::mem::take(&mut self.running), self.gap);
        skim.packets(start);
        let index;
        (index, self.running, self.gap) = skim.finish();
        self.losses.add(index.losses());
        self.packets += index.packets().len() as u64;
        let mut packets: BTreeMap<DomainId, Vec<u32>> = BTreeMap::new();
        for (at, packet) in index.packets().iter().enumerate() {
            packets.entry(packet.domain).or_default().push(at as u32);
        }
        for (domain, packets) in packets {
            let stream = self.streams.entry(domain);
            stream.or_insert_with(|| Stream::followed(info.start, domain)).go_on(packets);
        }
        let streams = std::mem::take(&mut self.streams).into_values().collect();
        let frames = std::mem::take(&mut self.frames);
        let mut reader = Reader {
            bytes,
            index: &index,
            stacks: Stacks::Decode,
            streams,
            heads: Vec::new(),
            current: None,
            frames,
        };
        while let Some((event, frames)) = reader.next_with_frames() {
            visit(event, frames);
        }
        let Reader { streams, frames, .. } = reader;
        self.streams = streams.into_iter().map(|stream| (stream.domain, stream)).collect();
        self.frames = frames;
    }
}

/// The end of the last complete packet from an offset on. Bytes outside packets count as complete up to where
/// the next packet may begin.
fn whole(bytes: &[u8], mut at: usize) -> usize {
    let next = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let magic = MAGIC.to_le_bytes();
        let found = rest.windows(magic.len()).position(|window| window == magic);
        // A magic number may begin at the very end.
        from + found.unwrap_or(rest.len().saturating_sub(magic.len() - 1))
    };
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        at = match Header::parse(rest) {
            Ok(header) if header.size <= rest.len() as u64 => at + header.size as usize,
            Ok(header) if header.size <= LONGEST_PACKET => return at,
            Err(HeaderFault::Short) => return at,
            _ if rest.len() <= MAGIC.to_le_bytes().len() => return at,
            _ => next(at + 1),
        };
    }
}
