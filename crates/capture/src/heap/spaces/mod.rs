//! What the memory of the major heap is used for, by the runtime's own structures.
//!
//! The walker finds what is reachable. Here everything is counted that the major heap consists of, so that the
//! difference has a name: blocks that nobody reaches but that were not yet swept, free words, and words lost
//! between blocks. Every word is in exactly one of the sums of [`HeapUse`]; `unknown` takes what cannot be told
//! because memory could not be read or makes no sense.

mod chunks;
mod pools;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bactrian_ocaml::accounting::{Accounting, MajorHeap};

use super::hidden;
use super::target::Target;
use crate::memory::Memory;

pub use chunks::{Chunk, list as list_chunks};

/// Bytes of a word.
const WORD: u64 = 8;

/// Blocks, and their words with headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many blocks.
    pub blocks: u64,
    /// Words of them, headers included.
    pub words: u64,
}

/// Blocks of some sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeUse {
    /// Those that are not free.
    pub used: Tally,
    /// Those that are.
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
    /// Blocks that are not free and that the collector does not know to be dead, reachable or not.
    pub live: Tally,
    /// Blocks that the collector knows to be dead but has not yet swept.
    pub dead: Tally,
    /// Blocks that can be allocated: free blocks of OCaml 4, slots of OCaml 5.
    pub free: Tally,
    /// The longest free block, in words with its header.
    pub largest_free: u64,
    /// Words lost between blocks: single words in OCaml 4; in OCaml 5 what slots are longer than their blocks, and
    /// what describes pools and large blocks.
    pub fragments: u64,
    /// Words that could not be told.
    pub unknown: u64,
    /// Chunks of OCaml 4, pools of OCaml 5.
    pub parts: u64,
    /// How many of the live and dead blocks are large ones of OCaml 5, which stand by themselves.
    pub large: Tally,
    /// What of `live`, `dead` and `free` is of which size: by the most words of a block with its header. Large blocks of OCaml 5 are not in it.
    pub sizes: BTreeMap<u64, SizeUse>,
    /// Words of pools of OCaml 5 that nobody uses. The runtime keeps them but does not count them into its heap.
    pub idle: u64,
    /// Where the heap is, sorted, without overlaps; idle pools are in it too.
    pub ranges: Vec<Range<u64>>,
    /// What could not be told, and why.
    pub gaps: Vec<String>,
}

impl HeapUse {
    /// Words of blocks that are neither free nor reachable, when `reachable` words of the major heap are, with
    /// headers: those known to be dead, and those that the collector has not found yet.
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

/// Counts the major heap of a program. `domains` are the addresses of all domain states; OCaml 4 needs none.
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
            gaps: vec![format!(
                "how the heap of OCaml {} is laid out is not known here",
                target.version
            )],
            ..HeapUse::default()
        },
    };
    found.ranges = merged(found.ranges);
    found
}

/// Where the major heap is, if that can be told without looking at all of it: the chunks of OCaml 4.
pub fn chunks(target: &Target, memory: &dyn Memory) -> Option<Vec<Range<u64>>> {
    let MajorHeap::Chunks(layout) = Accounting::of(target.version)?.major else { return None };
    let first = memory.word(target.global("caml_heap_start")?)?;
    let (chunks, _) = chunks::list(memory, layout, target.layout.chunk_head as u64, first);
    Some(merged(chunks))
}

/// Sorted ranges of which none touch.
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

/// Counts every task, on all cores, and adds up. Tasks are taken in order, so put long ones first.
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
            scope.spawn(work);
        }
        work();
    });
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A program cannot have more things of this many bytes in its memory.
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
    fn sums_have_every_task_in_them() {
        let tasks: Vec<u64> = (0..1000).collect();
        let total = sum(&tasks, |words| HeapUse { words: *words, ..HeapUse::default() });
        assert_eq!(total.words, 499_500);
        assert_eq!(sum(&[], |_: &u64| HeapUse::default()), HeapUse::default());
    }
}
