//! What the kernel reports about a process: memory, CPU time, threads, and whether it has ended.
//!
//! The runtime_events ring of OCaml 5 is a file that the program maps and writes. Its pages count as the
//! program's memory, although they exist only because the program is observed: they are subtracted.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::Known;
use crate::memory::Region;

/// Bytes of an entry of `pagemap`; there is one per page.
const ENTRY: u64 = 8;
/// The bit that says that a page is resident.
const PRESENT: u64 = 1 << 63;
/// An upper bound for the length of rings; more is not examined.
const LONGEST_RING: u64 = 1 << 30;

/// A process that is examined from time to time.
#[derive(Debug)]
pub struct Process {
    folder: PathBuf,
    page: u64,
    ticks_per_second: u64,
    /// Address ranges of the runtime_events ring.
    ring: Vec<std::ops::Range<u64>>,
    /// Its start time, in the kernel's ticks since boot. Process ids are reused.
    started: u64,
}

/// What the kernel reports about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The resident set in bytes, without the runtime_events ring.
    pub resident: Known<u64>,
    /// CPU time of all threads, in nanoseconds.
    pub cpu: u64,
    /// The number of threads.
    pub threads: u64,
    /// Nanoseconds since its start.
    pub age: u64,
}

impl Process {
    /// Opens a running process.
    ///
    /// # Errors
    /// If there is no process with this id.
    pub fn open(pid: u32) -> io::Result<Process> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let started = Stat::read(&folder)?.started;
        Ok(Process {
            folder,
            page: rustix::param::page_size() as u64,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            ring: Vec::new(),
            started,
        })
    }

    /// Notes where the runtime_events ring is mapped, if it is.
    pub fn note_mappings(&mut self, regions: &[Region]) {
        let rings = regions.iter().filter(|region| is_ring(region));
        self.ring = rings.map(|region| region.range.clone()).collect();
    }

    /// What the kernel reports about it; None if it has ended.
    pub fn usage(&self) -> Option<Usage> {
        let stat = Stat::read(&self.folder).ok().filter(|stat| stat.started == self.started)?;
        // A process loses its memory before it becomes a zombie.
        let memory = self.memory();
        if matches!(stat.state, b'Z' | b'X') || memory.as_ref().is_ok_and(|it| it.mapped == 0) {
            return None;
        }
        let nanos = |ticks: u64| {
            (u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second)) as u64
        };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let now = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        Some(Usage {
            resident: memory.and_then(|memory| self.resident(memory.resident)),
            cpu: nanos(stat.ticks),
            threads: stat.threads,
            age: now.saturating_sub(nanos(stat.started)),
        })
    }

    fn memory(&self) -> Known<Memory> {
        let statm = fs::read_to_string(self.folder.join("statm")).unwrap_or_default();
        let mut pages = statm.split(' ').map_while(|word| word.parse::<u64>().ok());
        let memory = pages.next().zip(pages.next());
        let (mapped, resident) = memory.ok_or("the kernel does not report its memory")?;
        Ok(Memory { mapped: mapped * self.page, resident: resident * self.page })
    }

    /// The program's own resident memory.
    fn resident(&self, all: u64) -> Known<u64> {
        if self.ring.is_empty() {
            return Ok(all);
        }
        let of_ring = self.of_ring().map_err(|error| {
            format!("the kernel does not report the size of its runtime_events ring: {error}")
        })?;
        Ok(all.saturating_sub(of_ring))
    }

    /// The resident bytes of the ring. `pagemap` reports on these addresses alone; for `smaps` the kernel
    /// would examine all of the program's memory.
    fn of_ring(&self) -> io::Result<u64> {
        let pagemap = File::open(self.folder.join("pagemap"))?;
        let mut present = 0;
        for range in &self.ring {
            let pages = range.end.saturating_sub(range.start).min(LONGEST_RING) / self.page;
            let mut bytes = vec![0; (pages * ENTRY) as usize];
            pagemap.read_exact_at(&mut bytes, range.start / self.page * ENTRY)?;
            let entries = bytes.as_chunks::<{ ENTRY as usize }>().0.iter();
            present += entries.filter(|entry| u64::from_le_bytes(**entry) & PRESENT != 0).count();
        }
        Ok(present as u64 * self.page)
    }
}

/// Whether this is the ring of OCaml 5's runtime_events.
pub fn is_ring(region: &Region) -> bool {
    let is_named = region
        .file
        .as_ref()
        .is_some_and(|file| file.extension().is_some_and(|end| end == "events"));
    is_named && region.shared && region.inode != 0
}

/// The fields of `/proc/PID/statm` that are used, in bytes.
struct Memory {
    mapped: u64,
    resident: u64,
}

/// The fields of `/proc/PID/stat` that are used.
struct Stat {
    state: u8,
    ticks: u64,
    threads: u64,
    started: u64,
}

impl Stat {
    fn read(folder: &std::path::Path) -> io::Result<Stat> {
        let text = fs::read(folder.join("stat"))?;
        Stat::parse(&text).ok_or_else(|| io::Error::other("its state cannot be read"))
    }

    /// Parses the file. The program's name is in parentheses, and may contain anything.
    fn parse(text: &[u8]) -> Option<Stat> {
        let end = text.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(text.get(end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Stat {
            state: *fields.first()?.as_bytes().first()?,
            ticks: number(11)?.saturating_add(number(12)?),
            threads: number(17)?,
            started: number(19)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_program_names_do_not_confuse_the_stat_parser() {
        let text = b"77 (a) S (b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 3 0 4242 0\n";
        let stat = Stat::parse(text).expect("it is as the kernel writes it");
        assert_eq!((stat.state, stat.ticks), (b'R', 11 + 12));
        assert_eq!((stat.threads, stat.started), (3, 4242));
        for text in [&b""[..], b"77 (x", b"77 (x) R 1", b"77 (x) \xff"] {
            assert!(Stat::parse(text).is_none());
        }
    }

    #[test]
    fn this_process_is_seen() {
        let process = Process::open(std::process::id()).expect("it runs");
        let usage = process.usage().expect("it runs");
        assert!(usage.resident.is_ok_and(|bytes| bytes > 1 << 20));
        assert!(usage.threads >= 1 && usage.age > 0);
        assert!(Process::open(u32::MAX / 2).is_err());
    }

    /// A lot of memory takes a while to be freed; the process must not appear to run without memory
    /// meanwhile.
    #[test]
    fn an_ending_process_is_never_seen_without_memory() {
        let mut command = std::process::Command::new("dd");
        command.args(["if=/dev/zero", "bs=256M", "count=1"]);
        // Nobody reads the pipe, so dd keeps its buffer.
        let mut dd = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
        let process = Process::open(dd.id()).expect("it runs");
        let resident = || process.usage().map(|usage| usage.resident.expect("it is told"));
        while resident().expect("it runs") < 250 << 20 {
            std::thread::yield_now();
        }
        dd.kill().expect("it can be killed");
        while let Some(bytes) = resident() {
            assert_ne!(bytes, 0);
        }
        dd.wait().expect("it ended");
    }
}
