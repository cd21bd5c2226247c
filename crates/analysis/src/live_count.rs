//! The current and the highest live size.

use bactrian_trace::{Alloc, DomainId, Frames, Micros, ObjectId};

use crate::objects::LiveTable;
use crate::pass::Visitor;
use crate::selection::Peak;

/// Counts the sampled words of objects from allocation to collection.
#[derive(Debug, Default)]
pub(crate) struct LiveCount {
    alive: LiveTable<u64>,
    live: u64,
    peak: Peak,
}

impl LiveCount {
    #[inline]
    pub fn born(&mut self, alloc: &Alloc<'_>) {
        self.alive.insert(alloc.id, alloc.samples);
        self.live = self.live.saturating_add(alloc.samples);
        if self.live > self.peak.samples {
            self.peak = Peak { time: alloc.time, samples: self.live, object: alloc.id };
        }
    }

    /// Returns whether the object was counted.
    #[inline]
    pub fn died(&mut self, id: ObjectId) -> bool {
        let samples = self.alive.remove(id);
        self.live = self.live.saturating_sub(samples.unwrap_or(0));
        samples.is_some()
    }

    pub fn is_alive(&mut self, id: ObjectId) -> bool {
        self.alive.get_mut(id).is_some()
    }

    /// The sampled words that are alive now.
    pub fn live(&self) -> u64 {
        self.live
    }

    pub fn peak(&self) -> Peak {
        self.peak
    }
}

impl Visitor for LiveCount {
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        self.born(alloc);
    }

    fn collect(&mut self, _: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        self.died(id);
    }
}
