//! What the memory of a process is used for, while it runs: by the kernel's account of its mappings and the runtime's counters.
//!
//! The walk of a snapshot knows every part of the heap by its address. Here nothing is walked: where the chunks of OCaml 4 are is a
//! short list; of the pools of OCaml 5 only their sum is known, which is taken out of what has no file and no other use.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Known;
use super::counters::{Collector, Counters};
use crate::heap::process_memory::{self, Holder};

/// It is looked at so often at most, since the kernel goes through all pages for it.
const EVERY: Duration = Duration::from_secs(2);
/// And it waits so many times as long as it took.
const PAUSE: u32 = 100;

/// Bytes in physical memory by their use. Together they are what the process has, without the ring of runtime_events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Blocks of the major heap: what is alive, and what was not found to be dead yet.
    pub heap_used: u64,
    /// What else of the major heap was touched once.
    pub heap_free: u64,
    /// The minor heaps.
    pub minor_heaps: u64,
    /// Held by bigarrays and other custom blocks, as far as samples tell; none if nothing is sampled.
    pub external: Option<u64>,
    /// Allocated by C, but for that: by malloc or as mappings without a file. Stacks of fibers are in it.
    pub c: u64,
    /// The system's stacks of threads.
    pub stacks: u64,
    /// Code and data of the program and its libraries.
    pub code: u64,
    /// Other files, and memory that is shared with other processes.
    pub shared: u64,
}

/// Looks at it now and then.
#[derive(Debug)]
pub struct MemoryWatch {
    folder: PathBuf,
    next: Instant,
}

impl MemoryWatch {
    /// Of a process.
    pub fn new(pid: u32) -> MemoryWatch {
        MemoryWatch { folder: PathBuf::from(format!("/proc/{pid}")), next: Instant::now() }
    }

    /// What it is used for now, if it is time to look again. `external` are the bytes that samples tell of bigarrays and the like.
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
                return Some(Err(format!("the kernel does not tell of its mappings: {error}")));
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
    /// All of it.
    pub fn total(&self) -> u64 {
        let MemoryUse { heap_used, heap_free, minor_heaps, external, c, stacks, code, shared } =
            *self;
        let parts =
            [heap_used, heap_free, minor_heaps, external.unwrap_or(0), c, stacks, code, shared];
        parts.iter().sum()
    }
}
