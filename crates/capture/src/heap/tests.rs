//! Marking and encoding, on made-up heaps that contain what is rare in real ones.

use std::collections::BTreeMap;

use bactrian_snapshot::{BlockId, Columns, CustomId, Info, Snapshot, Tables, Writer, tag};

use super::block::Closures;
use super::encode::{Encoder, References};
use super::equal::{HASHED_WORDS, Search};
use super::heap_copy::HeapCopy;
use super::image::MemoryImage;
use super::mark::{Marker, Met};
use super::roots::{Space, SpaceKind};
use crate::memory::{Memory, Region};

/// Memory that is written word by word.
#[derive(Default)]
struct Fake {
    words: BTreeMap<u64, u64>,
    unreadable: Option<u64>,
}

impl Memory for Fake {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let range = address..address + buffer.len() as u64;
        if self.unreadable.is_some_and(|at| range.contains(&at)) {
            return false;
        }
        buffer.fill(0);
        for (at, word) in self.words.range(range) {
            let at = (at - address) as usize;
            if let Some(place) = buffer.get_mut(at..at + 8) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        true
    }

    fn regions(&self) -> &[Region] {
        &[]
    }
}

impl Fake {
    /// Writes a block; returns its address.
    fn block(&mut self, header_at: u64, tag: u8, fields: &[u64]) -> u64 {
        self.words.insert(header_at, (fields.len() as u64) << 10 | u64::from(tag));
        for (at, field) in fields.iter().enumerate() {
            self.words.insert(header_at + 8 + at as u64 * 8, *field);
        }
        header_at + 8
    }
}

const fn integer(n: i64) -> u64 {
    (n << 1 | 1) as u64
}

const HEAP: u64 = 0x7f00_0000_0000;
const SIZE: u64 = 8 << 20;
/// The end of a page of the image.
const PAGE_END: u64 = HEAP + (1 << 20);

/// Addresses of operations of custom blocks.
const INT32: u64 = 0x5500_0000_4000;
const INT64: u64 = 0x5500_0000_4100;
const OTHER: u64 = 0x5500_0000_4200;

fn spaces() -> Vec<Space> {
    vec![
        Space { range: HEAP..HEAP + SIZE, kind: SpaceKind::Major },
        Space { range: 0x5500_0000_1000..0x5500_0000_2000, kind: SpaceKind::Static },
    ]
}

/// Marks from these values and reads the resulting snapshot.
fn walk(memory: &Fake, roots: &[u64], is_ocaml_5: bool) -> (Met, Snapshot, Vec<Option<u32>>) {
    let image = MemoryImage::new(memory, spaces());
    let mut met = Met::default();
    let opaque_words = HASHED_WORDS;
    Marker {
        image: &image,
        closures: Closures::Told,
        is_ocaml_5,
        threads: 2,
        is_to_stop: &|| false,
        opaque_words,
    }
    .mark(roots.to_vec(), &mut met);
    let blocks = u32::try_from(image.number()).expect("few");
    let columns =
        Columns { immediates: true, equals: true, continuations: is_ocaml_5, ..Columns::default() };
    let mut writer = Writer::new(Vec::new(), columns, blocks, &Info::default()).expect("memory");
    let references = References {
        operations: [(INT32, CustomId(0)), (INT64, CustomId(0)), (OTHER, CustomId(0))].into(),
        integers: [(INT32, 4), (INT64, 8)].into(),
        ..References::default()
    };
    let search = Search::new(&image, &references, 2, &|| false);
    let equals = search.find(blocks, met.opaque);
    let encoder = Encoder {
        image: &image,
        closures: Closures::Told,
        columns,
        references: &references,
        equals: &equals,
        threads: 2,
    };
    encoder.encode(blocks, |group| writer.group(group)).expect("encodes");
    writer.tables(&Tables::default()).expect("memory");
    let snapshot = Snapshot::from_bytes(writer.finish().expect("memory")).expect("opens");
    let numbers = roots.iter().map(|&root| image.number_at(root)).collect();
    (met, snapshot, numbers)
}

#[test]
fn a_block_across_a_page_end_is_marked_whole() {
    let mut memory = Fake::default();
    let last = memory.block(HEAP + 0x1000, 0, &[integer(7)]);
    // The header is the last word of a page; and a block that spans three pages has pointers at both ends.
    let split = memory.block(PAGE_END - 8, 0, &[last, integer(-1)]);
    let words = 3 * (1 << 17);
    let long = PAGE_END + 0x800;
    memory.words.insert(long, words << 10);
    memory.words.insert(long + 8, split);
    memory.words.insert(long + 8 * words, last);
    for at in 2..words {
        memory.words.insert(long + 8 * at, integer(0));
    }
    let (met, snapshot, numbers) = walk(&memory, &[long + 8], false);
    assert_eq!((met.major.blocks, met.major.words), (3, 2 + 3 + words + 1));
    assert_eq!((met.bad_pointers, numbers[0]), (0, Some(2)));
    assert_eq!(snapshot.blocks(), 3);
}

#[test]
fn pointers_into_closures_lead_to_the_closure() {
    let mut memory = Fake::default();
    let info = |start: u64| 1 << 56 | start << 1 | 1;
    // Two functions, and a value that both use.
    let value = memory.block(HEAP + 0x100, 0, &[integer(1)]);
    let infix = 3 << 10 | 249;
    let closure = memory.block(HEAP + 0x200, 247, &[0x40, info(5), infix, 0x80, info(2), value]);
    let user = memory.block(HEAP + 0x300, 0, &[closure + 24]);
    let (met, _, _) = walk(&memory, &[user], false);
    assert_eq!((met.major.blocks, met.bad_pointers), (3, 0));
    let mut codes: Vec<_> = met.codes.into_iter().collect();
    codes.sort_unstable();
    assert_eq!(codes, [0x40, 0x80]);
}

#[test]
fn pointers_to_invalid_blocks_are_counted_and_skipped() {
    let mut memory = Fake::default();
    // A block longer than its space, an infix that leads out of the space, one that leads to another infix,
    // and odd addresses.
    let endless = HEAP + 0x1000;
    memory.words.insert(endless, (SIZE / 8) << 10);
    let wild = HEAP + 0x2000;
    memory.words.insert(wild, (1 << 30) << 10 | 249);
    let circle = HEAP + 0x3000;
    memory.words.insert(circle, 249);
    let top = memory.block(
        HEAP + 0x4000,
        0,
        &[endless + 8, wild + 8, circle + 8, 2, 0x1234_5678, u64::MAX - 7, 0, HEAP, HEAP + SIZE],
    );
    let (met, snapshot, _) = walk(&memory, &[top], true);
    // The word before the heap is outside of it; the last word of the heap is the header of an empty block.
    assert_eq!((met.bad_pointers, met.major.blocks), (3, 2));
    assert_eq!(snapshot.blocks(), 2);
}

#[test]
fn marking_terminates_on_cycles_and_does_not_overflow_on_long_lists() {
    let mut memory = Fake::default();
    let cells = 100_000;
    for cell in 0..cells {
        let next = HEAP + (cell + 1) % cells * 24 + 8;
        memory.block(HEAP + cell * 24, 0, &[integer(cell as i64), next]);
    }
    let (met, snapshot, _) = walk(&memory, &[HEAP + 8], false);
    assert_eq!((met.major.blocks, snapshot.blocks()), (cells, cells));
}

#[test]
fn unmanaged_blocks_are_counted_as_static() {
    let mut memory = Fake::default();
    let fixed = memory.block(HEAP + 0x100, 0, &[integer(0)]);
    memory.words.insert(HEAP + 0x100, 1 << 10 | 3 << 8);
    let constant = memory.block(0x5500_0000_1000, 0, &[fixed]);
    let (met, _, _) = walk(&memory, &[constant], true);
    assert_eq!((met.fixed.blocks, met.major.blocks), (2, 0));
    assert_eq!(met.unmanaged, vec![HEAP + 0x100..HEAP + 0x110; 1]);
    // In OCaml 4 the colour has no such meaning.
    let (met, _, _) = walk(&memory, &[constant], false);
    assert_eq!((met.fixed.blocks, met.major.blocks), (1, 1));
}

/// A marker for a heap of OCaml 4.
fn marker<'i>(image: &'i MemoryImage<'i>, is_to_stop: &'i (dyn Fn() -> bool + Sync)) -> Marker<'i> {
    Marker {
        image,
        closures: Closures::Told,
        is_ocaml_5: false,
        threads: 1,
        is_to_stop,
        opaque_words: 1,
    }
}

#[test]
fn unreadable_bytes_of_the_heap_are_counted() {
    let mut memory = Fake::default();
    let far = memory.block(HEAP + 0x10_000, 0, &[integer(3)]);
    let near = memory.block(HEAP + 0x100, 0, &[far]);
    memory.unreadable = Some(HEAP + 0x10_000);
    let image = MemoryImage::new(&memory, spaces());
    let mut met = Met::default();
    marker(&image, &|| false).mark(vec![near], &mut met);
    assert_eq!(image.unreadable_bytes(), 4096);
    assert_eq!(image.number_at(near).map(BlockId), Some(BlockId(0)));
}

#[test]
fn marking_copies_the_last_page_of_a_long_string() {
    let mut memory = Fake::default();
    let words = 3 << 17;
    memory.words.insert(HEAP, words << 10 | 252);
    memory.words.insert(HEAP + 8 * words, 5 << 56);
    let image = MemoryImage::new(&memory, spaces());
    let mut met = Met::default();
    marker(&image, &|| false).mark(vec![HEAP + 8], &mut met);
    // The first page and the last, but none between them.
    assert_eq!(image.pages().count(), 2);
    assert_eq!(image.word(HEAP + 8 * words), Some(5 << 56));
    assert_eq!(image.pages().count(), 2);
}

#[test]
fn marking_stops_when_asked() {
    let mut memory = Fake::default();
    let first = memory.block(HEAP + 0x100, 0, &[integer(3)]);
    let second = memory.block(HEAP + 0x200, 0, &[first]);
    let image = MemoryImage::new(&memory, spaces());
    let mut met = Met::default();
    marker(&image, &|| true).mark(vec![second, first], &mut met);
    assert_eq!(met.major.blocks, 0);
}

#[test]
fn copied_ranges_are_listed_and_read_from_the_image() {
    let mut memory = Fake::default();
    let block = memory.block(PAGE_END - 8, 0, &[integer(1), integer(2)]);
    memory.block(HEAP - 16, 0, &[integer(3)]);
    memory.unreadable = Some(HEAP + SIZE - 8);
    let image = MemoryImage::new(&memory, spaces());
    let held = HeapCopy { image: &image, rest: &memory };

    // Across the end of a page of the image, and across the beginning of the heap.
    assert_eq!(held.words(block - 8, 3), memory.words(block - 8, 3));
    assert_eq!(held.words(HEAP - 16, 4), memory.words(HEAP - 16, 4));
    assert_eq!(held.word(0x5500_0000_1000), Some(0));
    // Two pages of the heap; static data is not released.
    let first = image.copied();
    assert_eq!((first.len(), &first[0]), (1, &(HEAP..HEAP + (2 << 20))));

    assert_eq!(held.word(HEAP + SIZE - 8), None, "though the page was copied as far as it goes");
    assert!(held.word(HEAP + SIZE - 4096 - 8).is_some());
    assert_eq!(image.unreadable_bytes(), 4096);
    assert_eq!(image.copied().last(), Some(&(HEAP + SIZE - (1 << 20)..HEAP + SIZE)));
}

/// For each of these blocks, the index of the first with the same contents.
fn firsts(memory: &Fake, blocks: &[u64]) -> Vec<usize> {
    let (_, snapshot, numbers) = walk(memory, blocks, true);
    let mut first: Vec<u32> = (0..snapshot.blocks() as u32).collect();
    for index in 0..snapshot.groups().len() {
        for equal in snapshot.group(index).expect("sound").equals().expect("sound") {
            first[equal.block.index()] = equal.first.0;
        }
    }
    let place = |number: Option<u32>| {
        let found = number.map(|number| first[number as usize]);
        numbers.iter().position(|number| *number == found).expect("it is one of them")
    };
    numbers.iter().map(|&number| place(number)).collect()
}

#[test]
fn equal_contents_are_found() {
    let mut memory = Fake::default();
    let half = 1 << 32;
    let blocks: Vec<u64> = [
        (tag::STRING, vec![1, 2]),
        (tag::STRING, vec![1, 3]),
        (tag::STRING, vec![1, 2]),
        (tag::STRING, vec![2]),
        (tag::DOUBLE, vec![2]),
        (tag::DOUBLE_ARRAY, vec![1, 2]),
        (tag::DOUBLE_ARRAY, vec![1, 2]),
        // Nothing initialises the upper half of a small integer.
        (tag::CUSTOM, vec![INT32, half | 5]),
        (tag::CUSTOM, vec![INT32, 5]),
        (tag::CUSTOM, vec![INT64, half | 5]),
        (tag::CUSTOM, vec![INT64, 5]),
        (tag::CUSTOM, vec![INT64, 5]),
        (tag::STRING, vec![1, 2]),
        // The contents of these are unknown.
        (tag::CUSTOM, vec![OTHER, 5]),
        (tag::CUSTOM, vec![OTHER, 5]),
        (tag::ABSTRACT, vec![1, 2]),
        (tag::ABSTRACT, vec![1, 2]),
        (0, vec![integer(1)]),
        (0, vec![integer(1)]),
    ]
    .iter()
    .enumerate()
    .map(|(at, (tag, words))| memory.block(HEAP + at as u64 * 64, *tag, words))
    .collect();
    let found = firsts(&memory, &blocks);
    assert_eq!(found, [0, 1, 0, 3, 4, 5, 5, 7, 7, 9, 10, 10, 0, 13, 14, 15, 16, 17, 18]);
}

#[test]
fn large_blocks_are_compared_to_their_end() {
    let mut memory = Fake::default();
    // They have the same beginning and end; the middle of two differs, and one cannot be read there.
    let words = 1 << 15;
    let mut long = |place: u64, middle: u64| {
        let header = HEAP + place * (1 << 19);
        memory.words.insert(header, words << 10 | 252);
        memory.words.insert(header + 8 * (words / 2), middle);
        memory.words.insert(header + 8 * words, 7 << 56);
        header + 8
    };
    let blocks = [(0, 1), (3, 2), (4, 1), (5, 2), (6, 1), (7, 3)].map(|(at, word)| long(at, word));
    assert_eq!(firsts(&memory, &blocks), [0, 1, 0, 1, 0, 5]);
    memory.unreadable = Some(HEAP + 4 * (1 << 19) + 8 * (words / 2));
    assert_eq!(firsts(&memory, &blocks), [0, 1, 2, 1, 0, 5]);
    // Across the end of a page of the image.
    let mut memory = Fake::default();
    let [one, other] = [PAGE_END - 16, PAGE_END + 0x100]
        .map(|header| memory.block(header, tag::STRING, &[1, 2, 3]));
    assert_eq!(firsts(&memory, &[one, other]), [0, 0]);
}

#[test]
fn equal_contents_agree_with_a_hash_map() {
    let mut memory = Fake::default();
    let (mut seen, mut expected) = (std::collections::HashMap::new(), Vec::new());
    let (mut state, mut at) = (1_u64, HEAP);
    let mut blocks = Vec::new();
    for index in 0..20_000 {
        let mut random = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let tag = if random(2) == 0 { tag::STRING } else { tag::DOUBLE_ARRAY };
        let words: Vec<u64> = (0..1 + random(3)).map(|_| random(20)).collect();
        blocks.push(memory.block(at, tag, &words));
        at += 8 * (words.len() as u64 + 1);
        expected.push(*seen.entry((tag, words)).or_insert(index));
    }
    assert_eq!(firsts(&memory, &blocks), expected);
}
