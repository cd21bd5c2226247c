//! Finds blocks without values that have equal contents: strings, floats, boxed integers. The result is, for
//! each of them, the first block with the same contents.
//!
//! Contents are not in a snapshot, so this is done while they are available. Each block gets a hash. Blocks
//! are partitioned by the low bits of their hashes, in order of addresses, and for each partition a hash
//! table finds the first block with a given hash; then the two are compared word by word. Nothing is decided
//! by a hash, except for blocks of one word: their hash determines the contents, which saves a memory access.
//!
//! This takes 24 bytes per block, for at most [`MOST_ENTRIES`] at a time: if there are more blocks, all are
//! hashed again in several passes, each of which keeps a range of hashes. (Blocks that are all equal have the
//! same hash, and cannot be split that way. But each of them also takes at least 16 bytes in the copy of the
//! heap.)
//!
//! Only the beginning and the end of a large block are copied. If another block of its size has the same
//! ones, both are read entirely from the program, which is why this is done while the program's memory still
//! exists.

mod contents;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bactrian_snapshot::GROUP_BLOCKS;

use super::encode::References;
use super::helpers::help;
use super::image::{MemoryImage, Page};
use contents::{Contents, Reader, Whole};

pub use contents::HASHED_WORDS;

/// How many hashes are held at a time, as far as possible.
const MOST_ENTRIES: u64 = 1 << 23;
/// How many partitions they are sorted into.
const PARTS: usize = 64;

/// Finds blocks with equal contents.
pub struct Search<'i> {
    reader: Reader<'i>,
    threads: usize,
    /// Whether to stop early, with what has been found.
    is_to_stop: &'i (dyn Fn() -> bool + Sync),
}

/// Blocks that equal an earlier one, by group.
#[derive(Default)]
pub struct Equals {
    groups: Vec<Mutex<Vec<Twin>>>,
}

/// Stands for a block that equals no earlier one.
pub const NO_OTHER: u32 = u32::MAX;

/// A block that equals an earlier one.
#[derive(Clone, Copy)]
struct Twin {
    /// Its index within its group.
    index: u16,
    /// The number of the first block with these contents.
    first: u32,
}

/// A block and the hash of its contents.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    /// The address of its header.
    header: u64,
    /// Its block number.
    number: u32,
    /// Its kind, if the hash determines all of its contents.
    whole: Option<Whole>,
}

impl Equals {
    /// For each block of a group, the number of the first block with the same contents, or [`NO_OTHER`].
    pub fn of_group(&self, group: usize, firsts: &mut Vec<u32>) {
        firsts.clear();
        firsts.resize(GROUP_BLOCKS as usize, NO_OTHER);
        if let Some(twins) = self.groups.get(group) {
            for twin in &*twins.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
                firsts[usize::from(twin.index)] = twin.first;
            }
        }
    }
}

impl<'i> Search<'i> {
    /// Searches with this many threads, until `is_to_stop` returns true.
    pub fn new(
        image: &'i MemoryImage<'i>,
        references: &'i References,
        threads: usize,
        is_to_stop: &'i (dyn Fn() -> bool + Sync),
    ) -> Search<'i> {
        Search { reader: Reader::new(image, references), threads, is_to_stop }
    }

    /// Searches `blocks` blocks, `candidates` of which may have equals.
    pub fn find(&self, blocks: u32, candidates: u64) -> Equals {
        let groups = (0..blocks.div_ceil(GROUP_BLOCKS)).map(|_| Mutex::default()).collect();
        let equals = Equals { groups };
        let pages: Vec<&Page> = self.reader.image.pages().filter(|page| page.has_marks()).collect();
        let passes = candidates.div_ceil(MOST_ENTRIES).max(1);
        for pass in 0..passes {
            let wanted =
                |hash: u64| (u128::from(hash) * u128::from(passes)) >> 64 == u128::from(pass);
            self.compare(&self.gather(&pages, wanted), &equals);
        }
        equals
    }

    /// The hashes of all blocks that may have equals. Each thread has a run of consecutive pages, and
    /// partitions its entries: equal hashes are in the same partition.
    fn gather(&self, pages: &[&Page], wanted: impl Fn(u64) -> bool + Sync) -> Vec<Parts> {
        let share = pages.len().div_ceil(self.threads.max(1)).max(1);
        let work = |pages: &[&Page]| {
            let mut parts = vec![Vec::new(); PARTS];
            for page in pages.iter().take_while(|_| !(self.is_to_stop)()) {
                let mut number = page.first_number();
                page.marked_from(0, |spot| {
                    if let Some(block) = self.reader.contents(spot) {
                        let hash = self.reader.hash(spot, &block);
                        let Contents { header, whole, .. } = block;
                        if wanted(hash) {
                            parts[hash as usize % PARTS].push(Entry {
                                hash,
                                header,
                                number,
                                whole,
                            });
                        }
                    }
                    number = number.wrapping_add(1);
                    true
                });
            }
            parts
        };
        thread::scope(|scope| {
            let work = &work;
            let shares: Vec<_> = pages
                .chunks(share)
                .map(|pages| help(scope, move || work(pages)).ok_or(pages))
                .collect();
            let gathered = shares.into_iter().map(|share| match share {
                Ok(helper) => helper.join().ok(),
                Err(pages) => Some(work(pages)),
            });
            gathered.flatten().collect()
        })
    }

    /// Compares blocks with equal hashes.
    fn compare(&self, gathered: &[Parts], equals: &Equals) {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut table = Vec::new();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= PARTS || (self.is_to_stop)() {
                    return;
                }
                let entries: Vec<Entry> =
                    gathered.iter().flat_map(|parts| parts[part].iter().copied()).collect();
                self.compare_part(
                    &entries,
                    &mut table,
                    &mut Found { equals, group: 0, twins: Vec::new() },
                );
            }
        };
        thread::scope(|scope| {
            (1..self.threads).for_each(|_| drop(help(scope, work)));
            work();
        });
    }

    /// Compares each block with the first one with its hash. If those two are not equal after all, later ones
    /// that are equal to each other are missed; that hardly ever happens.
    fn compare_part(&self, entries: &[Entry], table: &mut Vec<u32>, found: &mut Found<'_>) {
        let mut large: HashMap<u64, Vec<Entry>> = HashMap::new();
        table.clear();
        table.resize((entries.len() * 2).next_power_of_two(), 0);
        let mask = table.len() - 1;
        for (number, entry) in (1..).zip(entries) {
            // The lower bits are the partition.
            let mut at = (entry.hash / PARTS as u64) as usize & mask;
            let first = loop {
                match table[at].checked_sub(1).map(|first| &entries[first as usize]) {
                    None => break None,
                    Some(first) if first.hash == entry.hash && first.whole == entry.whole => {
                        break Some(first);
                    }
                    Some(_) => at = (at + 1) & mask,
                }
            };
            let Some(first) = first else {
                table[at] = number;
                continue;
            };
            if entry.whole.is_some() {
                found.note(first.number, entry.number);
                continue;
            }
            let (Some(one), Some(other)) =
                (self.reader.block(first.header), self.reader.block(entry.header))
            else {
                continue;
            };
            if one.is_large() || other.is_large() {
                // The beginning and the end are equal: compare everything.
                large.entry(entry.hash).or_insert_with(|| vec![*first]).push(*entry);
            } else if self.reader.is_same(&one, &other) {
                found.note(first.number, entry.number);
            }
        }
        found.flush();
        for (_, blocks) in large {
            self.compare_large(&blocks, found);
        }
    }

    #[cold]
    fn compare_large(&self, blocks: &[Entry], found: &mut Found<'_>) {
        let mut firsts: HashMap<u64, Entry> = HashMap::new();
        for &entry in blocks {
            let Some(hash) = self.reader.whole_hash(entry.header) else { continue };
            let first = *firsts.entry(hash).or_insert(entry);
            if let (Some(one), Some(other)) =
                (self.reader.block(first.header), self.reader.block(entry.header))
                && first.number != entry.number
                && self.reader.is_same(&one, &other)
            {
                found.note(first.number, entry.number);
            }
        }
        found.flush();
    }
}

/// A thread's entries by partition, each in order of addresses.
type Parts = Vec<Vec<Entry>>;

/// Results for one group, buffered until the group changes.
struct Found<'e> {
    equals: &'e Equals,
    group: u32,
    twins: Vec<Twin>,
}

impl Found<'_> {
    #[inline]
    fn note(&mut self, first: u32, number: u32) {
        if number / GROUP_BLOCKS != self.group {
            self.flush();
            self.group = number / GROUP_BLOCKS;
        }
        self.twins.push(Twin { index: (number % GROUP_BLOCKS) as u16, first });
    }

    fn flush(&mut self) {
        if let Some(group) = self.equals.groups.get(self.group as usize) {
            let mut group = group.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            group.append(&mut self.twins);
        }
    }
}
