//! Blocks without values that have equal contents: strings, floats, boxed integers. For each of them, the first
//! that has its contents.
//!
//! Contents are not in a snapshot, so this is found while they are at hand. Each block has a hash. Those whose hashes
//! begin alike are brought together, in order of addresses, and a table of them tells who was the first with a hash; then
//! the two are compared word by word. Nothing is decided by a hash, but
//! for blocks of one word: theirs says all, and saves a look at memory.
//!
//! That takes 24 bytes per block, of which there are so many at a time as fit into [`MOST_ENTRIES`]: if there are more
//! blocks, all are hashed again for each part of the hashes. (Blocks that are all equal have one hash, and cannot be
//! parted. But each of them takes 16 bytes at least in the copy of the heap too.)
//!
//! Of a large block only the beginning and the end are copied. If another of its size has the same, all of both is
//! read from the program, which is why this is done while the program's memory is still there.

mod contents;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bactrian_snapshot::GROUP_BLOCKS;

use super::encode::References;
use super::image::{Image, Page};
use contents::{Contents, Reader, Whole};

pub use contents::HASHED_WORDS;

/// So many hashes are held at a time, as far as that is possible.
const MOST_ENTRIES: u64 = 1 << 23;
/// They are sorted in so many parts.
const PARTS: usize = 64;

/// Finds blocks with equal contents.
pub struct Search<'i> {
    reader: Reader<'i>,
    threads: usize,
    /// Whether to leave it at what is found.
    is_to_stop: &'i (dyn Fn() -> bool + Sync),
}

/// Blocks that have the contents of an earlier one, by groups.
#[derive(Default)]
pub struct Equals {
    groups: Vec<Mutex<Vec<Twin>>>,
}

/// No block before this one has its contents.
pub const NO_OTHER: u32 = u32::MAX;

/// A block of a group that has the contents of another.
#[derive(Clone, Copy)]
struct Twin {
    /// Its number, counted from the first block of the group.
    index: u16,
    /// The number of the first block with these contents.
    first: u32,
}

/// A block, and a hash of its contents.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    /// The address of its header.
    header: u64,
    /// Its number.
    number: u32,
    /// What kind of block it is, if its hash says all of its contents.
    whole: Option<Whole>,
}

impl Equals {
    /// For each block of a group, the number of the first with its contents, or [`NO_OTHER`].
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
    /// On so many processors, until `is_to_stop` says so.
    pub fn new(
        image: &'i Image<'i>,
        references: &'i References,
        threads: usize,
        is_to_stop: &'i (dyn Fn() -> bool + Sync),
    ) -> Search<'i> {
        Search { reader: Reader::new(image, references), threads, is_to_stop }
    }

    /// Finds those among so many blocks, of which so many may be equal to others.
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

    /// Hashes of all blocks that may be equal to others. Each thread has some pages that follow each other, and parts
    /// them: equal hashes are in the same part.
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
            let shares: Vec<_> =
                pages.chunks(share).map(|pages| scope.spawn(move || work(pages))).collect();
            shares.into_iter().filter_map(|share| share.join().ok()).collect()
        })
    }

    /// Compares blocks with the same hash.
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
            (1..self.threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }

    /// Compares each block with the first that has its hash. If they are not equal all the same, it does not matter
    /// that later ones may be equal to each other: that hardly ever happens.
    fn compare_part(&self, entries: &[Entry], table: &mut Vec<u32>, found: &mut Found<'_>) {
        let mut large: HashMap<u64, Vec<Entry>> = HashMap::new();
        table.clear();
        table.resize((entries.len() * 2).next_power_of_two(), 0);
        let mask = table.len() - 1;
        for (number, entry) in (1..).zip(entries) {
            // The lower bits are those of the part.
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
                // The same beginning and the same end: now all of it counts.
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

/// Entries of one thread by the lowest bits of their hashes, each part in order of addresses.
type Parts = Vec<Vec<Entry>>;

/// What is found, held until the group changes.
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
