//! Changing the rate of a running sampler.
//!
//! The runtime has no function for that, and a sampler of OCaml 4 that is stopped and restarted forgets all
//! blocks that it tracks. But the rate is only used to draw the distance to the next sampled word, and that
//! takes a single number, `1 / log(1 - rate)`, which is computed when the sampler starts. So we overwrite
//! that number. OCaml 5 has it in the sampler's configuration. OCaml 4 has it in a variable without a symbol,
//! which we find by its value: before the program's first instruction we start the sampler for a moment, and
//! afterwards the rate and the number are in memory, close to each other, and the rate was not there before.
//! If they are not found, or found twice, the rate cannot be changed.
//!
//! Distances are drawn [`DRAWN`] at a time, so up to that many distances still have the old rate. A sample
//! and its callbacks use up several: a new distance is drawn whenever sampling resumes after a callback, and
//! after a minor collection.

use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_agent_os::loaded;
use bactrian_ocaml::Polling;
use bactrian_ocaml::heap_layout::configuration;
use bactrian_ocaml::value::UNIT;

use super::program::{Program, Sampler};

/// The number of distances that the runtime draws at a time.
const DRAWN: u64 = 64;
/// The number of distances that one sample uses up, approximately: one for itself, one after its callback,
/// one when it has been reported, and one when it is freed.
const OF_A_SAMPLE: u64 = 4;
/// The maximal distance in bytes between the rate and the number, both variables of one file of the runtime.
const NEAR: usize = 8192;
/// Larger ranges are not searched: no program has that many variables.
const MOST: usize = 16 << 20;

/// The address of the number in OCaml 4; 0 if it is unknown.
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// The number for a rate of at most 2^-10.
fn inverse(rate: f64) -> f64 {
    // log(1 - x) = -(x + x^2/2 + x^3/3 + ..). Further terms do not change the result.
    -1.0 / (1..=8).rev().fold(0.0, |sum, n| (sum + 1.0 / f64::from(n)) * rate)
}

/// The address of the number, with the precision that the OCaml release uses.
#[derive(Clone, Copy)]
enum Number {
    Single(*mut f32),
    Double(*mut f64),
}

impl Number {
    /// # Safety
    /// It is the address of a variable of the runtime.
    unsafe fn is_for(self, rate: f64) -> bool {
        // SAFETY: by the caller.
        let number = unsafe {
            match self {
                Number::Single(place) => f64::from(ptr::read_volatile(place)),
                Number::Double(place) => ptr::read_volatile(place),
            }
        };
        // The runtime may have rounded it.
        let off = number / inverse(rate) - 1.0;
        (-1e-6..1e-6).contains(&off)
    }

    /// # Safety
    /// It is the number of one of our samplers. Other domains may read it concurrently, before or after the
    /// change.
    unsafe fn set(self, rate: f64) {
        // SAFETY: by the caller.
        unsafe {
            match self {
                Number::Single(place) => ptr::write_volatile(place, inverse(rate) as f32),
                Number::Double(place) => ptr::write_volatile(place, inverse(rate)),
            }
        }
    }
}

impl Program {
    /// After how many samples of a domain a changed rate takes effect, on average.
    pub fn rate_lag(&self) -> u64 {
        if self.is_4_11() { 0 } else { DRAWN / 2 / OF_A_SAMPLE }
    }

    /// Whether it is OCaml 4.11, which draws one distance at a time and stores the number in double
    /// precision.
    fn is_4_11(&self) -> bool {
        (self.version.major, self.version.minor) == (4, 11)
    }

    fn is_5(&self) -> bool {
        matches!(self.runtime.polling, Polling::ToHighest { .. })
    }

    fn number(&self, address: usize) -> Number {
        match self.is_4_11() || self.is_5() {
            true => Number::Double(address as *mut f64),
            false => Number::Single(address as *mut f32),
        }
    }

    /// Finds out whether the rate can be changed, using a sampler that `start` starts at this rate.
    ///
    /// # Safety
    /// The runtime is initialised, no OCaml code runs yet, and there is no sampler.
    pub unsafe fn can_change_rate(
        &self,
        sampler: &Sampler,
        rate: f64,
        start: impl FnOnce(),
    ) -> bool {
        if self.is_5() {
            return true;
        }
        let variables = variables(sampler);
        let with_rate = || {
            let places = variables.iter().flatten().flat_map(|range| places(range.clone(), 8));
            // SAFETY: variables of the runtime's object. If another thread changes one concurrently, it is
            // not one that we look for.
            places.filter(|place| unsafe { ptr::read_volatile(*place as *const f64) } == rate)
        };
        if with_rate().next().is_some() {
            return false;
        }
        start();
        let found = only(with_rate()).and_then(|at| {
            let near = at.saturating_sub(NEAR)..at + NEAR;
            let inside = variables.iter().flatten().find(|range| range.contains(&at))?;
            let near = near.start.max(inside.start)..near.end.min(inside.end);
            let size = if self.is_4_11() { 8 } else { 4 };
            // SAFETY: variables as above.
            only(places(near, size).filter(|place| unsafe { self.number(*place).is_for(rate) }))
        });
        (sampler.stop)(UNIT);
        PLACE.store(found.unwrap_or(0), Ordering::Relaxed);
        found.is_some()
    }

    /// Changes the rate from one value to another; returns false if that is impossible.
    ///
    /// # Safety
    /// Called in a callback of the sampler, which is ours.
    pub unsafe fn change_rate(&self, from: f64, to: f64) -> bool {
        // SAFETY: by the caller, the number is that of one of our samplers. The configuration is a block with
        // this field.
        unsafe {
            let place = match self.is_5() {
                true => self
                    .sampler_configuration(self.state())
                    .map(|block| *block.add(configuration::INVERSE)),
                false => Some(PLACE.load(Ordering::Relaxed)),
            };
            let number = place.filter(|place| *place != 0).map(|place| self.number(place));
            let number = number.filter(|number| number.is_for(from));
            number.map(|number| number.set(to)).is_some()
        }
    }
}

/// The zero-initialised variables (.bss) of the object that contains the runtime.
fn variables(sampler: &Sampler) -> [Option<Range<usize>>; 2] {
    let mut found = [const { None }; 2];
    loaded::holding(sampler.start as usize, |object| {
        let small = object.zeroed().filter(|range| !range.is_empty() && range.len() <= MOST);
        for (place, range) in found.iter_mut().zip(small) {
            *place = Some(range);
        }
    });
    found
}

/// The aligned addresses within a range at which a value of this size may be.
fn places(range: Range<usize>, size: usize) -> impl Iterator<Item = usize> {
    let start = range.start.next_multiple_of(size);
    (start..range.end.saturating_sub(size - 1)).step_by(size)
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next();
    if found.next().is_some() { None } else { first }
}
