//! The page: a small file that the agent and an observer have in common while the program runs.
//!
//! The observer makes it, with a head and zeros; the agent maps it, writes its process into it, and from then on how long
//! the program stood still each time. Nothing is waited for and nothing locked: the
//! observer reads words as they stand, and what it sees may be one pause old.
//!
//! It is not a format: reader and writer are of one build, which its magic number checks.

/// Words of 8 bytes.
pub const WORDS: usize = 2048;
/// Bytes of the file.
pub const BYTES: usize = WORDS * 8;

/// What the first word is.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BACTLIVE");
/// What the second word is; it changes with the layout.
pub const VERSION: u64 = 2;

/// Where things are, in words.
pub mod word {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// [`VERSION`](super::VERSION).
    pub const VERSION: usize = 1;
    /// The process that writes here; 0 until there is one. Only that one does.
    pub const OWNER: usize = 2;
    /// Written by the observer: whether to sample.
    pub const SAMPLING: usize = 3;
    /// Whether pauses are measured.
    pub const MEASURES: usize = 4;
    /// The sum of all pauses, in nanoseconds.
    pub const SUM: usize = 5;
    /// The shortest; nothing if there was none.
    pub const SHORTEST: usize = 6;
    /// The longest.
    pub const LONGEST: usize = 7;
    /// How many long ones there were.
    pub const LONG: usize = 8;
    /// The last of those, in turn: what each was, of which domain, when it began, how long it took.
    pub const LONG_ONES: usize = 16;
    /// How many pauses there were, by [`bucket_of`](super::bucket_of).
    pub const COUNTS: usize = 512;
}

/// A pause from which on it is kept by itself, in nanoseconds.
pub const LONG: u64 = 1_000_000;
/// How many of those are kept.
pub const LONG_KEPT: usize = 64;
/// Words of each.
pub const LONG_WORDS: usize = 4;

/// What the program stood still for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// A minor collection.
    Minor,
    /// A slice of a major collection.
    Slice,
}

impl Pause {
    /// As OCaml 5 names its phases.
    pub fn name(self) -> &'static str {
        match self {
            Pause::Minor => "minor",
            Pause::Slice => "major_slice",
        }
    }

    /// From the number in the page; none if it is no such number.
    pub fn from_number(number: u64) -> Option<Pause> {
        [Pause::Minor, Pause::Slice].into_iter().find(|pause| *pause as u64 == number)
    }
}

/// Buckets of counts.
pub const BUCKETS: usize = 976;

/// The bucket of a number of nanoseconds: 16 to an octave, as the histograms of bactrian-live have them. That crate
/// needs the standard library; a test of capture holds both together.
pub const fn bucket_of(nanos: u64) -> usize {
    if nanos < 16 {
        return nanos as usize;
    }
    let octave = nanos.ilog2() - 4;
    ((octave as usize + 1) << 4) + (nanos >> octave) as usize - 16
}

const _: () = assert!(word::LONG_ONES + LONG_KEPT * LONG_WORDS <= word::COUNTS);
const _: () = assert!(word::COUNTS + BUCKETS <= WORDS);
const _: () = assert!(bucket_of(u64::MAX) == BUCKETS - 1);
