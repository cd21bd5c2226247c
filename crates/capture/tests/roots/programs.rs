//! Programs that have their runtime list its roots and then wait, compiled by both compilers, and read from
//! outside.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use bactrian_capture::heap::roots::{List, Listed, Listing, Slot};
use bactrian_capture::memory::{Memory, Region};

/// A program that waits.
pub struct Waiting {
    child: Child,
    pub memory: OfProcess,
    /// What its runtime has listed.
    pub listing: Listing,
}

impl Waiting {
    pub fn start(command: &mut Command) -> Waiting {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut listing = Listing::default();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut is_ready = false;
        for line in output.lines() {
            let line = line.expect("text");
            let words: Vec<_> = line.split(' ').collect();
            let number = |text: &str| u64::from_str_radix(text, 16).expect("a number");
            match words.as_slice() {
                ["ready"] => {
                    is_ready = true;
                    break;
                }
                ["domain", state] => {
                    // Each function is called, and may have nothing to list.
                    let domain = listing.domains.len() as u32;
                    for list in [List::Final, List::Memprof, List::Threads] {
                        let slots = Vec::new();
                        listing.lists.push(Listed { list, domain, slots, whole: true });
                    }
                    listing.domains.push(number(state));
                }
                [list, domain, slot, value] => {
                    let list = match *list {
                        "all" => List::All,
                        "global" => List::Global,
                        "final" => List::Final,
                        "memprof" => List::Memprof,
                        "threads" => List::Threads,
                        other => panic!("{other}"),
                    };
                    let domain = domain.parse().expect("a number");
                    let known =
                        listing.lists.iter().position(|l| (l.list, l.domain) == (list, domain));
                    let at = known.unwrap_or_else(|| {
                        listing.lists.push(Listed { list, domain, slots: Vec::new(), whole: true });
                        listing.lists.len() - 1
                    });
                    listing.lists[at].slots.push(Slot { slot: number(slot), value: number(value) });
                }
                _ => panic!("{line}"),
            }
        }
        assert!(is_ready, "the program has ended: {:?}", child.wait());
        let memory = OfProcess::open(child.id());
        Waiting { child, memory, listing }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The memory of a waiting process.
pub struct OfProcess {
    file: File,
    regions: Vec<Region>,
}

impl OfProcess {
    fn open(pid: u32) -> OfProcess {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("our child");
        let region = |line: &str| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let number = |text: &str| u64::from_str_radix(text, 16).ok();
            let rights = words.next()?.as_bytes();
            let offset = number(words.next()?)?;
            let inode = words.nth(1)?.parse().ok()?;
            Some(Region {
                range: number(start)?..number(end)?,
                readable: rights[0] == b'r',
                writable: rights[1] == b'w',
                executable: rights[2] == b'x',
                shared: rights[3] == b's',
                file: words.next().map(PathBuf::from),
                offset,
                inode,
            })
        };
        let regions = maps.lines().map(|line| region(line).expect("a line of maps")).collect();
        let file = File::open(format!("/proc/{pid}/mem")).expect("our child's memory");
        OfProcess { file, regions }
    }
}

impl Memory for OfProcess {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.file.read_exact_at(buffer, address).is_ok()
    }

    fn regions(&self) -> &[Region] {
        &self.regions
    }
}
