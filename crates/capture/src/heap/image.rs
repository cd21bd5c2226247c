//! A copy of the part of a program's memory that contains blocks, made page by page on first access.
//!
//! A heap walk reads nearly every word of the heap once, in no particular order. So pages are large, each is
//! copied once, and each has room for what the walk notes about it: one mark bit per word, for headers of
//! blocks that were reached. Large blocks without values, and memory that C code has next to the heap, are
//! never accessed and so never copied.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::roots::{Space, SpaceKind};
use crate::memory::Memory;

/// Words per page.
pub const PAGE_WORDS: usize = 1 << 17;
const PAGE_BITS: u32 = 20;
/// Bytes per page of the system.
const SYSTEM_PAGE: u64 = 4096;
/// The number of bits in a user space address.
const ADDRESS_BITS: u32 = 47;
/// Pages are found in two steps; the lower one has this many bits.
const WINDOW_BITS: u32 = 12;

/// A copy of memory that grows as it is accessed.
pub struct MemoryImage<'a> {
    memory: &'a dyn Memory,
    spaces: Vec<Space>,
    windows: Box<[OnceLock<Box<Window>>]>,
    unreadable: AtomicU64,
}

/// The pages of 4 GB of addresses.
struct Window {
    pages: Box<[OnceLock<Box<Page>>]>,
}

/// A page of memory, and its marks.
pub struct Page {
    /// The address of its first word.
    start: u64,
    words: Box<[u64]>,
    /// One bit per word: whether it is the header of a block that was reached.
    marks: Box<[AtomicU64]>,
    /// For each word of `marks`, the number of marks before it, in all pages.
    ranks: Box<[AtomicU32]>,
    /// The kind of space, if the page is entirely within one space.
    kind: Option<SpaceKind>,
    /// Byte ranges of the page that could not be read.
    holes: Vec<Range<usize>>,
}

/// A position in the copy.
#[derive(Clone, Copy)]
pub struct Spot<'i> {
    pub page: &'i Page,
    pub index: usize,
}

fn empty<T>(count: usize) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl<'a> MemoryImage<'a> {
    /// An empty copy. Blocks may be in `spaces`, which must not overlap.
    pub fn new(memory: &'a dyn Memory, mut spaces: Vec<Space>) -> MemoryImage<'a> {
        spaces.sort_by_key(|space| space.range.start);
        let windows = empty(1 << (ADDRESS_BITS - PAGE_BITS - WINDOW_BITS));
        MemoryImage { memory, spaces, windows, unreadable: AtomicU64::new(0) }
    }

    /// The position of an address, if it is in a space. The address must be aligned to words.
    #[inline]
    pub fn spot(&self, address: u64) -> Option<Spot<'_>> {
        let number = address >> PAGE_BITS;
        let window = self.windows.get((number >> WINDOW_BITS) as usize)?;
        let window = match window.get() {
            Some(window) => window,
            None => self.first_look(address)?,
        };
        let page = &window.pages[(number & ((1 << WINDOW_BITS) - 1)) as usize];
        let page = match page.get() {
            Some(page) => page,
            None => {
                self.space_at(address)?;
                page.get_or_init(|| Box::new(self.copy(number)))
            }
        };
        if page.kind.is_none() {
            self.space_at(address)?;
        }
        Some(Spot { page, index: (address >> 3) as usize % PAGE_WORDS })
    }

    #[cold]
    fn first_look(&self, address: u64) -> Option<&Window> {
        self.space_at(address)?;
        let window = &self.windows[(address >> (PAGE_BITS + WINDOW_BITS)) as usize];
        Some(window.get_or_init(|| Box::new(Window { pages: empty(1 << WINDOW_BITS) })))
    }

    /// The space that contains an address.
    pub fn space_at(&self, address: u64) -> Option<&Space> {
        let at = self.spaces.partition_point(|space| space.range.end <= address);
        self.spaces.get(at).filter(|space| space.range.start <= address)
    }

    /// The space that contains an address, if any, and where that space or gap ends.
    pub fn space_or_gap(&self, address: u64) -> (Option<&Space>, u64) {
        let at = self.spaces.partition_point(|space| space.range.end <= address);
        match self.spaces.get(at) {
            Some(space) if space.range.start <= address => (Some(space), space.range.end),
            Some(space) => (None, space.range.start),
            None => (None, u64::MAX),
        }
    }

    /// Reads bytes that are all in one space, from the copy; returns false if memory could not be read.
    pub fn read_copy(&self, mut address: u64, mut buffer: &mut [u8]) -> bool {
        while !buffer.is_empty() {
            let Some(Spot { page, .. }) = self.spot(address & !7) else { return false };
            let bytes: &[u8] = bytemuck::cast_slice(&page.words);
            let from = (address - page.start) as usize;
            let now = buffer.len().min(bytes.len() - from);
            let range = from..from + now;
            if page.holes.iter().any(|hole| hole.start < range.end && range.start < hole.end) {
                return false;
            }
            let (piece, after) = std::mem::take(&mut buffer).split_at_mut(now);
            piece.copy_from_slice(&bytes[range]);
            (address, buffer) = (address + now as u64, after);
        }
        true
    }

    /// Ranges of the heap that have been copied completely, in whole system pages: the original is no longer
    /// needed.
    pub fn copied(&self) -> Vec<Range<u64>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        for page in self.pages() {
            let range = page.start..page.start + (PAGE_WORDS as u64 * 8);
            let first = self.spaces.partition_point(|space| space.range.end <= range.start);
            let spaces = self.spaces[first..].iter();
            for space in spaces.take_while(|space| space.range.start < range.end) {
                if space.kind == SpaceKind::Static {
                    continue;
                }
                let part = intersection(&space.range, &range);
                let start = part.start.next_multiple_of(SYSTEM_PAGE);
                let end = part.end - part.end % SYSTEM_PAGE;
                match found.last_mut() {
                    _ if start >= end => {}
                    Some(last) if last.end == start => last.end = end,
                    _ => found.push(start..end),
                }
            }
        }
        found
    }

    /// The kind of the space that contains a position.
    pub fn kind_at(&self, spot: Spot<'_>) -> Option<SpaceKind> {
        spot.page.kind.or_else(|| self.space_at(spot.address()).map(|space| space.kind))
    }

    #[cold]
    fn copy(&self, number: u64) -> Page {
        let start = number << PAGE_BITS;
        let range = start..start + (PAGE_WORDS as u64 * 8);
        let mut words = vec![0; PAGE_WORDS].into_boxed_slice();
        let mut kind = None;
        let mut holes = Vec::new();
        let first = self.spaces.partition_point(|space| space.range.end <= range.start);
        for space in self.spaces[first..].iter().take_while(|space| space.range.start < range.end) {
            let part = intersection(&space.range, &range);
            if part == range {
                kind = Some(space.kind);
            }
            self.read(&part, start, &mut words, &mut holes);
        }
        let zeros = || (0..PAGE_WORDS / 64).map(|_| AtomicU64::new(0)).collect();
        let ranks = (0..PAGE_WORDS / 64).map(|_| AtomicU32::new(0)).collect();
        Page { start, words, marks: zeros(), ranks, kind, holes }
    }

    /// Reads an address range into the words of a page. What cannot be read becomes zero.
    fn read(
        &self,
        range: &Range<u64>,
        start: u64,
        words: &mut [u64],
        holes: &mut Vec<Range<usize>>,
    ) {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        let place =
            |range: &Range<u64>| (range.start - start) as usize..(range.end - start) as usize;
        if self.memory.read(range.start, &mut bytes[place(range)]) {
            return;
        }
        // Part of it cannot be read: try each system page.
        let mut at = range.start;
        while at < range.end {
            let part = at..(at - at % SYSTEM_PAGE + SYSTEM_PAGE).min(range.end);
            at = part.end;
            if !self.memory.read(part.start, &mut bytes[place(&part)]) {
                bytes[place(&part)].fill(0);
                holes.push(place(&part));
                self.unreadable.fetch_add(part.end - part.start, Ordering::Relaxed);
            }
        }
    }

    /// The number of bytes in spaces that could not be read and were replaced by zeros.
    pub fn unreadable_bytes(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    /// The word at an address; None outside the spaces.
    pub fn word(&self, address: u64) -> Option<u64> {
        Some(self.spot(address)?.word())
    }

    /// Whether this many words from here on are in the same space.
    #[inline]
    pub fn has_room(&self, spot: Spot<'_>, words: u64) -> bool {
        if spot.page.kind.is_some() && spot.is_in_page(words) {
            return true;
        }
        let address = spot.address();
        self.space_at(address).is_some_and(|space| words <= (space.range.end - address) / 8)
    }

    /// Calls `each` with fields of the block with this header, in pieces. They must be in the same space.
    #[inline]
    pub fn fields(&self, header: Spot<'_>, fields: Range<u64>, mut each: impl FnMut(&[u64])) {
        if fields.is_empty() {
            return;
        }
        let first = header.index + 1;
        if fields.end <= PAGE_WORDS.saturating_sub(first) as u64 {
            return each(
                &header.page.words[first + fields.start as usize..first + fields.end as usize],
            );
        }
        let (mut at, mut left) =
            (header.address() + 8 + fields.start * 8, fields.end - fields.start);
        while left > 0 {
            let Some(Spot { page, index }) = self.spot(at) else { return };
            let now = (PAGE_WORDS - index).min(usize::try_from(left).unwrap_or(usize::MAX));
            each(&page.words[index..index + now]);
            left -= now as u64;
            at += now as u64 * 8;
        }
    }

    /// The words from an address on, if they are all in one page that was copied completely.
    #[inline]
    pub fn words_at_hand(&self, address: u64, words: u64) -> Option<&[u64]> {
        let spot = self.spot(address)?;
        let is_at_hand = spot.is_in_page(words) && spot.page.holes.is_empty();
        is_at_hand.then(|| &spot.page.words[spot.index..spot.index + words as usize])
    }

    /// Reads words that are all in one space, from the copy if the page is there, else from memory without
    /// copying it. Returns false if memory could not be read.
    pub fn look(&self, mut address: u64, mut words: &mut [u64]) -> bool {
        while !words.is_empty() {
            let left_in_page = PAGE_WORDS - (address >> 3) as usize % PAGE_WORDS;
            let now = left_in_page.min(words.len());
            let (piece, after) = std::mem::take(&mut words).split_at_mut(now);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(piece);
            let length = bytes.len() as u64;
            let is_read = match self.has_page(address) {
                true => self.read_copy(address, bytes),
                false => self.memory.read(address, bytes),
            };
            if !is_read {
                return false;
            }
            (address, words) = (address + length, after);
        }
        true
    }

    fn has_page(&self, address: u64) -> bool {
        let number = address >> PAGE_BITS;
        let window = self.windows.get((number >> WINDOW_BITS) as usize).and_then(OnceLock::get);
        window.is_some_and(|window| {
            window.pages[(number & ((1 << WINDOW_BITS) - 1)) as usize].get().is_some()
        })
    }

    /// The pages that were accessed, in order of addresses.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        let windows = self.windows.iter().filter_map(OnceLock::get);
        windows.flat_map(|window| window.pages.iter().filter_map(OnceLock::get)).map(|page| &**page)
    }

    /// Numbers the marked blocks in order of addresses, from 0; returns how many there are.
    pub fn number(&self) -> u64 {
        let mut count = 0u64;
        for page in self.pages() {
            for (marks, rank) in page.marks.iter().zip(&page.ranks) {
                rank.store(count as u32, Ordering::Relaxed);
                count += u64::from(marks.load(Ordering::Relaxed).count_ones());
            }
        }
        count
    }

    /// The number of the marked block that a value points to.
    #[inline]
    pub fn number_at(&self, value: u64) -> Option<u32> {
        let Spot { page, index } = self.spot(value.checked_sub(8)?)?;
        let marks = page.marks[index / 64].load(Ordering::Relaxed);
        let bit = 1 << (index % 64);
        let before = (marks & (bit - 1)).count_ones();
        (marks & bit != 0).then(|| page.ranks[index / 64].load(Ordering::Relaxed) + before)
    }
}

fn intersection(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

impl Spot<'_> {
    pub fn address(self) -> u64 {
        self.page.start + self.index as u64 * 8
    }

    /// The word.
    #[inline]
    pub fn word(self) -> u64 {
        self.page.words[self.index]
    }

    /// Whether this many words from here on are in the same page.
    #[inline]
    pub fn is_in_page(self, words: u64) -> bool {
        words <= (PAGE_WORDS - self.index) as u64
    }

    #[inline]
    pub fn is_marked(self) -> bool {
        self.page.marks[self.index / 64].load(Ordering::Relaxed) >> (self.index % 64) & 1 == 1
    }

    /// Marks it; returns whether it was not marked before.
    #[inline]
    pub fn mark(self) -> bool {
        let bit = 1 << (self.index % 64);
        self.page.marks[self.index / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

impl Page {
    /// Whether all of it could be read.
    pub fn is_whole(&self) -> bool {
        self.holes.is_empty()
    }

    /// Whether any block in this page is marked.
    pub fn has_marks(&self) -> bool {
        self.marks.iter().any(|marks| marks.load(Ordering::Relaxed) != 0)
    }

    /// The number of the first marked block in this page or after it.
    pub fn first_number(&self) -> u32 {
        self.ranks[0].load(Ordering::Relaxed)
    }

    /// Calls `each` with the headers of marked blocks, in order, starting with number `first`, until it
    /// returns false. Returns whether it never did.
    pub fn marked_from<'p>(&'p self, first: u32, mut each: impl FnMut(Spot<'p>) -> bool) -> bool {
        let start = self.ranks.partition_point(|rank| rank.load(Ordering::Relaxed) <= first);
        let start = start.saturating_sub(1);
        for at in start..self.marks.len() {
            let mut number = self.ranks[at].load(Ordering::Relaxed);
            let mut marks = self.marks[at].load(Ordering::Relaxed);
            while marks != 0 {
                let bit = marks.trailing_zeros();
                marks &= marks - 1;
                let header = Spot { page: self, index: at * 64 + bit as usize };
                if number >= first && !each(header) {
                    return false;
                }
                number += 1;
            }
        }
        true
    }
}
