//! The major heap of OCaml 5: pools of slots of one size, and separate large blocks.
//!
//! Each domain has lists of both. What domains leave behind when they end, and unused pools, belong to the
//! runtime as a whole, in a variable whose symbol is not exported. A slot whose first word is zero is free.
//! The meaning of colours rotates with each collection: `caml_global_heap_state` says which one is garbage
//! now.

use std::sync::atomic::{AtomicU64, Ordering};

use bactrian_ocaml::accounting::Pools;
use bactrian_ocaml::value::header_words;

use super::{HeapUse, SizeUse, Tally, WORD, at_most, sum};
use crate::memory::Memory;

const COLOUR: u64 = 3 << 8;
/// The word of `caml_global_heap_state` with the colour of garbage.
const GARBAGE: u64 = 2;

/// A list to measure.
enum List {
    Pools { first: u64, class: usize },
    Large { first: u64 },
    Idle { first: u64 },
}

struct Heap<'a> {
    memory: &'a dyn Memory,
    layout: &'a Pools,
    /// The colour of garbage.
    garbage: u64,
    /// An upper bound for the pools that remain in all lists: it detects cycles.
    pools_left: AtomicU64,
    /// The same for large blocks.
    large_left: AtomicU64,
}

/// Measures the entire heap: those of domains, by their states, and what has no owner. `colours` is the
/// address of the colours' meaning.
pub(super) fn measure(
    memory: &dyn Memory,
    layout: &Pools,
    ownerless: Option<u64>,
    colours: Option<u64>,
    domains: &[u64],
) -> HeapUse {
    let mut gaps = Vec::new();
    let mut lists = Vec::new();
    for domain in domains {
        let heap = memory.word(domain.wrapping_add(layout.heap * WORD));
        match heap.and_then(|heap| lists_of(memory, layout, heap, 0, layout.lists, &layout.large)) {
            Some(found) => lists.extend(found),
            None => gaps.push(format!("the heap of the domain at {domain:#x} cannot be read")),
        }
    }
    let places = &layout.ownerless;
    match ownerless {
        Some(at) => match lists_of(memory, layout, at, places.lists, 2, &[places.large]) {
            Some(found) => {
                lists.extend(found);
                let first = memory.word(at.wrapping_add(places.idle * WORD)).unwrap_or(0);
                lists.push(List::Idle { first });
            }
            None => gaps.push("the heap that ended domains left cannot be read".to_owned()),
        },
        None => gaps.push(
            "the heap that ended domains left, and idle pools, are not counted: the executable is stripped of \
             the symbol pool_freelist"
                .to_owned(),
        ),
    }
    let garbage = colours.and_then(|colours| memory.word(colours.wrapping_add(GARBAGE * WORD)));
    if garbage.is_none() {
        gaps.push(
            "dead blocks that are not swept yet are counted as live: the collector's colours \
             cannot be read"
                .to_owned(),
        );
    }
    let heap = Heap {
        memory,
        layout,
        // Colours have two bits, so no block has this one.
        garbage: garbage.unwrap_or(u64::MAX),
        pools_left: AtomicU64::new(at_most(memory, layout.pool * WORD)),
        // Large blocks are longer than the longest slot.
        large_left: AtomicU64::new(at_most(
            memory,
            layout.slots.last().map_or(0, |slot| u64::from(*slot)) * WORD,
        )),
    };
    let mut total = sum(&lists, |list| match *list {
        List::Pools { first, class } => heap.pools(first, class),
        List::Large { first } => heap.large(first),
        List::Idle { first } => heap.idle(first),
    });
    total.gaps.extend(gaps);
    total
}

/// The lists at an address: `count` lists of pools per size class, from word `from` on, and lists of large
/// blocks.
fn lists_of(
    memory: &dyn Memory,
    layout: &Pools,
    place: u64,
    from: u64,
    count: u64,
    large: &[u64],
) -> Option<Vec<List>> {
    let word = |index: u64| memory.word(place.wrapping_add(index * WORD));
    let mut lists = Vec::new();
    let classes = layout.slots.len();
    for index in 0..count * classes as u64 {
        let first = word(from + index)?;
        lists.push(List::Pools { first, class: index as usize % classes });
    }
    for index in large {
        lists.push(List::Large { first: word(*index)? });
    }
    Some(lists)
}

impl Heap<'_> {
    fn pools(&self, first: u64, class: usize) -> HeapUse {
        let mut found = HeapUse::default();
        let mut bytes = vec![0; (self.layout.pool * WORD) as usize];
        let mut pool = first;
        while pool != 0 && take_one(&self.pools_left, &mut found) {
            if !self.memory.read(pool, &mut bytes) {
                found
                    .gaps
                    .push(format!("the pool at {pool:#x} cannot be read, nor those after it"));
                break;
            }
            let Some(end) = pool.checked_add(self.layout.pool * WORD) else { break };
            if word_of(&bytes, self.layout.pool_class).map(|class| class as u32)
                != u32::try_from(class).ok()
            {
                found.gaps.push(format!(
                    "there is no pool at {pool:#x}, where one should be; the rest of the list is lost"
                ));
                break;
            }
            found.words += self.layout.pool;
            found.parts += 1;
            found.ranges.push(pool..end);
            self.slots(&bytes, class, &mut found);
            pool = word_of(&bytes, self.layout.pool_next).unwrap_or(0);
        }
        found
    }

    /// Measures the slots of a pool.
    fn slots(&self, pool: &[u8], class: usize, found: &mut HeapUse) {
        let slot = self.layout.slots.get(class).copied().map(u64::from);
        let outside = self.layout.outside_slots(class).zip(self.layout.before_slots(class));
        let Some(((outside, before), slot)) = outside.zip(slot) else { return };
        found.fragments += outside;
        let slots = pool
            .get((before * WORD) as usize..)
            .unwrap_or(&[])
            .chunks_exact((slot * WORD) as usize);
        let mut headers = slots.filter_map(<[u8]>::first_chunk).map(|it| u64::from_le_bytes(*it));
        let mut size = SizeUse::default();
        while let Some(header) = headers.next() {
            let words = 1 + header_words(header as usize) as u64;
            let free = self.layout.free.count(header);
            if free > 0 {
                let others = headers.by_ref().take(free as usize - 1).count() as u64;
                size.free.add(Tally { blocks: 1 + others, words: (1 + others) * slot });
                found.largest_free = found.largest_free.max(slot);
            } else if words > slot {
                found.unknown += slot;
            } else {
                found.fragments += slot - words;
                let one = Tally { blocks: 1, words };
                self.tally(header, found).add(one);
                size.used.add(one);
            }
        }
        found.free.add(size.free);
        let all = found.sizes.entry(slot).or_default();
        all.used.add(size.used);
        all.free.add(size.free);
    }

    fn large(&self, first: u64) -> HeapUse {
        let mut found = HeapUse::default();
        let mut block = first;
        let head = self.layout.large_head;
        let mut bytes = vec![0; ((head + 1) * WORD) as usize];
        while block != 0 && take_one(&self.large_left, &mut found) {
            if !self.memory.read(block, &mut bytes) {
                found.gaps.push(format!(
                    "the large block at {block:#x} cannot be read, nor those after it"
                ));
                break;
            }
            let header = word_of(&bytes, head).unwrap_or(0);
            let words = 1 + header_words(header as usize) as u64;
            let Some(end) = block.checked_add((head + words) * WORD) else { break };
            found.words += head + words;
            found.fragments += head;
            found.ranges.push(block..end);
            found.large.blocks += 1;
            found.large.words += words;
            let tally = self.tally(header, &mut found);
            tally.blocks += 1;
            tally.words += words;
            block = word_of(&bytes, self.layout.large_next).unwrap_or(0);
        }
        found
    }

    fn idle(&self, first: u64) -> HeapUse {
        let mut found = HeapUse::default();
        let mut pool = first;
        while pool != 0 && take_one(&self.pools_left, &mut found) {
            let next = self.memory.word(pool.wrapping_add(self.layout.pool_next * WORD));
            let (Some(next), Some(end)) = (next, pool.checked_add(self.layout.pool * WORD)) else {
                found
                    .gaps
                    .push(format!("the idle pool at {pool:#x} cannot be read, nor those after it"));
                break;
            };
            found.idle += self.layout.pool;
            found.ranges.push(pool..end);
            pool = next;
        }
        found
    }

    /// The tally that counts a block.
    fn tally<'f>(&self, header: u64, found: &'f mut HeapUse) -> &'f mut Tally {
        if header & COLOUR == self.garbage { &mut found.dead } else { &mut found.live }
    }
}

/// Whether there may be one more; if not, says so in `found`.
fn take_one(left: &AtomicU64, found: &mut HeapUse) -> bool {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    if taken.is_err() {
        found.gaps.push("the heap's lists have more members than fit into memory".to_owned());
    }
    taken.is_ok()
}

/// A word of a byte slice, by its index.
fn word_of(bytes: &[u8], index: u64) -> Option<u64> {
    bytes.get((index * WORD) as usize..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use bactrian_ocaml::Version;
    use bactrian_ocaml::accounting::{Accounting, MajorHeap};

    use super::*;
    use crate::memory::MadeUp;

    const BASE: u64 = 0x10000;

    fn layout() -> &'static Pools {
        match Accounting::of(Version::new(5, 3)).map(|known| known.major) {
            Some(MajorHeap::Pools(pools)) => pools,
            other => panic!("{other:?}"),
        }
    }

    const STATE: u64 = 0;
    const HEAP: u64 = 64;
    const COLOURS: u64 = 500;
    const POOL: u64 = 512;
    const LARGE: u64 = POOL + 4096;
    /// The size class of slots with three words.
    const CLASS: u64 = 2;
    const MARKED: u64 = 1 << 8;
    const DEAD: u64 = 2 << 8;

    fn at(word: u64) -> u64 {
        BASE + word * WORD
    }

    /// A domain with one pool and one large block.
    fn memory() -> Vec<u64> {
        let mut words = vec![0; LARGE as usize + 200];
        let mut put = |at: u64, word: u64| words[at as usize] = word;
        put(STATE + layout().heap, at(HEAP));
        put(HEAP + CLASS, at(POOL));
        put(HEAP + layout().large[0], at(LARGE));
        put(COLOURS + 2, DEAD);
        put(POOL + 3, CLASS);
        put(POOL + 4, 2 << 10 | MARKED);
        put(POOL + 7, 1 << 10 | MARKED);
        put(POOL + 10, 2 << 10 | DEAD);
        put(LARGE + 2, 190 << 10 | MARKED);
        words
    }

    fn measure(words: Vec<u64>) -> HeapUse {
        let memory = MadeUp::new(BASE, words);
        super::measure(&memory, layout(), None, Some(at(COLOURS)), &[at(STATE)])
    }

    #[test]
    fn slots_are_live_dead_or_free() {
        let found = measure(memory());
        assert_eq!((found.words, found.parts), (4096 + 2 + 191, 1));
        assert_eq!(found.live, Tally { blocks: 3, words: 3 + 2 + 191 });
        assert_eq!(found.dead, Tally { blocks: 1, words: 3 });
        assert_eq!(found.free, Tally { blocks: 1361, words: 3 * 1361 });
        // The pool's descriptor, one word of the second slot, and the large block's descriptor.
        assert_eq!((found.fragments, found.unknown), (4 + 1 + 2, 0));
        // The executable has no symbol for what ended domains left.
        assert_eq!(found.gaps.len(), 1);
    }

    #[test]
    fn broken_and_cyclic_pool_lists_are_reported() {
        for (place, word, words) in [
            // The pool's next one is itself, nowhere, or not a pool of this class.
            (POOL, at(POOL), None),
            (POOL, 8, Some(4096 + 193)),
            (POOL, u64::MAX - 7, Some(4096 + 193)),
            (POOL + 3, CLASS + 1, Some(193)),
            // The large block's next one.
            (LARGE + 1, at(LARGE), None),
            (LARGE + 1, 16, Some(4096 + 193)),
            // The domain's heap.
            (STATE + layout().heap, 0, Some(0)),
        ] {
            let mut bad = memory();
            bad[place as usize] = word;
            let found = measure(bad);
            assert_eq!(found.gaps.len(), 2, "{place} {word:#x}: {:?}", found.gaps);
            if let Some(words) = words {
                assert_eq!(found.words, words, "{place} {word:#x}");
            }
        }
    }

    #[test]
    fn headers_longer_than_their_slot_are_counted_as_unknown() {
        let mut bad = memory();
        bad[POOL as usize + 4] = u64::MAX;
        let found = measure(bad);
        assert_eq!((found.unknown, found.live.blocks), (3, 2));
        let sum = found.live.words + found.dead.words + found.free.words + found.fragments;
        assert_eq!(sum + found.unknown, found.words);
    }
}
