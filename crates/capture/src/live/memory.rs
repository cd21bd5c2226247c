//! What the memory of a process is used for while it runs, from the kernel's account of its mappings and the
//! runtime's counters.
//!
//! A heap walk knows the address of every part of the heap. Here nothing is walked: the chunks of OCaml 4 are
//! in a short list; of the pools of OCaml 5 only the total size is known, which is subtracted from anonymous
//! memory without another known use.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Known;
use super::counters::{Collector, Counters};
use crate::heap::process_memory::{self, Holder};

/// The shortest interval, since the kernel scans all pages for it.
const EVERY: Duration = Duration::from_secs(2);
/// The interval is at least this many times the time that the last scan took.
const PAUSE: u32 = 100;

/// Resident bytes by use. Together they are the process's resident set, without the runtime_events ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Blocks of the major heap: those that are alive, and those not yet found to be dead.
    pub heap_used: u64,
    /// The rest of the major heap that is resident.
    pub heap_free: u64,
    /// Minor heaps.
    pub minor_heaps: u64,
    /// Held by bigarrays and other custom blocks, estimated from samples; None if nothing is sampled.
    pub external: Option<u64>,
    /// Other memory allocated by C: by malloc or as anonymous mappings. It includes stacks of fibers.
    pub c: u64,
    /// System stacks of threads.
    pub stacks: u64,
    /// Code and data of the program and its libraries.
    pub code: u64,
    /// Other files, and memory shared with other processes.
    pub shared: u64,
}

/// Measures memory use now and then.
#[derive(Debug)]
pub struct MemoryWatch {
    folder: PathBuf,
    next: Instant,
}

impl MemoryWatch {
    /// For a process.
    pub fn new(pid: u32) -> MemoryWatch {
        MemoryWatch { folder: PathBuf::from(format!("/proc/{pid}")), next: Instant::now() }
    }

    /// The current memory use, if it is time to measure again. `external` is the estimate of bytes held by
    /// bigarrays and the like.
    pub fn poll(
        &mut self,
        counters: &Counters,
        collector: &Collector,
        external: Option<u64>,
    ) -> Option<Known<MemoryUse>> {
        let begin = Instant::now();
        if begin < self.next {
            return None;
        }
        let account = process_memory::of_process(&self.folder, &counters.ranges());
        self.next = Instant::now() + EVERY.max(begin.elapsed() * PAUSE);
        let account = match account {
            Ok(account) => account,
            Err(error) => {
                return Some(Err(format!("its memory mappings cannot be read: {error}")));
            }
        };
        let resident = |holder| account.line(holder).resident;
        let (chunks, mut c) = (resident(Holder::MajorHeap), resident(Holder::CHeap));
        let heap = match counters.has_chunks() {
            true => chunks,
            false => {
                let pools = collector.heap.min(c);
                c -= pools;
                pools
            }
        };
        let heap_used = collector.live.min(heap);
        let external = external.map(|bytes| bytes.min(c));
        Some(Ok(MemoryUse {
            heap_used,
            heap_free: heap - heap_used,
            minor_heaps: resident(Holder::MinorHeaps),
            external,
            c: c - external.unwrap_or(0),
            stacks: resident(Holder::Stacks),
            code: [Holder::StaticData, Holder::Code, Holder::Objects].map(resident).iter().sum(),
            shared: resident(Holder::Files),
        }))
    }
}

impl MemoryUse {
    /// The sum of all uses.
    pub fn total(&self) -> u64 {
        let MemoryUse { heap_used, heap_free, minor_heaps, external, c, stacks, code, shared } =
            *self;
        let parts =
            [heap_used, heap_free, minor_heaps, external.unwrap_or(0), c, stacks, code, shared];
        parts.iter().sum()
    }
}
