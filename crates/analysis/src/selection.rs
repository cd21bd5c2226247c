//! A filter prepared for a pass over a trace.
//!
//! Conditions on an object's end are decided beforehand, by a pass that does not decode stacks and records
//! one bit per object. `live at peak` needs another pass before that one, to find the peak.

use bactrian_trace::{Alloc, DomainId, Frames, Micros, ObjectId};

use crate::filter::{Collected, Filter, Live};
use crate::live_count::LiveCount;
use crate::objects::{LiveTable, ObjectSet};
use crate::pass::{self, Visitor};
use crate::trace_file::TraceFile;
use crate::units::{Between, Time};

/// The admitted objects.
#[derive(Debug, Default)]
pub struct Selection {
    pub(crate) filter: Filter,
    /// The objects whose end satisfies the conditions; None if there are no such conditions.
    pub(crate) by_end: Option<ObjectSet>,
    peak: Option<Peak>,
}

/// The moment at which the selected objects together take most memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// The time.
    pub time: Micros,
    /// The sampled words that are alive at that moment.
    pub samples: u64,
    /// The object whose allocation caused the peak: many events can have the same time.
    pub object: ObjectId,
}

impl Selection {
    /// Prepares `filter` for passes over `trace`.
    pub fn new(trace: &TraceFile, filter: &Filter) -> Selection {
        let mut filter = filter.clone();
        let wants_peak = filter.live.contains(&Live::AtPeak);
        filter.live.retain(|live| *live != Live::AtPeak);
        let end = End::of(&filter);
        let mut selection = Selection { filter, by_end: None, peak: None };
        if !end.is_any() {
            selection.by_end = Some(selection.narrowed(trace, end));
        }
        if wants_peak {
            let peak = find_peak(trace, &selection);
            selection.by_end = Some(selection.narrowed(trace, End::alive_at_peak(peak)));
            selection.peak = Some(peak);
        }
        selection
    }

    /// The peak found for `live at peak`; None if the filter does not refer to it.
    pub fn peak(&self) -> Option<Peak> {
        self.peak
    }

    /// The objects whose end satisfies the conditions of this selection and also `end`.
    pub(crate) fn narrowed(&self, trace: &TraceFile, end: End) -> ObjectSet {
        let mut ends = Ends { end, ..Ends::default() };
        pass::run(trace, &Selection::default(), &mut ends);
        let mut wanted = ends.wanted();
        if let Some(already) = &self.by_end {
            wanted.intersect(already);
        }
        wanted
    }
}

/// Finds the moment at which the selected objects take most memory.
pub fn find_peak(trace: &TraceFile, selection: &Selection) -> Peak {
    let mut count = LiveCount::default();
    pass::run(trace, selection, &mut count);
    count.peak()
}

/// Conditions on the end of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// Collected after this time, or never.
    after: Option<Micros>,
    collected: Option<Between<Time>>,
    never: bool,
    lifetime: Between<Time>,
    promoted: bool,
    /// Alive right after this object was allocated.
    alive_at: Option<ObjectId>,
}

impl End {
    pub fn of(filter: &Filter) -> End {
        let mut end = End { lifetime: filter.lifetime, ..End::default() };
        let mut alive_after = |time: Micros| end.after = end.after.max(Some(time));
        for live in &filter.live {
            match *live {
                Live::In(range) => range.from.into_iter().for_each(|from| alive_after(from.0)),
                Live::At(time) => alive_after(time.0),
                Live::AtEnd => end.never = true,
                Live::AtPeak => {}
            }
        }
        match filter.collected {
            Some(Collected::Never) => end.never = true,
            Some(Collected::In(range)) => end.collected = Some(range),
            None => {}
        }
        end
    }

    pub fn alive_at_peak(peak: Peak) -> End {
        End { alive_at: Some(peak.object), ..End::default() }
    }

    pub fn never() -> End {
        End { never: true, ..End::default() }
    }

    pub fn promoted() -> End {
        End { promoted: true, ..End::default() }
    }

    pub fn is_any(&self) -> bool {
        let End { after, collected, never, lifetime, promoted, alive_at } = self;
        after.is_none()
            && collected.is_none()
            && !never
            && *lifetime == Between::default()
            && !promoted
            && alive_at.is_none()
    }

    #[inline(always)]
    pub fn admits_survivor(&self) -> bool {
        self.collected.is_none() && self.lifetime.to.is_none()
    }

    #[inline(always)]
    pub fn admits_death(&self, time: Micros) -> bool {
        !self.never
            && self.after.is_none_or(|after| time > after)
            && self.collected.is_none_or(|range| range.contains(&Time(time)))
    }

    #[inline(always)]
    pub fn admits_lifetime(&self, lifetime: Micros) -> bool {
        self.lifetime.contains(&Time(lifetime))
    }
}

/// Records the objects whose end satisfies the conditions.
#[derive(Default)]
struct Ends {
    end: End,
    alive: ObjectSet,
    wanted: ObjectSet,
    /// Allocation times, if lifetimes matter.
    born: LiveTable<Micros>,
}

impl Ends {
    fn wanted(self) -> ObjectSet {
        if self.end.promoted || self.end.alive_at.is_some() || !self.end.admits_survivor() {
            return self.wanted;
        }
        let mut wanted = self.wanted;
        wanted.unite(self.alive);
        wanted
    }

    fn looks_at_lifetimes(&self) -> bool {
        self.end.lifetime != Between::default()
    }
}

impl Visitor for Ends {
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        if self.looks_at_lifetimes() {
            self.born.insert(alloc.id, alloc.time);
        }
        self.alive.insert(alloc.id);
        if self.end.alive_at == Some(alloc.id) {
            self.wanted = self.alive.clone();
        }
    }

    fn promote(&mut self, _: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if self.end.promoted {
            self.wanted.insert(id);
        }
    }

    fn collect(&mut self, time: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        self.alive.remove(id);
        let by_death = !self.end.promoted && self.end.alive_at.is_none();
        let mut wanted = by_death && self.end.admits_death(time);
        if self.looks_at_lifetimes() {
            let born = self.born.remove(id);
            wanted &= born.is_some_and(|born| self.end.admits_lifetime(time.since(born)));
        }
        if wanted {
            self.wanted.insert(id);
        }
    }
}
