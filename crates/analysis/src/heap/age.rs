//! How old blocks are, as far as they were sampled when they were allocated: by class, site and so on.

use std::collections::HashMap;

use bactrian_snapshot::Sample;
use bactrian_trace::Micros;
use schemars::JsonSchema;
use serde::Serialize;

use super::Heap;
use crate::units::Time;

/// How old some blocks are. Half of their bytes are older than the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Age {
    /// The median, in seconds.
    pub median: Time,
    /// The oldest of those that were sampled, in seconds.
    pub oldest: Time,
}

/// The age of a block that was sampled, if snapshot and trace tell.
pub(super) fn age_of(heap: &Heap, sample: &Sample) -> Option<Time> {
    let now = heap.snapshot().info().since_start?;
    Some(Time(Micros(now.saturating_sub(sample.time?))))
}

/// Ages of blocks in groups.
#[derive(Default)]
pub(super) struct Ages {
    /// Each with the number of its samples: a block has one for so many words.
    of: HashMap<u32, Vec<(Time, u32)>>,
}

impl Ages {
    /// Counts a block that was sampled to a group.
    pub fn add(&mut self, heap: &Heap, group: u32, sample: &Sample) {
        if let Some(age) = age_of(heap, sample) {
            self.of.entry(group).or_default().push((age, sample.samples));
        }
    }

    /// How old the blocks of a group are; none if none was sampled.
    pub fn age(&mut self, group: u32) -> Option<Age> {
        let ages = self.of.get_mut(&group)?;
        ages.sort_unstable();
        let all: u64 = ages.iter().map(|(_, samples)| u64::from(*samples)).sum();
        let mut left = all / 2;
        let median = ages.iter().find(|(_, samples)| {
            let is_it = left < u64::from(*samples);
            left = left.saturating_sub((*samples).into());
            is_it
        });
        let oldest = ages.last()?;
        Some(Age { median: median.unwrap_or(oldest).0, oldest: oldest.0 })
    }
}
