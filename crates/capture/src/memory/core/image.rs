//! Files of a core: the beginning of each, which says what it is, and what of it is mapped.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::notes::{half, word};

const HEADER: usize = 64;
const SEGMENT: usize = 56;
/// No object has more of them; a core says otherwise how many it has.
const MOST_SEGMENTS: usize = 1 << 20;
/// How an ELF file of 64 bits, little-endian, begins.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// What stands for "more than fit here".
const MANY: usize = 0xffff;

/// Bytes that can be read at any place.
pub trait Bytes: Send + Sync {
    /// Fills the buffer. False if not all of it is there.
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool;
    /// How many there are.
    fn length(&self) -> u64;
}

/// A file whose length does not change.
#[derive(Debug)]
pub struct Fixed {
    file: File,
    length: u64,
}

impl Fixed {
    pub fn new(file: File) -> io::Result<Fixed> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok(Fixed { length: metadata.len(), file })
    }
}

impl Bytes for Fixed {
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.file.read_exact_at(buffer, at).is_ok()
    }

    fn length(&self) -> u64 {
        self.length
    }
}

impl Bytes for Vec<u8> {
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        let start = usize::try_from(at).ok();
        let bytes = start.and_then(|start| self.get(start..start.checked_add(buffer.len())?));
        bytes.map(|bytes| buffer.copy_from_slice(bytes)).is_some()
    }

    fn length(&self) -> u64 {
        self.len() as u64
    }
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    /// Bytes in the file, and in memory.
    pub file_size: u64,
    pub size: u64,
}

impl Segment {
    /// Where its bytes end in the file.
    pub fn file_end(&self) -> u64 {
        self.offset.saturating_add(self.file_size)
    }
}

/// What an ELF file is for, the machine it is for, and its segments.
pub struct Image {
    pub purpose: u16,
    pub machine: u16,
    pub segments: Vec<Segment>,
}

impl Image {
    /// Reads headers; the error is what is wrong, in words.
    pub fn read(bytes: &dyn Bytes) -> Result<Image, &'static str> {
        let mut header = [0; HEADER];
        if !bytes.read(0, &mut header) {
            return Err("it is too short for an ELF file");
        }
        if !header.starts_with(MAGIC) {
            return Err("it is no ELF file of 64 bits");
        }
        let damaged = "its header is damaged";
        let [purpose, machine] =
            [16, 18].map(|at| u16::from_le_bytes([header[at], header[at + 1]]));
        let at = word(&header, 32).ok_or(damaged)?;
        let short = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let count = match short(56) {
            MANY => {
                // Then the first section header says it.
                let section = word(&header, 40).ok_or(damaged)?;
                let mut info = [0; 4];
                let info_at = section.checked_add(44).ok_or(damaged)?;
                if !bytes.read(info_at, &mut info) {
                    return Err("the number of its segments is missing");
                }
                half(&info, 0).ok_or(damaged)? as usize
            }
            count => count,
        };
        if short(54) != SEGMENT || count > MOST_SEGMENTS {
            return Err("its program headers are not as they should be");
        }
        let size = count * SEGMENT;
        if at.checked_add(size as u64).is_none_or(|end| end > bytes.length()) {
            return Err("its program headers are cut");
        }
        let mut table = vec![0; size];
        if !bytes.read(at, &mut table) {
            return Err("its program headers cannot be read");
        }
        let segments = table.as_chunks::<SEGMENT>().0.iter().filter_map(|entry| {
            Some(Segment {
                kind: half(entry, 0)?,
                flags: half(entry, 4)?,
                offset: word(entry, 8)?,
                address: word(entry, 16)?,
                file_size: word(entry, 32)?,
                size: word(entry, 40)?,
            })
        });
        Ok(Image { purpose, machine, segments: segments.collect() })
    }
}
