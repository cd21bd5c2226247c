//! The packet header, read and written.

#[cfg(feature = "std")]
mod parse;

use crate::model::DomainId;
use crate::wire::Put;

#[cfg(feature = "std")]
pub(crate) use parse::{HeaderFault, event_word};

/// The first four bytes of every packet.
pub(crate) const MAGIC: u32 = 0xC1FC_1FC1;
/// The maximum size of a packet that memtrace writes.
pub(crate) const MAX_PACKET: usize = 32768;
/// The number of ids that version 3 assigns to a domain at a time.
pub(crate) const ID_CHUNK: u64 = 10_000;
/// The number of slots of the backtrace cache.
pub(crate) const CACHE_SLOTS: usize = 16384;
/// How many low bits of their time events hold.
pub(crate) const TIME_BITS: u32 = 25;
/// The `cache_verify_ix` of packets that check nothing.
const NO_CHECK: u16 = 0xFFFF;

/// A slot of the backtrace cache as it was in the writer at the beginning of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheCheck {
    pub slot: u16,
    pub successor: u16,
    pub code: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Size of the packet in bytes, header included.
    pub size: u64,
    /// Microseconds since the Unix epoch.
    pub time_begin: u64,
    pub time_end: u64,
    pub version: u16,
    pub pid: u64,
    pub domain: DomainId,
    pub check: Option<CacheCheck>,
    /// Ids of the packet's allocations: from here ...
    pub id_begin: u64,
    /// ... to before here.
    pub id_end: u64,
}

impl Header {
    /// Size of a header of this version, in bytes.
    pub fn len(version: u16) -> usize {
        if version >= 3 { 68 } else { 66 }
    }

    pub fn emit(&self, out: &mut impl Put) {
        out.put_u32(MAGIC);
        out.put_u32(u32::try_from(self.size * 8).unwrap_or(u32::MAX));
        out.put_u64(self.time_begin);
        out.put_u64(self.time_end);
        out.put_u32(0);
        out.put_u16(self.version);
        out.put_u64(self.pid);
        if self.version >= 3 {
            out.put_u16(self.domain.0);
        }
        let none = CacheCheck { slot: NO_CHECK, successor: 0, code: 0 };
        let check = self.check.unwrap_or(none);
        out.put_u16(check.slot);
        out.put_u16(check.successor);
        out.put_u64(check.code);
        out.put_u64(self.id_begin);
        out.put_u64(self.id_end);
    }
}

/// The first word of an event: its code and the low bits of its time.
#[inline]
pub(crate) fn event_start(code: u8, time: u64) -> u32 {
    let low = (time as u32) & ((1 << TIME_BITS) - 1);
    low | u32::from(code) << TIME_BITS
}

/// Writes the first word of an event.
pub(crate) fn put_event_word(out: &mut impl Put, code: u8, time: u64) {
    out.put_u32(event_start(code, time));
}

/// Event codes.
pub(crate) mod code {
    pub const INFO: u8 = 0;
    pub const LOCATION: u8 = 1;
    pub const ALLOC: u8 = 2;
    pub const PROMOTE: u8 = 3;
    pub const COLLECT: u8 = 4;
    /// An allocation of `n` words, 1 to 16, has the code `SHORT_ALLOC + n`.
    pub const SHORT_ALLOC: u8 = 100;
    pub const SHORT_ALLOC_MAX_WORDS: u8 = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for version in 1..=3 {
            let header = Header {
                size: 4096,
                time_begin: 7,
                time_end: 9,
                version,
                pid: 1 << 40,
                domain: DomainId(if version == 3 { 12 } else { 0 }),
                check: Some(CacheCheck { slot: 4242, successor: 3, code: u64::MAX }),
                id_begin: 5,
                id_end: 6,
            };
            let mut bytes = Vec::new();
            header.emit(&mut bytes);
            assert_eq!(bytes.len(), Header::len(version));
            assert_eq!(Header::parse(&bytes), Ok(header));
            for cut in 0..bytes.len() {
                assert_eq!(Header::parse(&bytes[..cut]), Err(HeaderFault::Short));
            }
        }
    }
}
