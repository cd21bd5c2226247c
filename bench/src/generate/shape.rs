//! The two kinds of program that a trace is made of. Their numbers were chosen so that the traces come
//! out like recorded ones (docs/performance.md).

use std::ops::RangeInclusive;

pub struct Shape {
    pub name: &'static str,
    /// Events of a trace of full size.
    pub events: u64,
    pub functions: usize,
    /// Places of each function that allocate.
    pub allocation_sites: RangeInclusive<usize>,
    /// Places of each function that call another. How many there are decides how many stacks differ.
    pub call_sites: RangeInclusive<usize>,
    /// The share of functions that have more call sites than the fewest.
    pub branching: f64,
    /// How deep stacks are in the middle.
    pub depth: f64,
    /// How many calls return between two samples, in the middle.
    pub returns: f64,
    /// How often a recursion goes hundreds of calls deep, per sample.
    pub deep_recursion: f64,
    /// The share of words that is sampled.
    pub sample_rate: f64,
    /// The time between two samples is at most this, in microseconds.
    pub longest_pause: usize,
    /// Samples between two minor collections.
    pub minor_heap: usize,
    /// The share of young objects that a minor collection promotes.
    pub promoted: f64,
    /// Lengths in words, with their shares.
    pub lengths: &'static [(f64, RangeInclusive<usize>)],
}

/// Like a compiler: many functions, deep recursion, and hardly a stack that comes twice.
const DEEP: Shape = Shape {
    name: "deep",
    events: 8_000_000,
    functions: 6_000,
    allocation_sites: 1..=3,
    call_sites: 1..=4,
    branching: 0.3,
    depth: 75.0,
    returns: 3.6,
    deep_recursion: 5e-5,
    sample_rate: 0.018,
    longest_pause: 5,
    minor_heap: 1_500,
    promoted: 0.145,
    lengths: &[
        (0.25, 1..=2),
        (0.42, 3..=4),
        (0.31, 5..=16),
        (0.01, 17..=64),
        (0.004, 65..=256),
        (0.006, 257..=2_048),
    ],
};

/// More functions than any table shows at once.
const MANY: Shape = Shape {
    name: "many",
    events: 2_000_000,
    functions: 100_000,
    call_sites: 4..=16,
    branching: 1.0,
    ..DEEP
};

/// Like a server: few functions, the same few thousand stacks again and again, and many events.
const WIDE: Shape = Shape {
    name: "wide",
    events: 46_000_000,
    functions: 160,
    allocation_sites: 1..=2,
    call_sites: 1..=2,
    branching: 0.3,
    depth: 27.0,
    returns: 2.2,
    deep_recursion: 0.0,
    sample_rate: 0.1,
    longest_pause: 2,
    minor_heap: 6_000,
    promoted: 0.1,
    lengths: &[(0.65, 1..=2), (0.09, 3..=4), (0.25, 5..=16), (0.01, 17..=64)],
};

/// All shapes.
pub const SHAPES: &[&Shape] = &[&DEEP, &WIDE, &MANY];

impl Shape {
    pub fn named(name: &str) -> Result<&'static Shape, String> {
        SHAPES.iter().copied().find(|shape| shape.name == name).ok_or_else(|| {
            let known: Vec<_> = SHAPES.iter().map(|shape| shape.name).collect();
            format!("no shape {name:?}; there are {}", known.join(", "))
        })
    }
}
