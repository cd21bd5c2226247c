//! Ages of blocks that were sampled at their allocation: by class, site and so on.

use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_snapshot::Sample;
use bactrian_trace::Micros;
use schemars::JsonSchema;
use serde::Serialize;

use super::Heap;
use crate::units::Time;

/// Age of blocks: half of their bytes are older than the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Age {
    /// The median, in seconds.
    pub median: Time,
    /// Age of the oldest sampled block, in seconds.
    pub oldest: Time,
    /// Whether they keep growing: the oldest was allocated in the first half of the run, and some were allocated in each eighth
    /// of the time since then. Null if too few were sampled to decide.
    pub grows: Option<bool>,
}

/// The time since the oldest block's allocation is divided into this many parts.
const PARTS: usize = 8;
/// With fewer sampled blocks, an empty part means nothing.
const ENOUGH: usize = 48;

impl Age {
    /// The growth in bytes per second of `bytes` with this age distribution; None unless they grow.
    pub fn growth(&self, bytes: f64) -> Option<f64> {
        let seconds = self.oldest.0.0 as f64 / 1e6;
        (self.grows == Some(true) && seconds > 0.0).then(|| bytes / seconds)
    }

    /// The age from sorted ages with their numbers of samples, after a run of `run` microseconds.
    fn of(ages: &[(Time, u32)], run: u64) -> Option<Age> {
        let all: u64 = ages.iter().map(|(_, samples)| u64::from(*samples)).sum();
        let mut left = all / 2;
        let median = ages.iter().find(|(_, samples)| {
            let is_it = left < u64::from(*samples);
            left = left.saturating_sub((*samples).into());
            is_it
        });
        let oldest = ages.last()?.0;
        let grows = (ages.len() >= ENOUGH).then(|| {
            let mut has = [false; PARTS];
            for (age, _) in ages {
                let part = age.0.0 as f64 / (oldest.0.0 as f64 + 1.0) * PARTS as f64;
                has[(part as usize).min(PARTS - 1)] = true;
            }
            oldest.0.0 >= run / 2 && has == [true; PARTS]
        });
        Some(Age { median: median.map_or(oldest, |(age, _)| *age), oldest, grows })
    }
}

/// The age of a sampled block, if snapshot and trace contain the times.
pub(super) fn age_of(heap: &Heap, sample: &Sample) -> Option<Time> {
    let now = heap.snapshot().info().since_start?;
    Some(Time(Micros(now.saturating_sub(sample.time?))))
}

impl Heap {
    /// All sampled blocks, with their allocation sites and ages where known.
    pub fn sampled_blocks(&self) -> impl Iterator<Item = (Node, Option<String>, Option<Time>)> {
        self.tables().samples.iter().map(|sample| {
            let node = sample.block.0;
            let site = self.site(node).and_then(|at| self.location(&at));
            (node, site, age_of(self, sample))
        })
    }
}

/// Ages of blocks by group.
#[derive(Default)]
pub(super) struct Ages {
    /// Ages with numbers of samples: a large block has several samples.
    of: HashMap<u32, Vec<(Time, u32)>>,
}

impl Ages {
    /// Adds a sampled block to a group.
    pub fn add(&mut self, heap: &Heap, group: u32, sample: &Sample) {
        if let Some(age) = age_of(heap, sample) {
            self.of.entry(group).or_default().push((age, sample.samples));
        }
    }

    /// The age of a group; None if no block of it was sampled, or the snapshot does not say when it was
    /// taken.
    pub fn age(&mut self, heap: &Heap, group: u32) -> Option<Age> {
        let ages = self.of.get_mut(&group)?;
        ages.sort_unstable();
        Age::of(ages, heap.snapshot().info().since_start?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(ages: impl Iterator<Item = u64>, run: u64) -> Option<bool> {
        let mut ages: Vec<_> = ages.map(|age| (Time(Micros(age)), 1)).collect();
        ages.sort_unstable();
        Age::of(&ages, run).and_then(|age| age.grows)
    }

    #[test]
    fn steadily_allocated_blocks_grow() {
        let all = 0..100;
        assert_eq!(grows(all.clone().map(|at| at * 10), 1_000), Some(true));
        assert_eq!(grows(all.clone().map(|at| at * 10), 10_000), Some(false), "it goes again");
        assert_eq!(grows(all.clone().map(|at| 900 + at), 1_000), Some(false), "made at the start");
        assert_eq!(grows(all.clone().take(40).map(|at| at * 25), 1_000), None, "too few to tell");
        assert_eq!(grows(all.map(|_| 0), 0), Some(false), "a snapshot at the very start");
        assert_eq!(grows(0..0, 1_000), None);
    }

    #[test]
    fn growth_is_measured_since_the_oldest_block() {
        let age = Age {
            median: Time(Micros(1_000_000)),
            oldest: Time(Micros(2_000_000)),
            grows: Some(true),
        };
        assert_eq!(age.growth(100.0), Some(50.0));
        assert_eq!(Age { grows: None, ..age }.growth(100.0), None);
    }
}
