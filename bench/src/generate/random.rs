//! Pseudo-random numbers that depend only on the seed, on every machine.

/// The generator SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number below `limit`, uniformly distributed.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    /// A number below `limit`; small numbers are far more frequent.
    pub fn skewed(&mut self, limit: usize) -> usize {
        let unit = self.unit();
        (unit * unit * unit * limit as f64) as usize
    }

    /// A geometrically distributed number: how many times in a row something continues.
    pub fn geometric(&mut self, mean: f64) -> usize {
        let goes_on = mean / (1.0 + mean);
        (self.unit().max(f64::MIN_POSITIVE).ln() / goes_on.ln()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_means_are_as_requested() {
        let mut random = Random::new(1);
        let mut mean = |draw: fn(&mut Random) -> usize| {
            (0..100_000).map(|_| draw(&mut random) as f64).sum::<f64>() / 100_000.0
        };
        for (found, expected) in [
            (mean(|random| random.below(11)), 5.0),
            (mean(|random| random.skewed(101)), 24.8),
            (mean(|random| random.geometric(3.0)), 3.0),
            (mean(|random| random.geometric(0.5)), 0.5),
        ] {
            assert!((found - expected).abs() < 0.05 * expected, "{found}, not {expected}");
        }
    }
}
