//! Where the runtime keeps the memory of the heap and the collector's counters, to account for them: one table,
//! keyed by version.
//!
//! Taken from `major_gc.h`, `domain_state.tbl`, `shared_heap.c`, `sizeclasses.h`, `gc_stats.h` and `io.h` of
//! each release. A word is 8 bytes.

use crate::domain_state::Release;
use crate::version::Version;

/// What is needed to account for the heap of a range of OCaml versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// The first and the last version of OCaml with this layout.
    pub versions: (Version, Version),
    /// The structure of the major heap.
    pub major: MajorHeap,
    /// Counters in the domain state.
    pub counters: &'static [Counter],
    /// Counters that have a symbol of their own.
    pub globals: &'static [Global],
    /// Whether it can compact its heap; 5.0 and 5.1 cannot, and count no compactions.
    pub compacts: bool,
}

/// The structure of the major heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MajorHeap {
    /// OCaml 4: chunks, completely filled with blocks.
    Chunks(Chunks),
    /// OCaml 5: pools with slots of one size each, and separate large blocks.
    Pools(&'static Pools),
}

/// Chunks: a linked list that starts at `caml_heap_start`. A chunk's head is right before its first block; its
/// length in words is in [`HeapLayout`](crate::heap_layout::HeapLayout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Word of the head with the chunk's size in bytes.
    pub size: u64,
    /// Word of the head with the pointer to the next chunk.
    pub next: u64,
}

/// Pools, and their two owners: domains, and the runtime after a domain has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Word of the domain state with the pointer to the domain's heap.
    pub heap: u64,
    /// Size of a pool in words.
    pub pool: u64,
    /// Size of a pool's header in words; the fields below are in it.
    pub pool_head: u64,
    /// Word of a pool with the pointer to the next one.
    pub pool_next: u64,
    /// Word of a pool with its size class, in 32 bits.
    pub pool_class: u64,
    /// Size of a slot in words, header included, by size class.
    pub slots: &'static [u16],
    /// Whether the space that is too small for a slot comes before the slots, not after them.
    pub begins_with_waste: bool,
    /// How to recognise free slots.
    pub free: FreeSlots,
    /// Words before the header of a large block.
    pub large_head: u64,
    /// Word there with the pointer to the next large block.
    pub large_next: u64,
    /// A domain's heap starts with this many lists of pools, each of one word per size class.
    pub lists: u64,
    /// Words of a domain's heap with the two lists of large blocks.
    pub large: [u64; 2],
    /// Word of a domain's heap where the runtime's own counters begin.
    pub counts: u64,
    /// The same for what has no owner, in a static variable.
    pub ownerless: Ownerless,
    /// Counters of ended domains, in a static variable.
    pub ended: Hidden,
    /// The names of these counters, word by word.
    pub ended_names: &'static [&'static str],
}

/// A static variable of the runtime. Stripped executables have no symbol for it, but do for functions that use
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The C file that defines it.
    pub file: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// A function that uses it.
    pub function: &'static str,
    /// The parts of it that this function uses, as byte offsets.
    pub parts: &'static [u64],
    /// Whether the function reads these parts; otherwise it takes their addresses.
    pub is_read: bool,
}

/// How to recognise a free slot of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeSlots {
    /// Its header is zero.
    One,
    /// Since 5.5: its header is that of an abstract block that is never marked, and the size in it is the
    /// number of free slots that follow, whose contents are arbitrary.
    Run,
}

impl FreeSlots {
    /// Tag and colour of the header that begins a run of free slots.
    const RUN: u64 = 0x3fb;

    /// The number of free slots that begin with this header.
    pub fn count(self, header: u64) -> u64 {
        match self {
            FreeSlots::One => u64::from(header == 0),
            FreeSlots::Run if header & 0x3ff == FreeSlots::RUN => (header >> 10) + 1,
            FreeSlots::Run => 0,
        }
    }
}

/// What the runtime itself owns, in words from the start of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownerless {
    /// The variable.
    pub place: Hidden,
    /// The list of unused pools.
    pub idle: u64,
    /// The runtime's counters of what ended domains left behind.
    pub counts: u64,
    /// The lists of pools that they left behind: two per size class.
    pub lists: u64,
    /// The list of large blocks that they left behind.
    pub large: u64,
}

/// The runtime's own counters of a heap, in words from their start.
pub mod heap_counts {
    /// Words of pools.
    pub const POOL_WORDS: u64 = 0;
    /// Words of blocks in pools, headers included.
    pub const POOL_LIVE_WORDS: u64 = 2;
    /// Blocks in pools.
    pub const POOL_LIVE_BLOCKS: u64 = 3;
    /// Words lost in pools: pool headers, and slots larger than their blocks.
    pub const POOL_FRAGMENT_WORDS: u64 = 4;
    /// Words of large blocks, including what precedes their headers.
    pub const LARGE_WORDS: u64 = 5;
    /// Large blocks.
    pub const LARGE_BLOCKS: u64 = 7;
    /// The peak of the words of pools and of large blocks.
    pub const MOST: [u64; 2] = [1, 6];
    /// Size of all these counters in words.
    pub const WORDS: u64 = 8;
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// 64 bits.
    Integer,
    /// 32 bits, like C's `int`.
    Int32,
    /// C's `double`.
    Double,
}

/// A counter in the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name; the one in `Gc.stat` and `Gc.control` if it is there.
    pub name: &'static str,
    /// The word that holds it.
    pub word: u64,
    /// How it is stored.
    pub stored: Stored,
}

/// A counter with a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name; the one in `Gc.stat` and `Gc.control` if it is there.
    pub name: &'static str,
    /// The symbol.
    pub symbol: &'static str,
    /// How it is stored.
    pub stored: Stored,
}

const fn integer(name: &'static str, word: u64) -> Counter {
    Counter { name, word, stored: Stored::Integer }
}

const fn double(name: &'static str, word: u64) -> Counter {
    Counter { name, word, stored: Stored::Double }
}

const fn global(name: &'static str, symbol: &'static str) -> Global {
    Global { name, symbol, stored: Stored::Integer }
}

const fn int32(name: &'static str, symbol: &'static str) -> Global {
    Global { name, symbol, stored: Stored::Int32 }
}

const fn real(name: &'static str, symbol: &'static str) -> Global {
    Global { name, symbol, stored: Stored::Double }
}

/// Names that are used in several places. The counters of allocated words in the domain state lag: words
/// allocated since the last slice must be added.
pub mod name {
    /// Words allocated in minor heaps.
    pub const MINOR_WORDS: &str = "minor_words";
    /// Words that minor collections promoted to the major heap.
    pub const PROMOTED_WORDS: &str = "promoted_words";
    /// Words allocated in the major heap, including promoted ones.
    pub const MAJOR_WORDS: &str = "major_words";
    /// Words allocated in the major heap since its last slice; part of `major_words`.
    pub const SINCE_SLICE: &str = "major_words_since_slice";
    /// Minor collections.
    pub const MINOR_COLLECTIONS: &str = "minor_collections";
    /// Major collections that the program requested.
    pub const FORCED: &str = "forced_major_collections";
    /// Compactions.
    pub const COMPACTIONS: &str = "compactions";
}

const COUNTERS_4_11: &[Counter] = &[
    double(name::MINOR_WORDS, 36),
    double(name::PROMOTED_WORDS, 37),
    double(name::MAJOR_WORDS, 38),
    integer(name::MINOR_COLLECTIONS, 39),
    integer("major_collections", 40),
    integer("heap_words", 41),
    integer("top_heap_words", 42),
    integer(name::COMPACTIONS, 43),
    integer("heap_chunks", 44),
    integer("minor_heap_size", 10),
];

const COUNTERS_4_12: &[Counter] = &[
    double(name::MINOR_WORDS, 37),
    double(name::PROMOTED_WORDS, 38),
    double(name::MAJOR_WORDS, 39),
    integer(name::MINOR_COLLECTIONS, 40),
    integer("major_collections", 41),
    integer("heap_words", 42),
    integer("top_heap_words", 43),
    integer(name::COMPACTIONS, 44),
    integer(name::FORCED, 45),
    integer("heap_chunks", 46),
    integer("minor_heap_size", 10),
];

const COUNTERS_5_3: [Counter; 9] = [
    integer(name::MINOR_WORDS, 48),
    integer(name::PROMOTED_WORDS, 49),
    integer(name::MAJOR_WORDS, 50),
    integer(name::SINCE_SLICE, 16),
    integer(name::FORCED, 51),
    integer("minor_heap_size", 34),
    integer("dependent_bytes", 41),
    integer("dependent_bytes_allocated", 42),
    double("extra_heap_resources", 39),
];

/// The counters of 5.0, whose domain state counts minor collections per domain.
const COUNTERS_5_0: [Counter; COUNTERS_5_3.len() + 1] = {
    let mut counters = [integer(name::MINOR_COLLECTIONS, 50); COUNTERS_5_3.len() + 1];
    let (first, _) = counters.split_at_mut(COUNTERS_5_3.len());
    first.copy_from_slice(&counters_5(Release::V5_0));
    counters
};

/// The counters of 5.3, at the positions of another release.
const fn counters_5(release: Release) -> [Counter; COUNTERS_5_3.len()] {
    let mut counters = COUNTERS_5_3;
    let mut at = 0;
    while at < counters.len() {
        counters[at].word = release.word(counters[at].word as usize) as u64;
        at += 1;
    }
    counters
}

const GLOBALS_4: &[Global] = &[
    global("space_overhead", "caml_percent_free"),
    global("max_overhead", "caml_percent_max"),
    global("major_heap_increment", "caml_major_heap_increment"),
    global("allocation_policy", "caml_allocation_policy"),
    int32("window_size", "caml_major_window"),
    global("custom_major_ratio", "caml_custom_major_ratio"),
    global("custom_minor_ratio", "caml_custom_minor_ratio"),
    global("custom_minor_max_size", "caml_custom_minor_max_bsz"),
    int32("gc_phase", "caml_gc_phase"),
    global(name::SINCE_SLICE, "caml_allocated_words"),
    global("free_list_words", "caml_fl_cur_wsz"),
    global("dependent_bytes", "caml_dependent_size"),
    global("dependent_bytes_allocated", "caml_dependent_allocated"),
    real("extra_heap_resources", "caml_extra_heap_resources"),
];

/// The counters of all releases of OCaml 5. The newest come first: 5.0 lacks the first two, and 5.1 the first.
const GLOBALS_5: &[Global] = &[
    global(name::COMPACTIONS, "caml_compactions_count"),
    global(name::MINOR_COLLECTIONS, "caml_minor_collections_count"),
    global("major_collections", "caml_major_cycles_completed"),
    global("space_overhead", "caml_percent_free"),
    global("custom_major_ratio", "caml_custom_major_ratio"),
    global("custom_minor_ratio", "caml_custom_minor_ratio"),
    global("custom_minor_max_size", "caml_custom_minor_max_bsz"),
    global("minor_heap_max_size", "caml_minor_heap_max_wsz"),
    global("stack_limit", "caml_max_stack_wsize"),
    int32("gc_phase", "caml_gc_phase"),
];

/// Since 5.2. Slots fill a pool except for its header and the remainder that is too small for a slot.
const POOLS_5_3: Pools = Pools {
    heap: 35,
    pool: 4096,
    pool_head: 4,
    pool_next: 0,
    pool_class: 3,
    slots: &[
        1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 17, 19, 22, 25, 28, 32, 33, 37, 42, 47, 53, 59, 65,
        73, 81, 89, 99, 108, 118, 128,
    ],
    begins_with_waste: true,
    free: FreeSlots::One,
    large_head: 2,
    large_next: 1,
    lists: 4,
    large: [128, 129],
    // After the next class to sweep and the owner.
    counts: 132,
    // After the lock of five words.
    ownerless: Ownerless {
        place: Hidden {
            file: "shared_heap.c",
            name: "pool_freelist",
            function: "caml_accum_orphan_heap_stats",
            parts: &[0, 6 * 8],
            is_read: false,
        },
        idle: 5,
        counts: 6,
        lists: 14,
        large: 78,
    },
    ended: Hidden {
        file: "gc_stats.c",
        name: "orphaned_alloc_stats",
        function: "caml_accum_orphan_alloc_stats",
        parts: &[0, 8, 16, 24],
        is_read: true,
    },
    ended_names: &[name::MINOR_WORDS, name::PROMOTED_WORDS, name::MAJOR_WORDS, name::FORCED],
};

/// Before 5.2.
const SLOTS_5_0: &[u16] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 29, 33, 37, 42, 47, 53, 59, 65, 73,
    81, 89, 99, 108, 118, 128,
];

const CHUNKS: MajorHeap = MajorHeap::Chunks(Chunks { size: 2, next: 3 });

/// The known heaps.
static ACCOUNTINGS: [Accounting; 8] = [
    Accounting {
        versions: (Version::new(4, 11), Version::new(4, 11)),
        major: CHUNKS,
        counters: COUNTERS_4_11,
        globals: GLOBALS_4,
        compacts: true,
    },
    Accounting {
        versions: (Version::new(4, 12), Version::new(4, 14)),
        major: CHUNKS,
        counters: COUNTERS_4_12,
        globals: GLOBALS_4,
        compacts: true,
    },
    accounting_5(Release::V5_0, &const { pools_5(Release::V5_0) }, &COUNTERS_5_0),
    accounting_5(
        Release::V5_1,
        &const { pools_5(Release::V5_1) },
        &const { counters_5(Release::V5_1) },
    ),
    accounting_5(
        Release::V5_2,
        &const { pools_5(Release::V5_2) },
        &const { counters_5(Release::V5_2) },
    ),
    accounting_5(
        Release::V5_3,
        &const { pools_5(Release::V5_3) },
        &const { counters_5(Release::V5_3) },
    ),
    accounting_5(
        Release::V5_4,
        &const { pools_5(Release::V5_4) },
        &const { counters_5(Release::V5_4) },
    ),
    accounting_5(
        Release::V5_5,
        &const { pools_5(Release::V5_5) },
        &const { counters_5(Release::V5_5) },
    ),
];

const fn pools_5(release: Release) -> Pools {
    let mut pools = POOLS_5_3;
    pools.heap = release.word(pools.heap as usize) as u64;
    if (release as u8) < Release::V5_2 as u8 {
        pools.slots = SLOTS_5_0;
        pools.begins_with_waste = false;
    }
    match release {
        Release::V5_0 => {
            pools.ended.parts = &[0, 8, 16, 24, 32];
            pools.ended_names = &[
                name::MINOR_WORDS,
                name::PROMOTED_WORDS,
                name::MAJOR_WORDS,
                name::MINOR_COLLECTIONS,
                name::FORCED,
            ];
        }
        Release::V5_1 | Release::V5_2 | Release::V5_3 | Release::V5_4 => {}
        Release::V5_5 => pools.free = FreeSlots::Run,
    }
    pools
}

const fn accounting_5(
    release: Release,
    pools: &'static Pools,
    counters: &'static [Counter],
) -> Accounting {
    let missing = match release {
        Release::V5_0 => 2,
        Release::V5_1 => 1,
        _ => 0,
    };
    Accounting {
        versions: (release.version(), release.version()),
        major: MajorHeap::Pools(pools),
        counters,
        globals: GLOBALS_5.split_at(missing).1,
        compacts: missing == 0,
    }
}

impl Accounting {
    /// The layout for a version; None if it is unknown.
    pub fn of(version: Version) -> Option<&'static Accounting> {
        ACCOUNTINGS.iter().find(|layout| {
            let (first, last) = layout.versions;
            (first..=last).contains(&version)
        })
    }
}

impl Pools {
    /// Words of a pool that are in no slot: its header, and the remainder that is too small for a slot.
    pub fn outside_slots(&self, class: usize) -> Option<u64> {
        let slot = u64::from(*self.slots.get(class)?);
        let room = self.pool - self.pool_head;
        Some(self.pool_head + room % slot)
    }

    /// Words of a pool before its first slot.
    pub fn before_slots(&self, class: usize) -> Option<u64> {
        match self.begins_with_waste {
            true => self.outside_slots(class),
            false => Some(self.pool_head),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_accounting_is_known_by_version() {
        for (major, minor, known) in [
            (4, 10, false),
            (4, 11, true),
            (4, 13, true),
            (4, 14, true),
            (5, 0, true),
            (5, 2, true),
            (5, 3, true),
            (5, 4, true),
            (5, 6, false),
        ] {
            let found = Accounting::of(Version::new(major, minor));
            assert_eq!(found.is_some(), known, "{major}.{minor}");
        }
    }

    /// `wastage_sizeclass` of the runtimes, which happens not to be a remainder for all classes.
    #[test]
    fn slots_fill_pools_to_their_end() {
        let check = |release, wasted: [u64; 32]| {
            let pools = pools_5(release);
            assert_eq!(pools.slots.len(), wasted.len());
            for (class, wasted) in wasted.into_iter().enumerate() {
                assert_eq!(pools.outside_slots(class), Some(4 + wasted), "class {class}");
                let before = if release < Release::V5_2 { 4 } else { 4 + wasted };
                assert_eq!(pools.before_slots(class), Some(before), "class {class}");
            }
            assert_eq!(pools.outside_slots(32), None);
        };
        let before_5_2 = [
            0, 0, 0, 0, 2, 0, 4, 4, 6, 2, 0, 4, 12, 6, 12, 21, 10, 3, 0, 22, 18, 3, 11, 21, 62, 4,
            42, 87, 33, 96, 80, 124,
        ];
        let since_5_2 = [
            0, 0, 0, 0, 2, 0, 4, 4, 2, 0, 4, 12, 12, 7, 0, 17, 4, 28, 0, 22, 18, 3, 11, 21, 62, 4,
            42, 87, 33, 96, 80, 124,
        ];
        check(Release::V5_0, before_5_2);
        check(Release::V5_1, before_5_2);
        check(Release::V5_2, since_5_2);
        check(Release::V5_5, since_5_2);
    }

    #[test]
    fn counters_missing_in_a_release_are_not_read() {
        let of = |minor| Accounting::of(Version::new(5, minor)).expect("it is known");
        let has = |minor, symbol| of(minor).globals.iter().any(|global| global.symbol == symbol);
        let minor = |minor| has(minor, "caml_minor_collections_count");
        let compactions = |minor| has(minor, "caml_compactions_count");
        assert_eq!([0, 1, 2, 3].map(minor), [false, true, true, true]);
        assert_eq!([0, 1, 2, 3].map(compactions), [false, false, true, true]);
        assert_eq!([0, 1, 2, 3].map(|minor| of(minor).compacts), [false, false, true, true]);
        let by_domain = of(0).counters.iter().find(|it| it.name == name::MINOR_COLLECTIONS);
        assert_eq!(by_domain.map(|counter| counter.word), Some(50));
    }
}
