//! The kinds of program that traces are generated from. The parameters were chosen so that traces resemble
//! recorded ones (docs/performance.md).

use std::ops::RangeInclusive;

pub struct Shape {
    pub name: &'static str,
    /// The number of events in a full-size trace.
    pub events: u64,
    pub functions: usize,
    /// The number of allocation sites per function.
    pub allocation_sites: RangeInclusive<usize>,
    /// The number of call sites per function. It determines how many different stacks there are.
    pub call_sites: RangeInclusive<usize>,
    /// The fraction of functions that have more than the minimum number of call sites.
    pub branching: f64,
    /// The mean depth of stacks.
    pub depth: f64,
    /// The mean number of calls that return between two samples.
    pub returns: f64,
    /// The probability per sample of a recursion hundreds of calls deep.
    pub deep_recursion: f64,
    /// The fraction of words that are sampled.
    pub sample_rate: f64,
    /// The maximum time between two samples in microseconds.
    pub longest_pause: usize,
    /// The number of samples between two minor collections.
    pub minor_heap: usize,
    /// The fraction of young objects that a minor collection promotes.
    pub promoted: f64,
    /// Sizes in words, with their fractions.
    pub lengths: &'static [(f64, RangeInclusive<usize>)],
}

/// Like a compiler: many functions, deep recursion, and hardly a stack that occurs twice.
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
