//! Files that a core file refers to, and headers of ELF files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::elf::{HEADER, MAGIC, PROGRAM_HEADER, Segment, word, word16, word32};

/// An upper bound for the number of segments; a core file stores larger numbers elsewhere.
const MOST_SEGMENTS: usize = 1 << 20;
/// The number of segments that means "more than fit here" (PN_XNUM).
const MANY: usize = 0xffff;

/// Bytes that can be read at any offset.
pub trait Bytes: Send + Sync {
    /// Fills the buffer; returns false if some of the bytes do not exist.
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool;
    /// The number of bytes.
    fn length(&self) -> u64;
}

/// A file whose length is not expected to change.
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

/// The headers of an ELF file: its type, its machine, and its segments.
pub struct ElfHeaders {
    pub purpose: u16,
    pub machine: u16,
    pub segments: Vec<Segment>,
}

impl ElfHeaders {
    /// Reads the headers; the error is a sentence.
    pub fn read(bytes: &dyn Bytes) -> Result<ElfHeaders, &'static str> {
        let mut header = [0; HEADER];
        if !bytes.read(0, &mut header) {
            return Err("it is too short for an ELF file");
        }
        if !header.starts_with(MAGIC) {
            return Err("it is not a 64-bit ELF file");
        }
        let damaged = "its header is damaged";
        let short = |at: usize| word16(&header, at).ok_or(damaged);
        let (purpose, machine) = (short(16)?, short(18)?);
        let at = word(&header, 32).ok_or(damaged)?;
        let count = match usize::from(short(56)?) {
            MANY => {
                // Then the number is in the first section header.
                let section = word(&header, 40).ok_or(damaged)?;
                let mut info = [0; 4];
                let info_at = section.checked_add(44).ok_or(damaged)?;
                if !bytes.read(info_at, &mut info) {
                    return Err("the number of its segments is missing");
                }
                word32(&info, 0).ok_or(damaged)? as usize
            }
            count => count,
        };
        if usize::from(short(54)?) != PROGRAM_HEADER || count > MOST_SEGMENTS {
            return Err("its program headers are invalid");
        }
        let size = count * PROGRAM_HEADER;
        if at.checked_add(size as u64).is_none_or(|end| end > bytes.length()) {
            return Err("its program headers are truncated");
        }
        let mut table = vec![0; size];
        if !bytes.read(at, &mut table) {
            return Err("its program headers cannot be read");
        }
        Ok(ElfHeaders { purpose, machine, segments: Segment::all(&table) })
    }
}
