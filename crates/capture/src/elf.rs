//! Headers of 64-bit little-endian ELF files, wherever they are: in files, in memory, in core files.

/// The first bytes of such a file.
pub const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// The size of the header in bytes.
pub const HEADER: usize = 64;
/// The size of a program header in bytes.
pub const PROGRAM_HEADER: usize = 56;

/// Types of segments.
pub mod kind {
    /// Mapped into memory.
    pub const LOAD: u32 = 1;
    /// For the dynamic linker.
    pub const DYNAMIC: u32 = 2;
    /// Notes, such as the build id.
    pub const NOTE: u32 = 4;
    /// The template of thread-local variables.
    pub const TLS: u32 = 7;
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    /// The size in the file, in bytes.
    pub file_size: u64,
    /// The size in memory, in bytes.
    pub size: u64,
    pub alignment: u64,
}

impl Segment {
    /// Parses a table of program headers.
    pub fn all(table: &[u8]) -> Vec<Segment> {
        let segments = table.as_chunks::<PROGRAM_HEADER>().0.iter().filter_map(|header| {
            Some(Segment {
                kind: word32(header, 0)?,
                flags: word32(header, 4)?,
                offset: word(header, 8)?,
                address: word(header, 16)?,
                file_size: word(header, 32)?,
                size: word(header, 40)?,
                alignment: word(header, 48)?,
            })
        });
        segments.collect()
    }

    /// The end offset of its bytes in the file.
    pub fn file_end(&self) -> u64 {
        self.offset.saturating_add(self.file_size)
    }
}

/// The 8 bytes at an offset.
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The 4 bytes at an offset.
pub fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The 2 bytes at an offset.
pub fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
