//! The major heap of OCaml 4: chunks, each filled with blocks from its start to its end.
//!
//! The colour says what a block is: white is not marked, black (and grey before 4.12) is marked, blue is
//! free. A white block without fields is a fragment: a single word that is too short for anything. While the
//! collector sweeps, white blocks that it has not reached yet are dead.

use std::ops::Range;

use bactrian_ocaml::accounting::Chunks;
use bactrian_ocaml::value::header_words;

use super::{HeapUse, SizeUse, Tally, WORD, at_most, sum};
use crate::memory::Memory;

/// Bytes read at a time: enough to be fast, and few enough to stay in the processor's cache.
const WINDOW: u64 = 256 << 10;
/// Chunks consist of pages.
const PAGE: u64 = 4096;
/// `caml_gc_phase` while sweeping.
const SWEEPING: u32 = 2;
const COLOURS: usize = 4;
const WHITE: usize = 0;
const BLUE: usize = 2;

/// A chunk: from the header of its first block to its end.
pub type Chunk = Range<u64>;

/// The chunks of the heap in the order of their list, which is that of addresses, and what was wrong with it.
/// A chunk is preceded by `head` words that describe it.
pub fn list(
    memory: &dyn Memory,
    layout: Chunks,
    head: u64,
    first: u64,
) -> (Vec<Chunk>, Vec<String>) {
    let mut chunks = Vec::new();
    let mut gaps = Vec::new();
    let most = at_most(memory, PAGE);
    let mut next = first;
    while next != 0 {
        let head = next.wrapping_sub(head * WORD);
        let word = |index: u64| memory.word(head.wrapping_add(index * WORD));
        let Some((size, after)) = word(layout.size).zip(word(layout.next)) else {
            gaps.push(format!("the heap's chunk at {next:#x} cannot be read, nor those after it"));
            break;
        };
        let Some(end) =
            next.checked_add(size).filter(|_| size > 0 && (size | next).is_multiple_of(WORD))
        else {
            gaps.push(format!(
                "there is no chunk of the heap at {next:#x}, where one should be; the rest of the list is lost"
            ));
            break;
        };
        chunks.push(next..end);
        if chunks.len() as u64 > most {
            gaps.push(format!("the list of the heap's chunks has no end (after {most})"));
            break;
        }
        next = after;
    }
    (chunks, gaps)
}

/// Measures the entire heap.
pub(super) fn measure(
    memory: &dyn Memory,
    layout: Chunks,
    head: u64,
    symbol: &dyn Fn(&str) -> Option<u64>,
) -> HeapUse {
    let Some(first) = symbol("caml_heap_start").and_then(|at| memory.word(at)) else {
        let gaps = vec!["where the heap starts (caml_heap_start) cannot be read".to_owned()];
        return HeapUse { gaps, ..HeapUse::default() };
    };
    let (chunks, gaps) = list(memory, layout, head, first);
    let phase = symbol("caml_gc_phase").and_then(|at| memory.word(at)).map(|phase| phase as u32);
    let swept_to = symbol("caml_gc_sweep_hp").and_then(|at| memory.word(at));
    let dead_from = swept_to.filter(|_| phase == Some(SWEEPING)).unwrap_or(u64::MAX);
    let mut total = sum(&chunks, |chunk| sweep(memory, chunk, dead_from));
    total.parts = chunks.len() as u64;
    total.ranges = chunks;
    total.gaps.extend(gaps);
    total
}

/// Measures one chunk. White blocks from `dead_from` on are dead.
fn sweep(memory: &dyn Memory, chunk: &Chunk, dead_from: u64) -> HeapUse {
    // By colour, twice: blocks before `dead_from`, and blocks after it.
    let mut tallies = [Tally::default(); 2 * COLOURS];
    // By the number of bits of the size, and whether blocks are free.
    let mut sizes = [[Tally::default(); 2]; u64::BITS as usize + 1];
    let mut found = HeapUse { words: (chunk.end - chunk.start) / WORD, ..HeapUse::default() };
    let mut window = vec![0; WINDOW.min(chunk.end - chunk.start) as usize];
    let mut at = chunk.start;
    while at < chunk.end {
        let length = WINDOW.min(chunk.end - at) as usize;
        let bytes = window.get_mut(..length).unwrap_or_default();
        if !memory.read(at, bytes) {
            found.gaps.push(format!("the heap cannot be read from {at:#x} to {:#x}", chunk.end));
            break;
        }
        let start = at;
        // The next block may begin beyond the window.
        while let Some(header) = bytes.get((at - start) as usize..).and_then(<[u8]>::first_chunk) {
            let header = u64::from_le_bytes(*header);
            let words = 1 + header_words(header as usize) as u64;
            let colour = (header >> 8) as usize % COLOURS;
            if words == 1 {
                found.fragments += 1;
            } else {
                if colour == BLUE {
                    found.largest_free = found.largest_free.max(words);
                }
                let is_after = usize::from(at >= dead_from);
                let one = Tally { blocks: 1, words };
                tallies[colour + COLOURS * is_after].add(one);
                let bits = (u64::BITS - (words - 1).leading_zeros()) as usize;
                sizes[bits][usize::from(colour == BLUE)].add(one);
            }
            at = at.saturating_add(words * WORD);
        }
    }
    for (index, tally) in tallies.iter().enumerate() {
        let mine = match (index % COLOURS, index / COLOURS) {
            (BLUE, _) => &mut found.free,
            (WHITE, 1) => &mut found.dead,
            _ => &mut found.live,
        };
        mine.add(*tally);
    }
    for (bits, [used, free]) in sizes.into_iter().enumerate() {
        if used.blocks + free.blocks > 0 {
            found.sizes.insert(1 << bits, SizeUse { used, free });
        }
    }
    if at > chunk.end {
        found
            .gaps
            .push(format!("a block of the heap goes beyond its chunk's end, {:#x}", chunk.end));
    }
    let told = found.live.words + found.dead.words + found.free.words + found.fragments;
    // If a block exceeds its chunk, its header was wrong: then nothing is known for sure.
    match found.words.checked_sub(told) {
        Some(unknown) => found.unknown = unknown,
        None => {
            let HeapUse { words, gaps, .. } = found;
            return HeapUse { words, unknown: words, gaps, ..HeapUse::default() };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MadeUp;

    const BASE: u64 = 0x10000;

    const LAYOUT: Chunks = Chunks { size: 2, next: 3 };
    const HEAD: u64 = 6;
    const WHITE: u64 = 0;
    const BLUE: u64 = 2 << 8;
    const BLACK: u64 = 3 << 8;

    /// A chunk: its descriptor, and blocks with these numbers of words and colours.
    fn chunk(next: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let words: Vec<u64> = blocks
            .iter()
            .flat_map(|(words, colour)| {
                std::iter::once(words << 10 | colour).chain((0..*words).map(|_| u64::MAX))
            })
            .collect();
        [vec![0, 0, words.len() as u64 * WORD, next, 0, 0], words].concat()
    }

    fn measure(words: Vec<u64>, phase: u64, swept_to: u64) -> HeapUse {
        let first = BASE + 3 * WORD + HEAD * WORD;
        let memory = MadeUp::new(BASE, [vec![first, phase, swept_to], words].concat());
        super::measure(&memory, LAYOUT, HEAD, &|name| match name {
            "caml_heap_start" => Some(BASE),
            "caml_gc_phase" => Some(BASE + WORD),
            "caml_gc_sweep_hp" => Some(BASE + 2 * WORD),
            _ => None,
        })
    }

    const BLOCKS: &[(u64, u64)] =
        &[(2, WHITE), (3, BLACK), (0, WHITE), (100, BLUE), (5, WHITE), (7, BLUE)];

    #[test]
    fn blocks_are_live_dead_or_free_by_colour_and_sweep_position() {
        let first = BASE + (3 + HEAD) * WORD;
        let idle = measure(chunk(0, BLOCKS), 3, first);
        assert_eq!(idle.gaps, [""; 0]);
        assert_eq!((idle.words, idle.parts, idle.unknown), (3 + 4 + 1 + 101 + 6 + 8, 1, 0));
        assert_eq!(idle.live, Tally { blocks: 3, words: 13 });
        assert_eq!((idle.dead.blocks, idle.fragments, idle.largest_free), (0, 1, 101));
        assert_eq!(idle.free, Tally { blocks: 2, words: 109 });

        let sweeping = measure(chunk(0, BLOCKS), 2, first + 7 * WORD);
        assert_eq!(sweeping.live, Tally { blocks: 2, words: 7 });
        assert_eq!(sweeping.dead, Tally { blocks: 1, words: 6 });
        assert_eq!(sweeping.unreachable_words(7), 6);
        assert_eq!(sweeping.unreachable_words(100), 0);
    }

    #[test]
    fn inconsistent_chunks_are_counted_as_unknown() {
        let first = BASE + (3 + HEAD) * WORD;
        // The list is a cycle.
        let ring = measure(chunk(first, BLOCKS), 0, 0);
        assert!(!ring.gaps.is_empty());
        // The next chunk does not exist, or is not aligned.
        for next in [1, 8, u64::MAX, first + 4] {
            let found = measure(chunk(next, BLOCKS), 0, 0);
            assert_eq!((found.parts, found.gaps.len()), (1, 1), "{next:#x}");
        }
        // A block that is longer than all memory, or than its chunk.
        for words in [u64::MAX << 10, 3 << 10] {
            let mut bad = chunk(0, &[(2, WHITE), (1, WHITE)]);
            bad[HEAD as usize + 3] = words;
            let found = measure(bad, 0, 0);
            assert_eq!((found.words, found.unknown, found.gaps.len()), (5, 5, 1));
        }
        // A chunk that is longer than what can be read.
        let mut cut = chunk(0, BLOCKS);
        cut[2] += 1 << 20;
        let found = measure(cut, 0, 0);
        assert_eq!((found.unknown, found.gaps.len()), (found.words, 1));
        // Nothing but zeros, and no heap at all.
        assert_eq!(measure(vec![0; 100], 0, 0).gaps.len(), 1);
        let none = super::measure(&MadeUp::new(BASE, vec![]), LAYOUT, HEAD, &|_| None);
        assert_eq!((none.words, none.gaps.len()), (0, 1));
    }
}
