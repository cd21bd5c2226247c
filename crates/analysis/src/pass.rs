//! A pass over a trace: reads every event once and hands the admitted objects to a visitor.

use std::ops::ControlFlow;

use bactrian_trace::{Alloc, DomainId, Event, FrameId, Frames, Losses, Micros, ObjectId, Stacks};

use crate::filter::{Filter, FramePattern, Pattern};
use crate::selection::Selection;
use crate::stack_walk::{Along, StackWalks};
use crate::trace_file::TraceFile;
use crate::under_way::Step;

/// The number of allocations between two progress reports.
const PROGRESS_EVERY: u32 = 1 << 16;

/// What a pass does with events.
pub trait Visitor {
    /// Whether stacks must be decoded.
    fn wants_stacks(&self) -> bool {
        false
    }

    /// Whether promotions and collections matter.
    fn wants_ends(&self) -> bool {
        true
    }

    /// Whether no later event matters.
    fn is_done(&self) -> bool {
        false
    }

    /// An admitted object was allocated.
    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames);

    /// An object that is not admitted was allocated.
    fn leave_out(&mut self, _alloc: &Alloc<'_>) {}

    /// An object was promoted, admitted or not.
    fn promote(&mut self, _time: Micros, _domain: DomainId, _id: ObjectId, _frames: &Frames) {}

    /// An object was collected, admitted or not.
    fn collect(&mut self, _time: Micros, _domain: DomainId, _id: ObjectId, _frames: &Frames) {}
}

/// The result of a pass.
#[derive(Debug)]
pub struct Outcome {
    /// The frames of the trace.
    pub frames: Frames,
    /// What could not be read.
    pub losses: Losses,
}

/// Reads `trace` and hands the objects that `selection` admits to `visitor`.
pub fn run(trace: &TraceFile, selection: &Selection, visitor: &mut impl Visitor) -> Outcome {
    let filter = &selection.filter;
    let mut stack_filter = StackFilter::new(filter);
    let with_stacks = visitor.wants_stacks() || stack_filter.is_some();
    let mut reader = trace.reader(if with_stacks { Stacks::Decode } else { Stacks::Skip });
    let word_bytes = trace.info().word_bytes();
    // Objects allocated later are not admitted.
    let last = filter.allocated.to.filter(|_| !visitor.wants_ends());
    let everything = filter.admits_all() && selection.by_end.is_none();
    let mut allocations = 0u32;
    let step = Step::of(1);
    reader.for_each(|event, frames| {
        match event {
            Event::Alloc(alloc) => {
                allocations = allocations.wrapping_add(1);
                if allocations.is_multiple_of(PROGRESS_EVERY) {
                    step.tell(trace.report_progress(alloc.time));
                    step.check();
                }
                let wanted = everything
                    || filter.admits_alloc(&alloc, word_bytes)
                        && selection.by_end.as_ref().is_none_or(|ends| ends.contains(alloc.id));
                if wanted && stack_filter.as_mut().is_none_or(|f| f.admits(&alloc, frames)) {
                    visitor.alloc(&alloc, frames);
                } else {
                    visitor.leave_out(&alloc);
                    if !wanted && let Some(filter) = &mut stack_filter {
                        filter.walks.leave_out(&alloc);
                    }
                }
                if last.is_some_and(|last| alloc.time > last.0) {
                    return ControlFlow::Break(());
                }
            }
            Event::Promote { time, domain, id } => visitor.promote(time, domain, id, frames),
            Event::Collect { time, domain, id } => visitor.collect(time, domain, id, frames),
        }
        if visitor.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    trace.report_progress(Micros::MAX);
    let losses = reader.losses();
    Outcome { frames: reader.into_frames(), losses }
}

/// Decides which stacks contain everything that a filter requires, and nothing that it excludes.
struct StackFilter<'f> {
    walks: StackWalks<Inside>,
    conditions: Conditions<'f>,
}

/// A filter's conditions on stacks.
pub(crate) struct Conditions<'f> {
    filter: &'f Filter,
    /// The bits of all required places.
    all: u64,
    /// For each frame seen so far, the conditions that it satisfies by itself.
    frames: Vec<Option<Inside>>,
}

/// The conditions that a stack satisfies up to a frame.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inside {
    /// A bit for each required place.
    wanted: u64,
    unwanted: bool,
}

impl<'f> StackFilter<'f> {
    fn new(filter: &'f Filter) -> Option<StackFilter<'f>> {
        let conditions = Conditions::new(filter);
        filter.looks_at_stacks().then(|| StackFilter { walks: StackWalks::default(), conditions })
    }

    fn admits(&mut self, alloc: &Alloc<'_>, frames: &Frames) -> bool {
        let inside = self.walks.go_to(alloc, frames, &mut self.conditions).last();
        let inside = inside.copied().unwrap_or_default();
        self.conditions.are_met(inside)
    }
}

impl<'f> Conditions<'f> {
    pub fn new(filter: &'f Filter) -> Conditions<'f> {
        let all = (0..filter.inside.len()).fold(0, |bits, at| bits | bit(at));
        Conditions { filter, all, frames: Vec::new() }
    }

    /// Whether a stack that satisfies these conditions is admitted.
    pub fn are_met(&self, inside: Inside) -> bool {
        inside.wanted == self.all && !inside.unwanted
    }
}

/// Places beyond the 64th would share a bit; [`Filter::MAX_INSIDE`] prevents that.
fn bit(place: usize) -> u64 {
    1 << place.min(63)
}

impl Along for Conditions<'_> {
    type Item = Inside;

    fn enter(&mut self, outer: Option<Inside>, frame: FrameId, frames: &Frames) -> Inside {
        if frame.index() >= self.frames.len() {
            self.frames.resize(frame.index() + 1, None);
        }
        let filter = self.filter;
        let here = *self.frames[frame.index()].get_or_insert_with(|| {
            let wanted = filter.inside.iter().enumerate();
            let wanted = wanted.filter(|(_, place)| place.is_in(frame, frames));
            Inside {
                wanted: wanted.fold(0, |bits, (at, _)| bits | bit(at)),
                unwanted: filter.not_inside.iter().any(|place| place.is_in(frame, frames)),
            }
        });
        let outer = outer.unwrap_or_default();
        Inside { wanted: outer.wanted | here.wanted, unwanted: outer.unwanted | here.unwanted }
    }
}

impl FramePattern {
    /// Whether one of the frame's locations is this place.
    fn is_in(&self, frame: FrameId, frames: &Frames) -> bool {
        let names = frames.names();
        frames.locations(frame).iter().any(|location| match self {
            FramePattern::Function(pattern) => pattern.matches(&names.text(location.function)),
            FramePattern::File(pattern) => file_matches(pattern, &names.text(location.file)),
        })
    }
}

/// A file matches by its whole name or by its last path component.
fn file_matches(pattern: &Pattern, file: &str) -> bool {
    pattern.matches(file) || file.rsplit_once('/').is_some_and(|(_, last)| pattern.matches(last))
}
