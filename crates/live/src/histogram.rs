//! Compact histograms: exact up to 16, with a relative error of at most 1/16 above.
//!
//! Each octave (from one power of two to the next) is divided into 16 equal steps, so the leading bits of a
//! number determine its bucket, and a percentile is off by at most one step. All of `u64` takes 976 buckets;
//! only non-empty ones are stored.

use std::collections::BTreeMap;

/// Log2 of the number of steps per octave.
const STEP_BITS: u32 = 4;
const STEPS: u64 = 1 << STEP_BITS;

/// A distribution of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u16, u64>,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// The number of buckets.
    pub const BUCKETS: usize = ((64 - STEP_BITS as usize) + 1) << STEP_BITS;

    /// The bucket of a number.
    #[inline]
    pub const fn bucket_of(number: u64) -> usize {
        if number < STEPS {
            return number as usize;
        }
        let octave = number.ilog2() - STEP_BITS;
        let step = (number >> octave) - STEPS;
        ((octave as usize + 1) << STEP_BITS) + step as usize
    }

    /// The smallest number in a bucket.
    pub const fn lowest_in(bucket: usize) -> u64 {
        let (octave, step) = (bucket >> STEP_BITS, bucket as u64 & (STEPS - 1));
        if octave == 0 { step } else { (STEPS + step) << (octave - 1) }
    }

    /// The largest number in a bucket.
    pub const fn highest_in(bucket: usize) -> u64 {
        if bucket + 1 >= Histogram::BUCKETS {
            return u64::MAX;
        }
        Histogram::lowest_in(bucket + 1) - 1
    }

    /// Adds one number.
    pub fn record(&mut self, number: u64) {
        self.add(Histogram::bucket_of(number), 1);
        self.sum = self.sum.saturating_add(number);
        self.min = if self.count == 1 { number } else { self.min.min(number) };
        self.max = self.max.max(number);
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if count > 0 {
            let kept = self.counts.entry(bucket as u16).or_default();
            *kept = kept.saturating_add(count);
            self.count = self.count.saturating_add(count);
        }
    }

    /// Builds a histogram from bucket counts that were collected elsewhere, with the exact sum, minimum and
    /// maximum. Buckets that do not exist are ignored.
    pub fn from_counts(
        counts: impl IntoIterator<Item = (usize, u64)>,
        sum: u64,
        min: u64,
        max: u64,
    ) -> Histogram {
        let mut histogram = Histogram { sum, min, max, ..Histogram::default() };
        for (bucket, count) in counts.into_iter().filter(|(bucket, _)| *bucket < Histogram::BUCKETS)
        {
            histogram.add(bucket, count);
        }
        histogram
    }

    /// Non-empty buckets in ascending order, with their counts.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (usize, u64)> {
        self.counts.iter().map(|(bucket, count)| (usize::from(*bucket), *count))
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values; it saturates.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest value; 0 if there are none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The largest value; 0 if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean; 0 if there are no values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The given percentile: the upper end of its bucket, but never more than the maximum. 0 if there are no
    /// values.
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0_u64;
        for (bucket, count) in self.counts() {
            seen = seen.saturating_add(count);
            if seen >= wanted {
                return Histogram::highest_in(bucket).min(self.max);
            }
        }
        self.max
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        for (bucket, count) in other.counts() {
            self.add(bucket, count);
        }
    }

    /// The values added since an earlier state of the same histogram. Minimum and maximum are bucket bounds,
    /// unless the overall maximum is new.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let before = |bucket: &u16| earlier.counts.get(bucket).copied().unwrap_or(0);
        let new = self
            .counts
            .iter()
            .map(|(bucket, count)| (*bucket, count.saturating_sub(before(bucket))));
        let counts: BTreeMap<u16, u64> = new.filter(|(_, count)| *count > 0).collect();
        let ends = (counts.keys().next().copied(), counts.keys().next_back().copied());
        let (Some(first), Some(last)) = ends else { return Histogram::default() };
        Histogram {
            count: counts.values().fold(0, |sum, count| sum.saturating_add(*count)),
            sum: self.sum.saturating_sub(earlier.sum),
            min: Histogram::lowest_in(first.into()).max(self.min),
            max: Histogram::highest_in(last.into()).min(self.max),
            counts,
        }
    }

    pub(crate) fn weight(&self) -> usize {
        // The approximate size of a map entry.
        self.counts.len() * 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_cover_all_numbers_in_order() {
        assert_eq!(Histogram::bucket_of(0), 0);
        assert_eq!(Histogram::bucket_of(u64::MAX), Histogram::BUCKETS - 1);
        for bucket in 0..Histogram::BUCKETS {
            let (low, high) = (Histogram::lowest_in(bucket), Histogram::highest_in(bucket));
            assert_eq!(Histogram::bucket_of(low), bucket);
            assert_eq!(Histogram::bucket_of(high), bucket);
            assert!(high - low <= low / STEPS, "bucket {bucket} is from {low} to {high}");
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_off_by_a_step_at_most(
            mut numbers in prop::collection::vec(any::<u64>(), 1..200),
            percent in 0.0..100.0_f64,
        ) {
            let mut histogram = Histogram::default();
            numbers.iter().for_each(|number| histogram.record(*number));
            numbers.sort_unstable();
            let rank = (numbers.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
            let exact = numbers[rank - 1];
            let told = histogram.percentile(percent);
            prop_assert!(told >= exact && told - exact <= exact / STEPS, "{told} for {exact}");
            prop_assert_eq!(histogram.min(), numbers[0]);
            prop_assert_eq!(histogram.max(), numbers[numbers.len() - 1]);
        }

        #[test]
        fn difference_and_earlier_state_merge_to_the_whole(
            old in prop::collection::vec(0..100_000_u64, 0..50),
            new in prop::collection::vec(0..100_000_u64, 0..50),
        ) {
            let mut earlier = Histogram::default();
            old.iter().for_each(|number| earlier.record(*number));
            let mut whole = earlier.clone();
            new.iter().for_each(|number| whole.record(*number));
            let since = whole.since(&earlier);
            prop_assert_eq!(since.count(), new.len() as u64);
            prop_assert_eq!(since.sum(), new.iter().sum::<u64>());
            let mut merged = earlier.clone();
            merged.merge(&since);
            prop_assert_eq!(merged.counts, whole.counts);
        }
    }
}
