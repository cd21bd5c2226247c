//! A falling sampling rate: high at first, and halved as the trace grows, down to about the rate that is the
//! default otherwise.
//!
//! So a short program gets thousands of samples, and a long one has little overhead: the samples before the last rate
//! is reached take some tenths of a second in all. A trace has a single rate, the first one. A sample taken
//! at half of it counts twice, at a quarter four times, so sums are right for every reader of the format. The
//! number of halvings is in the recorder's note and is used for confidence intervals: they are as wide as if
//! everything had been sampled at the last rate.

/// The value of the rate variable that asks for it.
pub const WORD: &str = "auto";

/// The first rate. The runtime collects stacks itself below 1e-3; above, we would patch it to collect them
/// ourselves.
pub const FIRST: f64 = 1.0 / 1024.0;

/// The maximal number of halvings: the last rate is 7.6e-6.
pub const HALVINGS: u32 = 7;

/// The number of the first allocation that is sampled at half the rate.
pub const FIRST_HALVING: u64 = 8192;
/// The number of sampled allocations between one halving and the next.
pub const BETWEEN: u64 = 4096;
