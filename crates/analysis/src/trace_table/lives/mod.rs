//! The lives of all objects, in columns: one pass without stacks.
//!
//! Objects are numbered in order of allocation. In addition to their columns there is the order of all births
//! and deaths, as a bit for each event and a list of the dying objects: many events have the same time, and a
//! peak lies between two of them.

mod in_parts;

use std::collections::HashSet;

use bactrian_trace::{Alloc, DomainId, Frames, Losses, Micros, ObjectId, Source};

use super::bits::Bits;
use super::columns::{Moment, SmallNumbers, Spans, Times, with_spans};
use super::{IdSum, NoTable};
use crate::objects::{LiveTable, ObjectSet};
use crate::pass::{self, Visitor};
use crate::selection::{Peak, Selection};
use crate::trace_file::TraceFile;

/// Births and deaths of all objects.
#[derive(Debug)]
pub(crate) struct Lives {
    pub(super) times: Times,
    pub(super) samples: SmallNumbers,
    /// Without header.
    pub(super) words: SmallNumbers,
    /// Empty if there is only one domain.
    pub(super) domains: Vec<u16>,
    pub(super) only_domain: u16,
    /// The source of the allocation, and whether the object was promoted.
    pub(super) kinds: Vec<u8>,
    /// Object ids in the trace; None if they equal the numbers.
    ids: Option<Vec<u64>>,
    /// A bit for every event: set for a birth.
    pub(super) events: Bits,
    /// The dying objects, in order.
    pub(super) deaths: Vec<u32>,
    /// For every [`EVENTS_PER_MARK`]th event, the number of births before it.
    pub(super) births_before: Vec<u32>,
    pub(super) sum: IdSum,
    pub losses: Losses,
}

/// A flag in [`Lives::kinds`].
pub(super) const PROMOTED: u8 = 4;

pub(super) fn source_bits(source: Source) -> u8 {
    match source {
        Source::Minor => 0,
        Source::Major => 1,
        Source::External => 2,
    }
}

/// The number of events between two entries of [`Lives::births_before`].
pub(super) const EVENTS_PER_MARK: usize = 1 << 16;

/// The most objects that can be numbered.
const MAX_OBJECTS: usize = u32::MAX as usize - 1;
/// Larger sums are not exact as `f64`.
const MAX_SAMPLES: u64 = 1 << 53;
/// No recorded trace has more ends of unknown objects.
const MAX_ORPHANS: usize = 1 << 20;

impl Lives {
    /// Reads the lives.
    ///
    /// # Errors
    /// If ids are reused, objects die twice, or the like: only passes determine what that means.
    pub fn read(trace: &TraceFile) -> Result<Lives, NoTable> {
        // One bit of headroom beyond the duration in the headers, because events may be slightly later.
        if trace.index().duration().0 < u64::from(u32::MAX / 2) {
            Lives::with_times(trace, Times::Short)
        } else {
            Lives::with_times(trace, Times::Long)
        }
    }

    fn with_times<T: Moment>(
        trace: &TraceFile,
        times: impl FnOnce(Spans<T>) -> Times,
    ) -> Result<Lives, NoTable> {
        // The headers of a hostile file may claim anything; an event takes at least some bytes.
        let promised = usize::try_from(trace.index().allocations()).unwrap_or(usize::MAX);
        let capacity = promised.min(trace.bytes().len() / 6);
        let written_by = trace.index().domains();
        let noting = || Noting::<T>::with_capacity(capacity, written_by.len() > 1);
        let mut noted = noting();
        let losses = in_parts::read(trace, &mut noted).unwrap_or_else(|| {
            noted = noting();
            pass::run(trace, &Selection::default(), &mut noted).losses
        });
        let Noting { spans, samples, words, domains, kinds, ids, events, deaths, sum, odd, .. } =
            noted;
        if let Some(odd) = odd {
            return Err(odd);
        }
        let mut births = 0;
        let mut births_before = Vec::new();
        for words in events.words().chunks(EVENTS_PER_MARK / super::bits::WORD) {
            births_before.push(births);
            births += words.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        let ids = match ids {
            Numbers::Same => None,
            Numbers::Other(other) => Some(other.ids),
        };
        Ok(Lives {
            times: times(spans),
            samples,
            words,
            domains,
            only_domain: written_by.first().map_or(0, |domain| domain.0),
            kinds,
            ids,
            events,
            deaths,
            births_before,
            sum,
            losses,
        })
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn id(&self, number: usize) -> ObjectId {
        ObjectId(self.ids.as_ref().map_or(number as u64, |ids| ids[number]))
    }

    /// Converts a peak to its public form.
    pub fn peak(&self, moment: Option<PeakMoment>) -> Peak {
        moment.map_or_else(Peak::default, |PeakMoment { number, samples, .. }| Peak {
            time: with_spans!(&self.times, spans => spans.born[number].micros()),
            samples,
            object: self.id(number),
        })
    }
}

/// A peak's position in the order of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeakMoment {
    /// The object whose birth caused it.
    pub number: usize,
    /// The number of deaths before it.
    pub deaths: usize,
    /// Sampled words that are alive.
    pub samples: u64,
}

/// Numbers of objects by id.
enum Numbers {
    /// Ids equal numbers.
    Same,
    /// Ids differ from numbers.
    Other(Box<OtherNumbers>),
}

#[derive(Default)]
struct OtherNumbers {
    ids: Vec<u64>,
    alive: LiveTable<u32>,
    /// All ids seen so far.
    seen: ObjectSet,
}

/// Fills the columns.
struct Noting<T> {
    spans: Spans<T>,
    samples: SmallNumbers,
    words: SmallNumbers,
    domains: Vec<u16>,
    several_domains: bool,
    kinds: Vec<u8>,
    ids: Numbers,
    /// Ids that ended before they were allocated.
    orphans: HashSet<u64>,
    events: Bits,
    deaths: Vec<u32>,
    sum: IdSum,
    /// The sampled words of all objects.
    total: u64,
    odd: Option<NoTable>,
}

impl<T: Moment> Noting<T> {
    fn with_capacity(capacity: usize, several_domains: bool) -> Noting<T> {
        Noting {
            spans: Spans::with_capacity(capacity),
            samples: SmallNumbers::with_capacity(capacity),
            words: SmallNumbers::with_capacity(capacity),
            domains: Vec::new(),
            several_domains,
            kinds: Vec::with_capacity(capacity),
            ids: Numbers::Same,
            orphans: HashSet::new(),
            events: Bits::default(),
            deaths: Vec::with_capacity(capacity),
            sum: IdSum::default(),
            total: 0,
            odd: None,
        }
    }

    #[cold]
    fn odd(&mut self, why: &'static str) {
        self.odd.get_or_insert(NoTable::Odd(why));
    }

    /// Records the id of a new object.
    #[inline]
    fn born(&mut self, id: ObjectId) {
        let number = self.spans.born.len();
        if matches!(self.ids, Numbers::Same) {
            if id.0 == number as u64 {
                return;
            }
            self.stop_counting();
        }
        if let Numbers::Other(other) = &mut self.ids {
            let again = other.seen.contains(id);
            other.seen.insert(id);
            other.alive.insert(id, number as u32);
            other.ids.push(id.0);
            if again {
                self.odd("in it, two objects have one id");
            }
        }
    }

    /// From here on, ids differ from numbers.
    #[cold]
    fn stop_counting(&mut self) {
        let mut other = OtherNumbers::default();
        for (number, died) in self.spans.died.iter().enumerate() {
            let id = ObjectId(number as u64);
            other.ids.push(id.0);
            other.seen.insert(id);
            if *died == T::NEVER {
                other.alive.insert(id, number as u32);
            }
        }
        self.ids = Numbers::Other(Box::new(other));
    }

    /// The number of a live object; None for invalid ids, and for objects that were lost.
    #[inline]
    fn alive(&mut self, id: ObjectId) -> Option<usize> {
        let (number, known) = match &mut self.ids {
            Numbers::Same => {
                let number = usize::try_from(id.0).ok();
                let number = number.filter(|&number| number < self.spans.died.len());
                (number.filter(|&number| self.spans.died[number] == T::NEVER), number.is_some())
            }
            Numbers::Other(other) => {
                let number = other.alive.get_mut(id).map(|&mut number| number as usize);
                (number, number.is_some() || other.seen.contains(id))
            }
        };
        if number.is_none() {
            self.not_alive(id, known);
        }
        number
    }

    #[cold]
    fn not_alive(&mut self, id: ObjectId, known: bool) {
        if known {
            self.odd("in it, an object ends twice");
        } else {
            self.orphans.insert(id.0);
        }
        if self.orphans.len() > MAX_ORPHANS {
            self.odd("in it, too many objects end that were never allocated");
        }
    }
}

impl<T: Moment> Visitor for Noting<T> {
    fn is_done(&self) -> bool {
        self.odd.is_some()
    }

    #[inline]
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        self.born(alloc.id);
        if !self.orphans.is_empty() && self.orphans.contains(&alloc.id.0) {
            self.odd("in it, an object ends before it is allocated");
        }
        let time = T::of(alloc.time);
        self.total = self.total.saturating_add(alloc.samples);
        let is_too_much = self.total > MAX_SAMPLES || self.kinds.len() >= MAX_OBJECTS;
        if time == T::NEVER || is_too_much {
            self.odd("it has more objects or samples than a table in memory can hold");
            return;
        }
        self.spans.born.push(time);
        self.spans.died.push(T::NEVER);
        self.samples.push(alloc.samples);
        self.words.push(alloc.length.0);
        if self.several_domains {
            self.domains.push(alloc.domain.0);
        }
        self.kinds.push(source_bits(alloc.source));
        self.events.push(true);
        self.sum.add(alloc.id);
    }

    fn promote(&mut self, _: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if let Some(number) = self.alive(id) {
            let kind = &mut self.kinds[number];
            let again = *kind & PROMOTED != 0;
            *kind |= PROMOTED;
            if again {
                self.odd("in it, an object is promoted twice");
            }
        }
    }

    #[inline]
    fn collect(&mut self, time: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if let Some(number) = self.alive(id) {
            let time = T::of(time);
            if time == T::NEVER {
                self.odd("it lasts longer than a table in memory can say");
                return;
            }
            self.spans.died[number] = time;
            if let Numbers::Other(other) = &mut self.ids {
                other.alive.remove(id);
            }
            self.deaths.push(number as u32);
            self.events.push(false);
        }
    }
}
