//! Reads the lives of a sound trace with a single domain in parallel: parts are decoded concurrently and
//! concatenated in order.
//!
//! Anything irregular is left to a sequential pass, which reports what it means.

use std::ops::Range;

use bactrian_trace::{Event, Losses, Micros, ObjectId, Parts};

use super::super::bits::Bits;
use super::super::columns::{Moment, SmallNumbers};
use super::{MAX_OBJECTS, MAX_SAMPLES, Noting, PROMOTED, source_bits};
use crate::parallel;
use crate::trace_file::TraceFile;

/// The most packets in a part; a packet is about 32 kB.
const MOST_PACKETS: usize = 64;
/// The fewest parts of a trace, if it has that many packets.
const LEAST_PARTS: usize = 16;

/// Reads the whole trace; None if a sequential pass is required.
pub(super) fn read<T: Moment>(trace: &TraceFile, noting: &mut Noting<T>) -> Option<Losses> {
    let parts = trace.parts()?;
    let all = parts.packets();
    let packets = all.div_ceil(LEAST_PARTS).clamp(1, MOST_PACKETS);
    let starts = (0..all).step_by(packets);
    let ranges: Vec<_> = starts.map(|at| at..all.min(at + packets)).collect();
    let mut is_sound = true;
    let mut last = None;
    parallel::map_then(
        &ranges,
        |range| Part::<T>::read(&parts, range.clone()),
        |_, part| {
            is_sound = is_sound && part.is_after(last) && noting.append(&part);
            last = part.times.map_or(last, |(_, last)| Some(last));
            trace.report_progress(last.unwrap_or_default());
        },
    );
    trace.report_progress(Micros::MAX);
    is_sound.then(|| trace.index().losses().clone())
}

/// What some packets say about objects.
struct Part<T> {
    born: Vec<T>,
    samples: SmallNumbers,
    words: SmallNumbers,
    kinds: Vec<u8>,
    /// Like [`super::Lives::events`].
    events: Bits,
    /// Objects that die or are promoted, in order; for promotions the time is `NEVER`.
    ends: Vec<(u32, T)>,
    /// The sampled words of all objects.
    total: u64,
    /// The first and the last time.
    times: Option<(Micros, Micros)>,
    is_sound: bool,
}

impl<T: Moment> Part<T> {
    fn read(parts: &Parts<'_>, packets: Range<usize>) -> Part<T> {
        let first = parts.first_id(&packets);
        let mut part = Part {
            born: Vec::new(),
            samples: SmallNumbers::default(),
            words: SmallNumbers::default(),
            kinds: Vec::new(),
            events: Bits::default(),
            ends: Vec::new(),
            total: 0,
            times: None,
            is_sound: true,
        };
        let losses = parts.read(packets, |event| {
            let time = event.time();
            part.times = Some((part.times.map_or(time, |(first, _)| first), time));
            let next = first + part.born.len() as u64;
            match event {
                Event::Alloc(alloc) => {
                    part.is_sound &= alloc.id.0 == next && !T::of(time).is_never();
                    part.born.push(T::of(time));
                    part.samples.push(alloc.samples);
                    part.words.push(alloc.length.0);
                    part.kinds.push(source_bits(alloc.source));
                    part.events.push(true);
                    part.total = part.total.saturating_add(alloc.samples);
                }
                Event::Promote { id, .. } => {
                    part.is_sound &= id.0 < next;
                    part.ends.push((id.0 as u32, T::NEVER));
                }
                Event::Collect { id, .. } => {
                    part.is_sound &= id.0 < next && !T::of(time).is_never();
                    part.ends.push((id.0 as u32, T::of(time)));
                    part.events.push(false);
                }
            }
        });
        part.is_sound &= losses.is_clean();
        part
    }

    fn is_after(&self, last: Option<Micros>) -> bool {
        self.times.is_none_or(|(first, _)| last.is_none_or(|last| last <= first))
    }
}

impl<T: Moment> Noting<T> {
    /// Appends a part. Returns false if anything is irregular, or a limit is exceeded.
    fn append(&mut self, part: &Part<T>) -> bool {
        let first = self.spans.born.len();
        let all = first + part.born.len();
        self.total = self.total.saturating_add(part.total);
        if !part.is_sound || self.total > MAX_SAMPLES || all > MAX_OBJECTS {
            return false;
        }
        (first..all).for_each(|id| self.sum.add(ObjectId(id as u64)));
        self.spans.born.extend_from_slice(&part.born);
        self.spans.died.resize(all, T::NEVER);
        self.samples.append(&part.samples);
        self.words.append(&part.words);
        self.kinds.extend_from_slice(&part.kinds);
        self.events.append(&part.events);
        for &(number, time) in &part.ends {
            let at = number as usize;
            if !self.spans.died[at].is_never() {
                return false;
            }
            if time.is_never() {
                if self.kinds[at] & PROMOTED != 0 {
                    return false;
                }
                self.kinds[at] |= PROMOTED;
            } else {
                self.spans.died[at] = time;
                self.deaths.push(number);
            }
        }
        true
    }
}
