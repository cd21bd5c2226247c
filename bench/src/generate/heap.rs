//! What happens to the objects of an invented program. A minor collection frees most of them and promotes the
//! rest; major collections free those over time, except for a few that stay.

use std::collections::BTreeMap;

use bactrian_trace::ObjectId;

use super::random::Random;
use super::shape::Shape;

/// Minor collections per major collection.
const MAJOR_EVERY: usize = 20;
/// The mean number of major collections that a promoted object survives.
const OUTLIVES: f64 = 8.0;
/// The fraction of promoted objects that stay until the end.
const STAYS: f64 = 0.03;

#[derive(Default)]
pub struct Heap {
    /// Objects in the minor heap, in order of allocation.
    young: Vec<ObjectId>,
    /// Objects in the major heap, by the major collection that frees them.
    old: BTreeMap<usize, Vec<ObjectId>>,
    minor_collections: usize,
}

/// What a collection does to an object.
#[derive(Clone, Copy)]
pub enum Fate {
    Promote(ObjectId),
    Collect(ObjectId),
}

impl Heap {
    pub fn add_young(&mut self, id: ObjectId) {
        self.young.push(id);
    }

    /// For objects too large for the minor heap, and for promoted ones.
    pub fn add_old(&mut self, id: ObjectId, random: &mut Random) {
        if !random.chance(STAYS) {
            let end = self.minor_collections / MAJOR_EVERY + 1 + random.geometric(OUTLIVES);
            self.old.entry(end).or_default().push(id);
        }
    }

    /// Whether the minor heap is full.
    pub fn is_full(&self, shape: &Shape) -> bool {
        self.young.len() >= shape.minor_heap
    }

    /// Runs a minor collection, and a major one if it is due; returns what they do, in order.
    pub fn collect(&mut self, shape: &Shape, random: &mut Random) -> Vec<Fate> {
        let mut fates = Vec::with_capacity(self.young.len());
        for id in std::mem::take(&mut self.young) {
            if random.chance(shape.promoted) {
                self.add_old(id, random);
                fates.push(Fate::Promote(id));
            } else {
                fates.push(Fate::Collect(id));
            }
        }
        self.minor_collections += 1;
        if self.minor_collections.is_multiple_of(MAJOR_EVERY) {
            let ended = self.old.remove(&(self.minor_collections / MAJOR_EVERY));
            fates.extend(ended.unwrap_or_default().into_iter().map(Fate::Collect));
        }
        fates
    }
}
