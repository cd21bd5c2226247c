//! Memory of a process, which must not run while it is read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{Memory, Region};

/// An upper bound for the length of a list of mappings, in bytes.
const LONGEST_LIST: u64 = 256 << 20;

/// The memory of a process.
#[derive(Debug)]
pub struct ProcessMemory {
    memory: File,
    regions: Vec<Region>,
}

impl ProcessMemory {
    /// Opens the memory of a process that we are permitted to read.
    ///
    /// # Errors
    /// If there is no such process, or the kernel does not permit it.
    pub fn open(pid: u32) -> io::Result<ProcessMemory> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        ProcessMemory::new(memory, File::open(format!("/proc/{pid}/maps"))?)
    }

    /// From the open files `mem` and `maps` of a process's directory in /proc.
    ///
    /// # Errors
    /// If the list of mappings cannot be read.
    pub fn new(memory: File, maps: File) -> io::Result<ProcessMemory> {
        let mut text = Vec::new();
        maps.take(LONGEST_LIST).read_to_end(&mut text)?;
        let lines = text.split(|&byte| byte == b'\n');
        Ok(ProcessMemory { memory, regions: lines.filter_map(region).collect() })
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.memory.read_exact_at(buffer, address).is_ok()
    }

    fn regions(&self) -> &[Region] {
        &self.regions
    }
}

/// Parses a line of the list: `start-end rwxp offset device inode      name`.
fn region(line: &[u8]) -> Option<Region> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut text = || str::from_utf8(fields.next()?).ok();
    let (start, end) = text()?.split_once('-')?;
    let rights = text()?.as_bytes();
    let offset = text()?;
    let _device = text()?;
    let inode = text()?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let name = fields.next().unwrap_or_default().trim_ascii_start();
    // The kernel appends this to files that were deleted, and keeps the inode.
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    Some(Region {
        range: hex(start)?..hex(end)?,
        readable: rights.first() == Some(&b'r'),
        writable: rights.get(1) == Some(&b'w'),
        executable: rights.get(2) == Some(&b'x'),
        shared: rights.get(3) == Some(&b's'),
        file: (!name.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name))),
        offset: hex(offset)?,
        inode: inode.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_maps_are_parsed() {
        let line = b"7f00-7f10 r-xs 00001000 fe:00 42                 /a b/c (deleted)";
        let found = region(line).expect("a line");
        assert_eq!((found.range.start, found.range.end), (0x7f00, 0x7f10));
        assert!(found.readable && !found.writable && found.executable && found.shared);
        assert_eq!(found.file.as_deref(), Some(std::path::Path::new("/a b/c")));
        assert_eq!((found.offset, found.inode), (0x1000, 42));
        assert_eq!(region(b"7f00-7f10 rw-p 0 00:00 0").expect("a line").file, None);
        for line in [b"".as_slice(), b"7f00", b"x-y rw-p 0 0 0", b"1-2 \xff 0 0 0"] {
            assert!(region(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn a_process_can_read_itself() {
        let memory = ProcessMemory::open(std::process::id()).expect("ourselves");
        let here = [7_u64, 8];
        assert_eq!(memory.word(here.as_ptr().addr() as u64 + 8), Some(8));
        assert_eq!(memory.word(0), None);
        let at = here.as_ptr().addr() as u64;
        assert!(memory.regions().iter().any(|region| region.range.contains(&at)));
    }
}
