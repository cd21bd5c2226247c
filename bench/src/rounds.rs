//! Rounds: everything is measured once, then everything again, so that a busy moment of the machine does not
//! affect one item only.

use super::measure::Usage;

/// Repeated measurements of one item; at least one.
pub struct Usages(pub Vec<Usage>);

impl Usages {
    /// The least time: other load only ever adds to it.
    pub fn best(&self) -> f64 {
        self.0.iter().map(|usage| usage.cpu_seconds).fold(f64::INFINITY, f64::min)
    }

    pub fn median(&self) -> f64 {
        let mut seconds: Vec<_> = self.0.iter().map(|usage| usage.cpu_seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().unwrap_or(0.0)
    }

    /// The greatest memory.
    pub fn memory(&self) -> u64 {
        self.0.iter().map(|usage| usage.max_rss_bytes).max().unwrap_or(0)
    }
}

/// Measures all `items`, round after round; those that are too slow take part only in the first round.
pub fn measure_all<T>(
    items: &[T],
    rounds: usize,
    only_once: impl Fn(&T) -> bool,
    mut measure: impl FnMut(&T) -> Result<Usage, String>,
) -> Result<Vec<Usages>, String> {
    let mut usages: Vec<_> = items.iter().map(|_| Usages(Vec::new())).collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for (item, usages) in items.iter().zip(&mut usages) {
            if round == 0 || !only_once(item) {
                usages.0.push(measure(item)?);
            }
        }
    }
    Ok(usages)
}

/// The number after `--rounds`.
pub fn number(value: &str, least: usize) -> Result<usize, String> {
    let number = value.parse().ok().filter(|&rounds| rounds >= least);
    number.ok_or_else(|| format!("--rounds needs a whole number, at least {least}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_measure_all_items_before_repeating_any() -> Result<(), String> {
        let mut order = Vec::new();
        let usages = measure_all(
            &["a", "slow", "b"],
            3,
            |&item| item == "slow",
            |&item| {
                order.push(item);
                Ok(Usage {
                    cpu_seconds: order.len() as f64,
                    max_rss_bytes: 100 - order.len() as u64,
                })
            },
        )?;
        assert_eq!(order, ["a", "slow", "b", "a", "b", "a", "b"]);
        assert_eq!((usages[0].best(), usages[0].median(), usages[0].memory()), (1.0, 4.0, 99));
        assert_eq!(usages[1].0.len(), 1);
        Ok(())
    }
}
