//! What the memory of the major heap is used for, according to the runtime's own structures.
//!
//! The walker finds what is reachable. Here we measure everything that the major heap consists of, so that
//! the difference can be explained: blocks that are unreachable but not yet swept, free words, and words lost
//! between blocks. Every word is in exactly one of the sums of [`HeapUse`]; `unknown` counts words that could
//! not be read or make no sense.

mod chunks;
mod pools;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bactrian_ocaml::accounting::{Accounting, MajorHeap};

use super::helpers::help;
use super::hidden;
use super::target::Target;
use crate::memory::Memory;

pub use chunks::{Chunk, list as list_chunks};

/// Bytes of a word.
const WORD: u64 = 8;

/// A number of blocks, and their words with headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of blocks.
    pub blocks: u64,
    /// Their words, headers included.
    pub words: u64,
}

/// Blocks within a range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeUse {
    /// Blocks that are not free.
    pub used: Tally,
    /// Free blocks.
    pub free: Tally,
}

impl Tally {
    fn add(&mut self, more: Tally) {
        self.blocks += more.blocks;
        self.words += more.words;
    }
}

/// What the major heap is used for. `words` is the sum of `live`, `dead`, `free`, `fragments` and `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapUse {
    /// Words of the whole heap: `heap_words` of `Gc.stat`.
    pub words: u64,
    /// Blocks that are not free and that the collector does not know to be dead, whether reachable or not.
    pub live: Tally,
    /// Blocks that the collector knows to be dead but has not swept yet.
    pub dead: Tally,
    /// Free blocks of OCaml 4, free slots of OCaml 5.
    pub free: Tally,
    /// The longest free block, in words, header included.
    pub largest_free: u64,
    /// Words lost between blocks: single words in OCaml 4; in OCaml 5 the unused ends of slots, and the
    /// descriptors of pools and large blocks.
    pub fragments: u64,
    /// Words whose use is unknown.
    pub unknown: u64,
    /// The number of chunks (OCaml 4) or pools (OCaml 5).
    pub parts: u64,
    /// The live and dead blocks that are large blocks of OCaml 5, outside of pools.
    pub large: Tally,
    /// Used and free blocks by size: the key is the maximal number of words with header. Large blocks of
    /// OCaml 5 are not included.
    pub sizes: BTreeMap<u64, SizeUse>,
    /// Words in unused pools of OCaml 5. The runtime keeps them but does not count them as its heap.
    pub idle: u64,
    /// The address ranges of the heap, sorted and disjoint; they include idle pools.
    pub ranges: Vec<Range<u64>>,
    /// What is missing, and why.
    pub gaps: Vec<String>,
}

impl HeapUse {
    /// Words of blocks that are neither free nor reachable, if `reachable` words of the major heap are
    /// reachable, headers included: those known to be dead, and those that the collector has not found yet.
    pub fn unreachable_words(&self, reachable: u64) -> u64 {
        (self.live.words + self.dead.words).saturating_sub(reachable)
    }

    fn add(&mut self, other: HeapUse) {
        self.words += other.words;
        for (mine, theirs) in [
            (&mut self.live, other.live),
            (&mut self.dead, other.dead),
            (&mut self.free, other.free),
            (&mut self.large, other.large),
        ] {
            mine.add(theirs);
        }
        for (size, theirs) in other.sizes {
            let mine = self.sizes.entry(size).or_default();
            mine.used.add(theirs.used);
            mine.free.add(theirs.free);
        }
        self.largest_free = self.largest_free.max(other.largest_free);
        self.fragments += other.fragments;
        self.unknown += other.unknown;
        self.parts += other.parts;
        self.idle += other.idle;
        self.ranges.extend(other.ranges);
        self.gaps.extend(other.gaps);
    }
}

/// Measures the major heap of a program. `domains` are the addresses of all domain states; OCaml 4 does not
/// need them.
pub fn measure(target: &Target, memory: &dyn Memory, domains: &[u64]) -> HeapUse {
    let mut found = match Accounting::of(target.version).map(|layout| layout.major) {
        Some(MajorHeap::Chunks(layout)) => {
            chunks::measure(memory, layout, target.layout.chunk_head as u64, &|name| {
                target.global(name)
            })
        }
        Some(MajorHeap::Pools(layout)) => {
            let ownerless = hidden::variable(target, memory, &layout.ownerless.place);
            let colours = target.global("caml_global_heap_state");
            pools::measure(memory, layout, ownerless, colours, domains)
        }
        None => HeapUse {
            gaps: vec![format!("the heap layout of OCaml {} is unknown", target.version)],
            ..HeapUse::default()
        },
    };
    found.ranges = merged(found.ranges);
    found
}

/// The address ranges of the major heap, if they can be found without reading all of it: the chunks of OCaml
/// 4.
pub fn chunks(target: &Target, memory: &dyn Memory) -> Option<Vec<Range<u64>>> {
    let MajorHeap::Chunks(layout) = Accounting::of(target.version)?.major else { return None };
    let first = memory.word(target.global("caml_heap_start")?)?;
    let (chunks, _) = chunks::list(memory, layout, target.layout.chunk_head as u64, first);
    Some(merged(chunks))
}

/// Merges ranges that touch or overlap; the result is sorted.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Measures every task, on all cores, and adds up. Tasks are taken in order, so long ones should come first.
fn sum<T: Sync>(tasks: &[T], count: impl Fn(&T) -> HeapUse + Sync) -> HeapUse {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let total = Mutex::new(HeapUse::default());
    let work = || {
        let mut mine = HeapUse::default();
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            mine.add(count(task));
        }
        total.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(mine);
    };
    thread::scope(|scope| {
        for _ in 1..cores.min(tasks.len()) {
            help(scope, work);
        }
        work();
    });
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// An upper bound for the number of things of this many bytes in a program's memory.
fn at_most(memory: &dyn Memory, bytes: u64) -> u64 {
    let readable = memory.regions().iter().filter(|region| region.readable);
    let lengths = readable.map(|region| region.range.end.saturating_sub(region.range.start));
    lengths.fold(0, u64::saturating_add) / bytes.max(1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_where_they_touch() {
        let ranges = vec![5..7, 0..2, 2..4, 6..6, 9..10];
        assert_eq!(merged(ranges), [0..4, 5..7, 9..10]);
    }

    #[test]
    fn parallel_sums_include_every_task() {
        let tasks: Vec<u64> = (0..1000).collect();
        let total = sum(&tasks, |words| HeapUse { words: *words, ..HeapUse::default() });
        assert_eq!(total.words, 499_500);
        assert_eq!(sum(&[], |_: &u64| HeapUse::default()), HeapUse::default());
    }
}
