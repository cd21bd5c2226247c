//! Sections: everything in a file between its header and its trailer.

use super::{Cursor, Fault, Packed, Parse};

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// The kind of a section.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum SectionKind {
            $($(#[$about])* $name = $code,)*
        }

        impl SectionKind {
            /// Every kind, in order of codes.
            pub const ALL: &[SectionKind] = &[$(SectionKind::$name,)*];

            /// Its name in the specification and in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(SectionKind::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    Info = 1, "info";
    Group = 2, "group";
    Directory = 3, "directory";

    Shapes = 16, "shapes";
    LongShapes = 17, "long shapes";
    Gaps = 18, "gaps";
    FieldKinds = 19, "field kinds";
    Targets = 20, "targets";
    Immediates = 21, "immediates";
    Closures = 22, "closures";
    CustomBlocks = 23, "custom blocks";
    Tails = 24, "string tails";
    Prefixes = 25, "string prefixes";
    Equals = 26, "equal contents";

    Names = 64, "names";
    Spaces = 65, "spaces";
    Memory = 66, "memory";
    Statistics = 67, "statistics";
    Modules = 68, "modules";
    Threads = 69, "threads";
    Frames = 70, "frames";
    Roots = 71, "roots";
    Finalisers = 72, "finalisers";
    Ephemerons = 73, "ephemerons";
    Continuations = 74, "continuations";
    Codes = 75, "codes";
    Customs = 76, "custom identifiers";
    Labels = 77, "labels";
    Samples = 78, "samples";
    Stacks = 79, "stacks";
    GapSentences = 80, "gap sentences";
    Oddities = 81, "oddities";
    FiberStacks = 82, "fiber stacks";
    Variables = 83, "variables";
    Plugins = 84, "plugins";
    SizeClasses = 85, "size classes";
    Sampling = 86, "sampling";
}

impl SectionKind {
    pub fn from_code(code: u16) -> Option<SectionKind> {
        SectionKind::ALL.iter().copied().find(|&kind| kind as u16 == code)
    }

    /// Whether it is a column of a group.
    pub fn is_column(self) -> bool {
        (16..64).contains(&(self as u16))
    }
}

/// Size of a section's header in bytes.
pub(crate) const SECTION_HEADER: usize = 36;

const MARKER: &[u8; 4] = b"SECT";

/// The header of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The code of its kind. Not a [`SectionKind`], because unknown kinds are skipped.
    pub kind: u16,
    /// Whether the contents are a zstd frame.
    pub is_compressed: bool,
    /// The group that a column belongs to; 0 for other sections.
    pub number: u32,
    /// Length of the contents before compression.
    pub raw: u64,
    /// Length of the contents in the file.
    pub stored: u64,
    /// CRC-32 of the contents in the file.
    pub sum: u32,
}

impl Header {
    pub fn of(kind: SectionKind, number: u32, packed: &Packed) -> Header {
        Header {
            kind: kind as u16,
            is_compressed: packed.is_compressed,
            number,
            raw: packed.raw,
            stored: packed.bytes.len() as u64,
            sum: packed.sum,
        }
    }

    pub fn to_bytes(self) -> [u8; SECTION_HEADER] {
        let mut bytes = [0; SECTION_HEADER];
        bytes[0..4].copy_from_slice(MARKER);
        bytes[4..6].copy_from_slice(&self.kind.to_le_bytes());
        bytes[6..8].copy_from_slice(&u16::from(self.is_compressed).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.raw.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.stored.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.sum.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..32]);
        bytes[32..36].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub fn read(bytes: &[u8]) -> Parse<Header> {
        let header = bytes.get(..SECTION_HEADER).ok_or(Fault("it ends inside a header"))?;
        let mut cursor = Cursor::new(header);
        if cursor.array::<4>()? != *MARKER {
            return Err(Fault("no section begins here"));
        }
        let kind = cursor.u16()?;
        let is_compressed = match cursor.u16()? {
            0 => false,
            1 => true,
            _ => return Err(Fault("its compression is unknown")),
        };
        let header = Header {
            kind,
            is_compressed,
            number: cursor.u32()?,
            raw: cursor.u64()?,
            stored: cursor.u64()?,
            sum: cursor.u32()?,
        };
        if cursor.u32()? != crc32fast::hash(&bytes[..32]) {
            return Err(Fault("the checksum of a header is wrong"));
        }
        Ok(header)
    }
}

/// A section, as listed in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionEntry {
    /// The code of its kind.
    pub kind: u16,
    /// The group that it belongs to; 0 for other sections.
    pub number: u32,
    /// Byte offset of its header.
    pub offset: u64,
}

/// The trailer of a complete file, which locates the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Byte offset of the directory's section.
    pub offset: u64,
    /// Its length, header included.
    pub length: u64,
}

impl Trailer {
    pub const LENGTH: usize = 28;
    const MAGIC: &[u8; 8] = b"HEAPDONE";

    pub fn to_bytes(self) -> [u8; Trailer::LENGTH] {
        let mut bytes = [0; Trailer::LENGTH];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..16]);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes[20..28].copy_from_slice(Trailer::MAGIC);
        bytes
    }

    pub fn read(bytes: &[u8]) -> Parse<Trailer> {
        let mut cursor = Cursor::new(bytes);
        let trailer = Trailer { offset: cursor.u64()?, length: cursor.u64()? };
        let sum = cursor.u32()?;
        if cursor.take(8)? != Trailer::MAGIC {
            return Err(Fault("there is no trailer"));
        }
        if sum != crc32fast::hash(&bytes[..16]) {
            return Err(Fault("the checksum of the trailer is wrong"));
        }
        Ok(trailer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_known() {
        for &kind in SectionKind::ALL {
            assert_eq!(SectionKind::from_code(kind as u16), Some(kind));
        }
        assert!(SectionKind::ALL.is_sorted());
        assert_eq!(SectionKind::from_code(0), None);
    }

    #[test]
    fn every_bit_of_a_header_is_checked() {
        let header =
            Header { kind: 16, is_compressed: true, number: 3, raw: 100, stored: 7, sum: 42 };
        let bytes = header.to_bytes();
        assert_eq!(Header::read(&bytes), Ok(header));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::read(&damaged).is_err(), "bit {bit}");
        }
        let trailer = Trailer { offset: 5, length: 77 };
        let bytes = trailer.to_bytes();
        assert_eq!(Trailer::read(&bytes), Ok(trailer));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Trailer::read(&damaged).is_err(), "bit {bit}");
        }
    }
}
