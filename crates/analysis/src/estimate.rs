//! Estimates from samples, with their errors.
//!
//! Each allocated word is sampled with probability `rate`, independently of all others. So the number of
//! sampled words in any set of `N` words is binomial with mean `N * rate`, and `N` is estimated as the number
//! of samples divided by the rate. The 95 % confidence interval is Garwood's interval for a Poisson count (in
//! the approximation of Wilson and Hilferty, accurate to a percent even for one sample), narrowed by
//! `sqrt(1 - rate)`, which turns Poisson's variance into the binomial one: at rate 1 everything was seen and
//! the interval is a point.
//!
//! In counts of objects, each sample has the weight `1 / (words of the block)`. A weighted sum is treated as
//! a scaled Poisson count with the same mean and variance: `sum²/sum_sq` samples of `sum_sq/sum` each. Unseen
//! blocks may have larger weights than seen ones. So for the upper bound, one more sample of the largest
//! possible weight is added, as Fay and Feuer do (Statistics in Medicine 16, 1997).
//!
//! A recorder may halve its rate as a trace grows; each later sample then counts twice as much. In this case
//! the interval is the one that all samples would have at the last rate, so it is not too narrow for any part
//! of them.
//!
//! A peak is the maximum of many estimates, and a maximum is biased upwards: by a few percent with a few
//! hundred live samples, by more with fewer.

use std::ops::{Add, Sub};

use schemars::JsonSchema;
use serde::Serialize;

/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Sampled weight: the sum of the weights and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    sum: f64,
    sum_sq: f64,
}

impl Tally {
    /// Adds `samples` samples of weight `weight` each.
    #[inline]
    pub fn count(&mut self, samples: u64, weight: f64) {
        let sum = samples as f64 * weight;
        self.sum += sum;
        self.sum_sq += sum * weight;
    }

    /// The tally of this many sampled words.
    pub(crate) fn of_samples(samples: u64) -> Tally {
        let mut tally = Tally::default();
        tally.count(samples, 1.0);
        tally
    }

    /// The sum of the weights.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Whether nothing was added.
    pub fn is_zero(&self) -> bool {
        self.sum <= 0.0
    }
}

impl Add for Tally {
    type Output = Tally;

    #[inline]
    fn add(self, other: Tally) -> Tally {
        Tally { sum: self.sum + other.sum, sum_sq: self.sum_sq + other.sum_sq }
    }
}

impl Sub for Tally {
    type Output = Tally;

    #[inline]
    fn sub(self, other: Tally) -> Tally {
        Tally { sum: self.sum - other.sum, sum_sq: self.sum_sq - other.sum_sq }
    }
}

/// How samples scale to the whole population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The probability with which a word is sampled.
    pub rate: f64,
    /// What a unit of weight stands for: the bytes of a word, or 1.
    pub unit: f64,
    /// The largest weight that a sample can have.
    heaviest: f64,
    /// The largest number of samples that a recorded one counts for: above 1 if the recorder has lowered its rate.
    stands_for: f64,
}

impl Scale {
    /// For words, each of weight 1 and worth `unit`.
    pub fn of_words(rate: f64, unit: f64) -> Scale {
        Scale { rate, unit, heaviest: 1.0, stands_for: 1.0 }
    }

    /// For blocks: each word has the weight of its fraction of the block. The smallest block has a header and
    /// one word.
    pub fn of_blocks(rate: f64) -> Scale {
        Scale { rate, unit: 1.0, heaviest: 0.5, stands_for: 1.0 }
    }

    /// For samples of which one may stand for up to `stands_for`.
    pub fn with_heaviest(self, stands_for: f64) -> Scale {
        Scale { heaviest: self.heaviest * stands_for, stands_for, ..self }
    }

    /// The estimate from this many sampled words.
    pub fn of_samples(&self, samples: u64) -> Estimate {
        self.estimate(Tally::of_samples(samples))
    }

    /// The estimate from a tally.
    pub fn estimate(&self, tally: Tally) -> Estimate {
        let scale = self.unit / self.rate;
        // Sums from which floats were subtracted can be slightly negative.
        let sum = tally.sum.max(0.0);
        if self.rate >= 1.0 {
            let exact = sum * scale;
            return Estimate { value: exact, low: exact, high: exact };
        }
        let sum_sq = tally.sum_sq.max(0.0) * self.stands_for;
        let (low, high) = interval(sum, sum_sq, self.heaviest);
        let narrow = (1.0 - self.rate).sqrt();
        Estimate {
            value: sum * scale,
            low: (sum - (sum - low) * narrow) * scale,
            high: (sum + (high - sum) * narrow) * scale,
        }
    }
}

/// The 95 % interval for the mean of a sum of weighted Poisson counts, none of which has a weight above
/// `heaviest`.
fn interval(sum: f64, sum_sq: f64, heaviest: f64) -> (f64, f64) {
    // A quantile of the gamma distribution with this mean and variance.
    let quantile = |mean: f64, variance: f64, z: f64| {
        let shape = mean * mean / variance;
        mean * (1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt())).max(0.0).powi(3)
    };
    let low = if sum > 0.0 && sum_sq > 0.0 { quantile(sum, sum_sq, -Z) } else { 0.0 };
    (low, quantile(sum + heaviest, sum_sq + heaviest * heaviest, Z))
}

/// The probability that a normal variable is further than `z` from its mean, on either side (Abramowitz and
/// Stegun 7.1.26, accurate to seven digits).
fn two_sided_tail(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let poly = terms.into_iter().fold(0.0, |sum, term| sum * t + term);
    poly * t * (-x * x).exp()
}

impl Estimate {
    /// A value without error.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// Half the width of the interval, as a fraction of the value.
    pub fn relative_error(&self) -> f64 {
        if self.value > 0.0 { (self.high - self.low) / 2.0 / self.value } else { 0.0 }
    }

    /// The change from `self` to `after`, two independent estimates (Newcombe's interval).
    pub fn change_to(&self, after: &Estimate) -> Estimate {
        let value = after.value - self.value;
        let down = (after.value - after.low).hypot(self.high - self.value);
        let up = (after.high - after.value).hypot(self.value - self.low);
        Estimate { value, low: value - down, high: value + up }
    }

    /// Whether the interval excludes zero.
    pub fn is_significant(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// For a change: the probability of a change this large if there is none in truth.
    pub fn p_value(&self) -> f64 {
        let towards_zero =
            if self.value > 0.0 { self.value - self.low } else { self.high - self.value };
        match (self.value == 0.0, towards_zero <= 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => two_sided_tail(self.value.abs() / (towards_zero / Z)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Garwood's exact intervals, from tables of the chi-square distribution.
    #[test]
    fn intervals_match_published_tables() {
        let table =
            [(0.0, 0.0, 3.689), (1.0, 0.025, 5.572), (5.0, 1.623, 11.668), (100.0, 81.36, 121.63)];
        for (count, low, high) in table {
            let (l, h) = interval(count, count, 1.0);
            assert!((l - low).abs() < 0.05 && (h - high).abs() < 0.05, "{count}: {l} {h}");
        }
    }

    #[test]
    fn rate_1_is_exact() {
        let mut tally = Tally::default();
        tally.count(7, 1.0);
        let exact = Scale::of_words(1.0, 8.0).estimate(tally);
        assert_eq!(exact, Estimate::exact(56.0));
    }

    #[test]
    fn interval_contains_the_truth_about_95_times_in_100() {
        // A deterministic generator suffices for drawing binomials.
        let mut state = 1u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (words, rate) in [(2_000u32, 0.005), (1_000, 0.1), (300, 0.5)] {
            let scale = Scale::of_words(rate, 1.0);
            let holds = (0..1_000).filter(|_| {
                let mut tally = Tally::default();
                tally.count((0..words).filter(|_| uniform() < rate).count() as u64, 1.0);
                let e = scale.estimate(tally);
                e.low <= f64::from(words) && f64::from(words) <= e.high
            });
            let holds = holds.count();
            assert!((930..=995).contains(&holds), "{words} at {rate}: {holds}");
        }
    }

    #[test]
    fn heavy_samples_widen_the_interval_like_fewer_samples() {
        let scale = |rate: f64| Scale::of_words(rate, 1.0);
        let [one, other] =
            [scale(1e-3).with_heaviest(8.0).of_samples(800), scale(1e-3 / 8.0).of_samples(100)];
        assert_eq!(one.value, other.value);
        assert!((one.low / other.low - 1.0).abs() < 1e-3, "{one:?} {other:?}");
        assert!((one.high / other.high - 1.0).abs() < 1e-3, "{one:?} {other:?}");
    }

    #[test]
    fn tail_probabilities_match_published_tables() {
        for (z, tail) in [(0.0, 1.0), (1.0, 0.317_31), (1.959_964, 0.05), (4.0, 0.000_063_3)] {
            assert!((two_sided_tail(z) - tail).abs() < 1e-5, "{z}");
        }
        let change = Estimate { value: 10.0, low: 0.0, high: 25.0 };
        assert!((change.p_value() - 0.05).abs() < 1e-4);
    }

    #[test]
    fn change_combines_both_errors() {
        let before = Estimate { value: 100.0, low: 90.0, high: 110.0 };
        let after = Estimate { value: 120.0, low: 110.0, high: 130.0 };
        let change = before.change_to(&after);
        assert!(change.is_significant());
        assert!((change.low - (20.0 - 200f64.sqrt())).abs() < 1e-9);
        assert!(!before.change_to(&before).is_significant());
    }
}
