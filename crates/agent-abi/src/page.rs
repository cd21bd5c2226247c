//! The page: a small file that the agent and an observer share while the program runs.
//!
//! The observer creates it with a header and zeros. The agent maps it, writes its process id into it, and
//! from then on the length of each pause of the program. The observer reads the words without waiting or
//! locking, so what it sees may be one pause old. Only at its end may the program wait for the observer.
//!
//! It is not a file format: reader and writer come from the same build, which the magic number checks.

/// The size of the file in words of 8 bytes.
pub const WORDS: usize = 2048;
/// The size of the file in bytes.
pub const BYTES: usize = WORDS * 8;

/// The value of the first word.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BACTLIVE");
/// The value of the second word; it changes with the layout.
pub const VERSION: u64 = 3;

/// Offsets of the fields, in words.
pub mod word {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// [`VERSION`](super::VERSION).
    pub const VERSION: usize = 1;
    /// The id of the process that writes here, which is the only one that does; 0 until there is one.
    pub const OWNER: usize = 2;
    /// Whether to sample; written by the observer.
    pub const SAMPLING: usize = 3;
    /// Whether pauses are measured.
    pub const MEASURES: usize = 4;
    /// The sum of all pauses, in nanoseconds.
    pub const SUM: usize = 5;
    /// The shortest pause in nanoseconds; meaningless if there was none.
    pub const SHORTEST: usize = 6;
    /// The longest pause in nanoseconds.
    pub const LONGEST: usize = 7;
    /// How many long pauses there were.
    pub const LONG: usize = 8;
    /// Written by the observer before the program starts: whether the program waits at its end until its memory was read.
    pub const READS_AT_END: usize = 9;
    /// The program's processor time until its end, in nanoseconds.
    pub const END_CPU: usize = 10;
    /// When the program ended, in nanoseconds on the monotonic clock; 0 until then. If the observer asked for it, the
    /// program waits from then on.
    pub const END: usize = 11;
    /// Nonzero when the observer has read the program's memory after the end. The lower half is a futex, on which the program waits.
    pub const END_WAS_READ: usize = 12;
    /// The last long pauses, as a circular buffer: for each the kind, the domain, the start and the duration.
    pub const LONG_ONES: usize = 16;
    /// The histogram: the number of pauses per [`bucket_of`](super::bucket_of).
    pub const COUNTS: usize = 512;
}

/// A pause of at least this many nanoseconds is long, and kept individually.
pub const LONG: u64 = 1_000_000;
/// How many long pauses are kept.
pub const LONG_KEPT: usize = 64;
/// Words of a long pause.
pub const LONG_WORDS: usize = 4;

/// What the program was paused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// A minor collection.
    Minor,
    /// A slice of a major collection.
    Slice,
}

impl Pause {
    /// The name of the phase in OCaml 5.
    pub fn name(self) -> &'static str {
        match self {
            Pause::Minor => "minor",
            Pause::Slice => "major_slice",
        }
    }

    /// Converts the number in the page; None if it is not valid.
    pub fn from_number(number: u64) -> Option<Pause> {
        [Pause::Minor, Pause::Slice].into_iter().find(|pause| *pause as u64 == number)
    }
}

/// The maximum time that a program waits at its end for an observer to read its memory, in milliseconds.
pub const LONGEST_END: u64 = 500;

/// Buckets of counts.
pub const BUCKETS: usize = 976;

/// The bucket of a duration in nanoseconds: 16 buckets per octave, like the histograms of bactrian-live. That
/// crate needs the standard library; a test in capture checks that both agree.
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
