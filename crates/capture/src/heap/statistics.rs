//! The collector's counters and settings, by name.
//!
//! Names that OCaml's `Gc.stat` and `Gc.control` use mean the same here. The others:
//!
//! | name | meaning |
//! |---|---|
//! | `major_words_since_slice` | words allocated in the major heap since its last slice; part of `major_words` |
//! | `gc_phase` | OCaml 4: 0 mark, 1 clean weak pointers, 2 sweep, 3 idle. OCaml 5: 0 sweep and mark, 1 mark values with finalisers, 2 sweep ephemerons |
//! | `free_list_words` | words in the free lists of OCaml 4's allocator |
//! | `dependent_bytes` | memory outside the heap that custom blocks have declared (`caml_alloc_custom_mem`, `caml_alloc_dependent_memory`), as counted by the collector |
//! | `dependent_bytes_allocated` | the part of it that was allocated since the last slice |
//! | `extra_heap_resources` | how urgent custom blocks make a collection: at 1 a full cycle is due |
//! | `minor_heap_used_words` | words of minor heaps that are in use now |
//! | `minor_heap_max_size` | words that OCaml 5 has reserved for each domain's minor heap |
//! | `pool_words`, `pool_live_words`, `pool_live_blocks`, `pool_fragment_words`, `large_words`, `large_blocks` | OCaml 5's own counts of its heap |
//! | `domains` | the number of running domains of OCaml 5 |
//!
//! Each domain of OCaml 5 has its own counters. The numbers are sums over the running domains and, if the
//! executable's symbols say where that is, over those that have ended. If several run, the numbers of each
//! follow, as `domain 1: minor_words`.

use bactrian_ocaml::accounting::{
    Accounting, Counter, MajorHeap, Pools, Stored, heap_counts, name,
};

use super::hidden;
use super::target::Target;
use crate::memory::Memory;

const WORD: u64 = 8;
/// An upper bound for the number of domains.
const MOST_DOMAINS: usize = 4096;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Whole(u64),
    /// A floating-point number.
    Real(f64),
}

/// Numbers by name, in the order in which they should be displayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Name and number.
    pub numbers: Vec<(String, Number)>,
    /// What is missing, and why.
    pub gaps: Vec<String>,
}

impl Statistics {
    /// The number with a name.
    pub fn get(&self, name: &str) -> Option<Number> {
        self.numbers.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    fn push(&mut self, name: impl Into<String>, number: Number) {
        self.numbers.push((name.into(), number));
    }

    /// Adds to the number with a name, or inserts it.
    fn add(&mut self, name: &str, more: Number) {
        match self.numbers.iter_mut().find(|(known, _)| known == name) {
            Some((_, number)) => *number = number.plus(more),
            None => self.push(name, more),
        }
    }
}

impl Number {
    fn plus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.saturating_add(b)),
            (a, b) => Number::Real(a.real() + b.real()),
        }
    }

    /// Converts it to floating point.
    pub fn real(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Real(number) => number,
        }
    }

    /// Converts it to an integer, truncating fractions and saturating.
    pub fn whole(self) -> u64 {
        match self {
            Number::Whole(number) => number,
            Number::Real(number) => number as u64,
        }
    }
}

/// Reads the collector's numbers. `states` are the domain states: the only one of OCaml 4, or those of all
/// running domains.
pub fn read(target: &Target, memory: &dyn Memory, states: &[u64]) -> Statistics {
    let mut found = Statistics::default();
    let Some(accounting) = Accounting::of(target.version) else {
        let version = target.version;
        found.gaps.push(format!(
            "the location of the collector's counters in OCaml {version} is \
                unknown"
        ));
        return found;
    };
    let reader = Reader { target, memory, accounting };
    let states = states.get(..MOST_DOMAINS.min(states.len())).unwrap_or(&[]);
    let domains: Vec<Statistics> = states.iter().map(|state| reader.domain(*state)).collect();
    for domain in &domains {
        for (name, number) in &domain.numbers {
            // Each domain has its own, of the same size.
            if name == "minor_heap_size" && found.get(name).is_some() {
                continue;
            }
            found.add(name, *number);
        }
        found.gaps.extend(domain.gaps.iter().cloned());
    }
    for global in accounting.globals {
        match target.global(global.symbol).and_then(|at| read_number(memory, at, global.stored)) {
            Some(number) => found.add(global.name, number),
            None => found.gaps.push(format!("{} cannot be read", global.symbol)),
        }
    }
    if !accounting.compacts {
        found.push(name::COMPACTIONS, Number::Whole(0));
    }
    if let MajorHeap::Pools(pools) = accounting.major {
        reader.ended_domains(pools, &mut found);
        found.push("domains", Number::Whole(states.len() as u64));
    }
    // `Gc.stat` adds this, too.
    if let Some(since) = found.get(name::SINCE_SLICE) {
        found.add(name::MAJOR_WORDS, since);
    }
    if domains.len() > 1 {
        for (state, domain) in states.iter().zip(domains) {
            let id = reader.domain_id(*state).map_or_else(|| "?".to_owned(), |id| id.to_string());
            let numbers = domain.numbers.into_iter();
            found
                .numbers
                .extend(numbers.map(|(name, number)| (format!("domain {id}: {name}"), number)));
        }
    }
    found
}

struct Reader<'a> {
    target: &'a Target,
    memory: &'a dyn Memory,
    accounting: &'static Accounting,
}

impl Reader<'_> {
    /// The numbers of one domain.
    fn domain(&self, state: u64) -> Statistics {
        let mut found = Statistics::default();
        let word = |index: u64| self.memory.word(state.wrapping_add(index * WORD));
        for Counter { name, word, stored } in self.accounting.counters {
            match read_number(self.memory, state.wrapping_add(word * WORD), *stored) {
                Some(number) => found.push(*name, number),
                None => {
                    found.gaps.push(format!("the domain state at {state:#x} cannot be read"));
                    return found;
                }
            }
        }
        let layout = self.target.layout.state;
        let [pointer, start, end] = [layout.young_pointer, layout.young_start, layout.young_end]
            .map(|index| word(index as u64));
        let pointer =
            pointer.zip(start.zip(end)).filter(|(at, (start, end))| start <= at && at <= end);
        if let Some((at, (_, end))) = pointer {
            let used = Number::Whole((end - at) / WORD);
            found.push("minor_heap_used_words", used);
            found.add(name::MINOR_WORDS, used);
        }
        if let MajorHeap::Pools(pools) = self.accounting.major {
            match word(pools.heap) {
                Some(heap) => self.heap_counts(heap.wrapping_add(pools.counts * WORD), &mut found),
                None => {
                    found.gaps.push(format!("the heap of the domain at {state:#x} cannot be read"))
                }
            }
        }
        found
    }

    fn domain_id(&self, state: u64) -> Option<u64> {
        let word = self.target.runtime.domain_id?;
        // The id is a 32-bit field.
        self.memory.word(state.wrapping_add(word as u64 * WORD)).map(|id| id & 0xffff_ffff)
    }

    /// OCaml 5's counts of a heap.
    fn heap_counts(&self, at: u64, found: &mut Statistics) {
        let mut words = [0; heap_counts::WORDS as usize];
        for (word, index) in words.iter_mut().zip(0..) {
            let Some(read) = self.memory.word(at.wrapping_add(index * WORD)) else {
                found
                    .gaps
                    .push(format!("the runtime's count of its heap at {at:#x} cannot be read"));
                return;
            };
            *word = read;
        }
        let word = |index: u64| words.get(index as usize).copied().unwrap_or(0);
        let sum = |words: [u64; 2]| words.into_iter().map(word).fold(0, u64::saturating_add);
        let total = sum([heap_counts::POOL_WORDS, heap_counts::LARGE_WORDS]);
        for (name, number) in [
            ("heap_words", total),
            ("top_heap_words", sum(heap_counts::MOST)),
            ("pool_words", word(heap_counts::POOL_WORDS)),
            ("pool_live_words", word(heap_counts::POOL_LIVE_WORDS)),
            ("pool_live_blocks", word(heap_counts::POOL_LIVE_BLOCKS)),
            ("pool_fragment_words", word(heap_counts::POOL_FRAGMENT_WORDS)),
            ("large_words", word(heap_counts::LARGE_WORDS)),
            ("large_blocks", word(heap_counts::LARGE_BLOCKS)),
        ] {
            found.add(name, Number::Whole(number));
        }
    }

    /// Adds the counters of domains that have ended.
    fn ended_domains(&self, pools: &Pools, found: &mut Statistics) {
        let heap = hidden::variable(self.target, self.memory, &pools.ownerless.place);
        let counts = hidden::variable(self.target, self.memory, &pools.ended);
        let (Some(heap), Some(counts)) = (heap, counts) else {
            found.gaps.push(
                "counts of ended domains are not in the collector's counters: the executable is \
                 stripped of the symbols pool_freelist and orphaned_alloc_stats"
                    .to_owned(),
            );
            return;
        };
        self.heap_counts(heap.wrapping_add(pools.ownerless.counts * WORD), found);
        for (name, index) in pools.ended_names.iter().zip(0..) {
            match self.memory.word(counts.wrapping_add(index * WORD)) {
                Some(number) => found.add(name, Number::Whole(number)),
                None => found.gaps.push(format!("{name} of ended domains cannot be read")),
            }
        }
    }
}

fn read_number(memory: &dyn Memory, at: u64, stored: Stored) -> Option<Number> {
    Some(match stored {
        Stored::Integer => Number::Whole(memory.word(at)?),
        Stored::Double => Number::Real(f64::from_bits(memory.word(at)?)),
        Stored::Int32 => {
            let mut bytes = [0; 4];
            memory.read(at, &mut bytes).then(|| Number::Whole(u32::from_le_bytes(bytes).into()))?
        }
    })
}
