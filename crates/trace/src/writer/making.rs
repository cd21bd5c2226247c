//! What is in the making when a program dies, for a sink that outlives it.
//!
//! Such a sink keeps a copy of both packets of each place, and three words that say how far they are. The packets' headers
//! are written when they are begun and say less than they would at the end: [`complete`] makes up for it.

use alloc::vec::Vec;

use super::Domain;
use crate::model::TraceInfo;
use crate::packet::Header;

/// What a domain has in the making, after an event.
pub struct Making<'w> {
    pub(super) info: &'w TraceInfo,
    pub(super) domain: &'w Domain,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MakingWords {
    /// Bytes of the packet with events.
    pub events: usize,
    /// Bytes of the packet with locations.
    pub locations: usize,
    /// Allocations in it.
    pub allocations: u64,
    /// When its last event was.
    pub time_end: u64,
}

impl Making<'_> {
    /// How far it is.
    #[inline]
    pub fn words(&self) -> MakingWords {
        MakingWords {
            events: self.domain.packet.len(),
            locations: self.domain.locations.len(),
            allocations: self.domain.next_id - self.domain.id_begin,
            time_end: self.domain.time_end,
        }
    }

    /// The packet with events; instead of its header there are zeros.
    #[inline]
    pub fn events(&self) -> &[u8] {
        &self.domain.packet
    }

    /// The packet with locations; instead of its header there are zeros.
    #[inline]
    pub fn locations(&self) -> &[u8] {
        &self.domain.locations
    }

    /// Headers of both as they are now, that with events first.
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

/// Offsets in a header of what changes while a packet is in the making, for each version the same.
const SIZE: usize = 4;
const TIME_END: usize = 16;

/// Completes packets that were in the making, each with a header of when they were begun: those with locations and events,
/// as they have to be written. What makes no sense is left out.
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
            // The last two words of a header are the first allocation's number and that after the last.
            let (begin, end) = (length - 16, length - 8);
            let first = packet[begin..end].try_into().map_or(0, u64::from_le_bytes);
            let after = first.wrapping_add(words.allocations);
            packet[end..length].copy_from_slice(&after.to_le_bytes());
        }
    }
    out
}
