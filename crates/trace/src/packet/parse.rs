//! Parsing of the packet header and of the first word of events.

use super::{CacheCheck, Header, MAGIC, NO_CHECK, TIME_BITS};
use crate::model::DomainId;
use crate::wire::{Cursor, Fault, Parse};

/// Why bytes are not a packet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    Short,
    Magic,
    Version(u16),
    Size(u32),
}

impl core::fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            HeaderFault::Short => write!(f, "ends inside a packet header"),
            HeaderFault::Magic => write!(f, "no packet starts here"),
            HeaderFault::Version(v) => write!(
                f,
                "format version {v}, but only 1 to 3 are \
                supported"
            ),
            HeaderFault::Size(bits) => write!(f, "impossible packet size of {bits} bits"),
        }
    }
}

impl From<Fault> for HeaderFault {
    fn from(_: Fault) -> HeaderFault {
        HeaderFault::Short
    }
}

impl Header {
    /// How many bytes longer a header of this version is than one of version 2.
    pub fn surplus(version: u16) -> u64 {
        (Header::len(version) - Header::len(2)) as u64
    }

    pub fn parse(bytes: &[u8]) -> Result<Header, HeaderFault> {
        let mut cursor = Cursor::at(bytes, 0);
        if cursor.u32()? != MAGIC {
            return Err(HeaderFault::Magic);
        }
        let bits = cursor.u32()?;
        let time_begin = cursor.u64()?;
        let time_end = cursor.u64()?;
        let _flush_duration = cursor.u32()?;
        let version = cursor.u16()?;
        if !crate::READS.contains(&version) {
            return Err(HeaderFault::Version(version));
        }
        if bits % 8 != 0 || (bits as usize / 8) < Header::len(version) {
            return Err(HeaderFault::Size(bits));
        }
        let pid = cursor.u64()?;
        let domain = if version >= 3 { cursor.u16()? } else { 0 };
        let (slot, successor, code) = (cursor.u16()?, cursor.u16()?, cursor.u64()?);
        Ok(Header {
            size: u64::from(bits / 8),
            time_begin,
            time_end,
            version,
            pid,
            domain: DomainId(domain),
            check: (slot != NO_CHECK).then_some(CacheCheck { slot, successor, code }),
            id_begin: cursor.u64()?,
            id_end: cursor.u64()?,
        })
    }
}

/// The first word of an event: its code and the low bits of its time.
#[inline]
pub(crate) fn event_word(cursor: &mut Cursor<'_>) -> Parse<(u8, u32)> {
    let word = cursor.u32()?;
    Ok(((word >> TIME_BITS) as u8, word & ((1 << TIME_BITS) - 1)))
}
