//! A rate that falls: high at first, and halved as the trace grows, down to about what is asked for otherwise.
//!
//! So a short program has thousands of samples, and a long one stays cheap: what is sampled before the last rate is reached takes
//! some tenths of a second in all. A trace has one rate, the first. A sample that is taken at half of it counts
//! twice, at a quarter four times: sums are as they should be, for every reader of the format. How often the rate was halved
//! stands in the recorder's note, for intervals: they are as wide as if all had been sampled at the last rate.

/// What asks for it.
pub const WORD: &str = "auto";

/// The first rate. The runtime collects stacks below 1e-3; above, we would patch it to do so ourselves.
pub const FIRST: f64 = 1.0 / 1024.0;

/// It is halved so often at most: to 7.6e-6.
pub const HALVINGS: u32 = 7;

/// The first allocation of a trace that is sampled at half the rate, and how many later the next halving is.
pub const FIRST_HALVING: u64 = 8192;
/// How many allocations come between one halving and the next.
pub const BETWEEN: u64 = 4096;
