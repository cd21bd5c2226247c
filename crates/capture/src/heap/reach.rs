//! Everything that is reachable from the roots: through pointers, through stacks of continuations, and
//! through ephemerons whose keys are alive.

use std::ops::Range;

use super::block::Header;
use super::image::MemoryImage;
use super::mark::{Marker, Met};
use super::roots::{Fibers, Order, Roots, Scanned, Stacks};
use super::target::Target;
use crate::memory::Memory;

/// Fields of an ephemeron: the first links it to the next, followed by its data and its keys.
pub mod ephemeron {
    /// Its data.
    pub const DATA: u64 = 1;
    /// The index of the first key. A weak array has only keys.
    pub const FIRST_KEY: u64 = 2;
}

/// What was reached.
pub struct Reached {
    pub met: Met,
    /// Continuations and the contents of their stacks, in order of addresses.
    pub continuations: Vec<(u64, Scanned)>,
    /// Memory of their fibers, with the continuation that holds each.
    pub fibers: Vec<(Range<u64>, u64)>,
    /// Ephemerons and weak arrays that are alive, in order of addresses.
    pub ephemerons: Vec<u64>,
    /// What could not be read, and why.
    pub gaps: Vec<String>,
}

/// Marks everything that is alive.
pub fn reach(marker: &Marker<'_>, target: &Target, memory: &dyn Memory, roots: &Roots) -> Reached {
    let mut reach = Reach {
        marker,
        target,
        memory,
        none: target.global("caml_ephe_none").and_then(|at| memory.word(at)).unwrap_or(0),
        stacks: None,
        fibers: Fibers::new(memory, roots.fibers.iter().map(|(piece, _)| piece.start)),
        reached: Reached {
            met: Met::default(),
            continuations: Vec::new(),
            fibers: Vec::new(),
            ephemerons: Vec::new(),
            gaps: Vec::new(),
        },
    };
    let held = roots.roots.iter().map(|root| root.value);
    // A value with a finaliser is kept until that has been called, except those of `Gc.finalise_last`.
    let kept = roots.finalisers.iter().filter(|finaliser| finaliser.order == Order::First);
    reach.follow(held.chain(kept.map(|finaliser| finaliser.value)).collect());
    reach.ephemerons(&roots.ephemerons);
    reach.reached
}

struct Reach<'a> {
    marker: &'a Marker<'a>,
    target: &'a Target,
    memory: &'a dyn Memory,
    /// The content of an empty slot of an ephemeron.
    none: u64,
    /// Created when the first continuation is met.
    stacks: Option<Stacks<'a>>,
    fibers: Fibers<'a>,
    reached: Reached,
}

impl Reach<'_> {
    /// Marks what is reachable from values, also through continuations.
    fn follow(&mut self, mut values: Vec<u64>) {
        while !values.is_empty() {
            self.marker.mark(std::mem::take(&mut values), &mut self.reached.met);
            let mut found = std::mem::take(&mut self.reached.met.continuations);
            found.sort_unstable();
            for block in found {
                let scanned = self.continuation(block);
                self.reached.gaps.extend(scanned.gap.clone());
                values.extend(scanned.slots.iter().map(|slot| slot.value));
                self.reached.continuations.push((block, scanned));
            }
        }
        self.reached.continuations.sort_by_key(|(block, _)| *block);
    }

    fn continuation(&mut self, block: u64) -> Scanned {
        // The first field is the fiber, tagged as an integer; 0 if the continuation was resumed.
        let stack = self.marker.image.word(block).unwrap_or(0) & !1;
        if stack == 0 {
            return Scanned::default();
        }
        let (pieces, size_gap) = self.fibers.chain(stack);
        self.reached.fibers.extend(pieces.into_iter().map(|piece| (piece, block)));
        let stacks = self.stacks.get_or_insert_with(|| Stacks::new(self.target, self.memory));
        let scanned = stacks.scan_fiber(stack);
        Scanned { gap: scanned.gap.or(size_gap), ..scanned }
    }

    /// Marks the data of ephemerons whose keys are alive, until no more become ready.
    fn ephemerons(&mut self, all: &[u64]) {
        let mut waiting = all.to_vec();
        waiting.sort_unstable();
        waiting.dedup();
        loop {
            let (ready, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|&block| self.is_ready(block));
            if ready.is_empty() {
                let image = self.marker.image;
                let alive = rest.into_iter().filter(|&block| is_marked(image, block));
                self.reached.ephemerons.extend(alive);
                break;
            }
            let data = ready.iter().filter_map(|&block| {
                let data = self.marker.image.word(block + 8 * ephemeron::DATA)?;
                (data & 1 == 0 && data != self.none).then_some(data)
            });
            self.follow(data.collect());
            self.reached.ephemerons.extend(ready);
            waiting = rest;
        }
        self.reached.ephemerons.sort_unstable();
    }

    /// Whether an ephemeron and all of its keys are alive.
    fn is_ready(&self, block: u64) -> bool {
        let image = self.marker.image;
        if !is_marked(image, block) {
            return false;
        }
        let mut all_alive = true;
        each_key(image, block, |key| all_alive &= key == self.none || is_alive(image, key));
        all_alive
    }
}

/// Calls `each` with the keys of an ephemeron, or the elements of a weak array.
pub fn each_key(image: &MemoryImage<'_>, block: u64, mut each: impl FnMut(u64)) {
    let Some(header) = block.checked_sub(8).and_then(|at| image.spot(at)) else { return };
    let words = Header::of(header.word()).words;
    image.fields(header, ephemeron::FIRST_KEY.min(words)..words, |piece| {
        piece.iter().for_each(|&key| each(key));
    });
}

/// Whether a value is not a block of the heap, or a block that was reached.
fn is_alive(image: &MemoryImage<'_>, value: u64) -> bool {
    if value & 7 != 0 || image.spot(value.wrapping_sub(8)).is_none() {
        return true;
    }
    is_marked(image, value)
}

/// Whether the block that a value points to, or into, was reached.
fn is_marked(image: &MemoryImage<'_>, value: u64) -> bool {
    let at = |value: u64| image.spot(value.wrapping_sub(8));
    let Some(spot) = at(value) else { return false };
    if spot.is_marked() {
        return true;
    }
    let header = Header::of(spot.word());
    header.tag == super::block::INFIX
        && at(value.wrapping_sub(header.words.wrapping_mul(8))).is_some_and(|spot| spot.is_marked())
}
