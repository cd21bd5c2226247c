//! What live numbers say of the collector, for the rules of [`crate::gc_rules`].

use bactrian_live::{Database, names};

use super::memory_use::first_number;
use crate::gc_rules::GcFacts;

/// Bytes of a word.
const WORD: f64 = 8.0;

/// What is known at a moment. Live numbers do not say which words are allocated in the major heap directly. They count as
/// allocated in the minor heap, so the promotion rate is a little too low.
pub fn gc_facts(database: &Database, at: u64) -> GcFacts {
    let number = |name| first_number(database.named_at(name, at)?.at(at)?.1);
    let words = |name| number(name).map(|bytes: f64| bytes / WORD);
    GcFacts {
        minor_heap_words: words(names::MINOR_HEAP_SIZE),
        space_overhead: number(names::SPACE_OVERHEAD),
        minor_words: words(names::ALLOCATED),
        promoted_words: words(names::PROMOTED),
        major_words: None,
        minor_collections: number(names::MINOR_COLLECTIONS),
        major_collections: number(names::MAJOR_COLLECTIONS),
        forced_major_collections: None,
        heap_words: words(names::HEAP),
        live_words: words(names::LIVE),
        dependent_bytes: None,
        domains: number(names::DOMAINS),
    }
}
