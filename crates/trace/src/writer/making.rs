//! Unfinished packets, for a sink that outlives the program.
//!
//! Such a sink keeps a copy of both unfinished packets of each domain, and words that say how far they are. The
//! packets' headers are written when the packets are begun and announce less than they would at the end:
//! [`complete`] corrects them.

use alloc::vec::Vec;

use super::Domain;
use super::buffer::SPARE;
use crate::model::TraceInfo;
use crate::packet::Header;

/// Nearly all events are shorter than this.
pub(super) const SHORT: usize = SPARE;

/// The unfinished packets of a domain after an event.
#[derive(Clone, Copy)]
pub struct Making<'w> {
    pub(super) info: &'w TraceInfo,
    pub(super) domain: &'w Domain,
    /// Where the last event starts in its packet; 0 if that event came with new locations.
    pub(super) start: usize,
}

/// How far the unfinished packets of a domain are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MakingWords {
    /// Size of the packet with events, in bytes.
    pub events: usize,
    /// Size of the packet with locations, in bytes.
    pub locations: usize,
    /// The number of allocations in the packet with events.
    pub allocations: u64,
    /// The time of its last event, in microseconds since the Unix epoch.
    pub time_end: u64,
}

impl<'w> Making<'w> {
    /// How far the packets are.
    #[inline]
    pub fn words(&self) -> MakingWords {
        MakingWords {
            events: self.domain.packet.len(),
            locations: self.domain.locations.len(),
            allocations: self.domain.next_id - self.domain.id_begin,
            time_end: self.domain.time_end,
        }
    }

    /// The packet with events, with zeros instead of its header.
    #[inline]
    pub fn events(&self) -> &'w [u8] {
        self.domain.packet.as_slice()
    }

    /// Where the last event starts in the packet with events, if there is another before it, and nothing else is
    /// new.
    #[inline]
    pub fn start(&self) -> Option<usize> {
        (self.start > self.domain.packet.empty()).then_some(self.start)
    }

    /// The last event, at a fixed length if it is shorter than that: what is behind its end means nothing. None if
    /// it is longer.
    #[inline]
    pub fn short_event(&self) -> Option<&'w [u8; SHORT]> {
        let length = self.domain.packet.len() - self.start;
        self.domain.packet.spare_from(self.start).filter(|event| length <= event.len())
    }

    /// The packet with locations, with zeros instead of its header.
    #[inline]
    pub fn locations(&self) -> &'w [u8] {
        &self.domain.locations
    }

    /// The current headers of both packets, events first.
    pub fn headers(&self) -> [Vec<u8>; 2] {
        let headers =
            [self.domain.events_header(self.info), self.domain.locations_header(self.info)];
        headers.map(|header| {
            let mut bytes = Vec::with_capacity(Header::len(header.version));
            header.emit(&mut bytes);
            bytes
        })
    }
}

/// Offsets of the header fields that change while a packet is unfinished; the same in each version.
const SIZE: usize = 4;
const TIME_END: usize = 16;

/// Completes unfinished packets, each with the header from its beginning: first locations, then events, as they
/// have to be written. Packets that make no sense are left out.
pub fn complete(words: &MakingWords, events: &[u8], locations: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let version = |packet: &[u8]| match packet.get(28..30) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    };
    for (packet, is_events) in [(locations, false), (events, true)] {
        let length = Header::len(version(packet));
        if packet.len() <= length {
            continue;
        }
        let start = out.len();
        out.extend_from_slice(packet);
        let packet = &mut out[start..];
        let bits = (packet.len() * 8) as u32;
        packet[SIZE..SIZE + 4].copy_from_slice(&bits.to_le_bytes());
        if is_events {
            packet[TIME_END..TIME_END + 8].copy_from_slice(&words.time_end.to_le_bytes());
            // The last two words of a header are the number of the first allocation and the one after the last.
            let (begin, end) = (length - 16, length - 8);
            let first = packet[begin..end].try_into().map_or(0, u64::from_le_bytes);
            let after = first.wrapping_add(words.allocations);
            packet[end..length].copy_from_slice(&after.to_le_bytes());
        }
    }
    out
}
