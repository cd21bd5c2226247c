//! The memory of a process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bactrian_capture::memory::{Memory, Region};

pub struct ProcessMemory {
    memory: File,
    regions: Vec<Region>,
}

impl ProcessMemory {
    pub fn open(pid: u32) -> io::Result<ProcessMemory> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let regions = maps.lines().filter_map(region).collect();
        Ok(ProcessMemory { memory: File::open(format!("/proc/{pid}/mem"))?, regions })
    }
}

fn region(line: &str) -> Option<Region> {
    let words: Vec<_> = line.splitn(6, ' ').collect();
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = words.first()?.split_once('-')?;
    let file = words.get(5).map(|name| name.trim()).filter(|name| !name.is_empty());
    Some(Region {
        range: address(start)?..address(end)?,
        readable: words.get(1)?.contains('r'),
        writable: words.get(1)?.contains('w'),
        executable: words.get(1)?.contains('x'),
        shared: words.get(1)?.contains('s'),
        file: file.map(PathBuf::from),
        offset: address(words.get(2)?)?,
        inode: words.get(4)?.parse().ok()?,
    })
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.memory.read_exact_at(buffer, address).is_ok()
    }

    fn regions(&self) -> &[Region] {
        &self.regions
    }
}
