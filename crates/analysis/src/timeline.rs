//! Live bytes over time.

use bactrian_trace::{Alloc, DomainId, Frames, Losses, Micros, ObjectId};
use serde::Serialize;

use crate::estimate::Estimate;
use crate::filter::Filter;
use crate::live_count::LiveCount;
use crate::pass::{self, Visitor};
use crate::selection::Selection;
use crate::trace_file::TraceFile;
use crate::units::Time;

/// One interval of time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// When it ends.
    pub time: Time,
    /// Bytes alive then.
    pub live: Estimate,
    /// Most bytes alive at a moment in it.
    pub max: Estimate,
    /// Bytes allocated in it.
    pub allocated: Estimate,
}

/// Live bytes of the wanted objects over time.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// Equal intervals from the start to the end of the trace.
    pub points: Vec<Point>,
    /// When most bytes are alive.
    pub peak_time: Time,
    /// How many that is.
    pub peak: Estimate,
    /// What could not be read.
    #[serde(skip)]
    pub losses: Losses,
}

/// Measures live bytes in `intervals` equal intervals.
pub fn timeline(trace: &TraceFile, filter: &Filter, intervals: usize) -> Timeline {
    let selection = Selection::new(trace, filter);
    let intervals = intervals.max(1);
    let duration = trace.index().duration().0.max(1);
    let mut count =
        Count { duration, samples: vec![Samples::default(); intervals], ..Count::default() };
    let outcome = pass::run(trace, &selection, &mut count);
    count.go_to(Micros::MAX);
    count.close();
    let scale = trace.bytes_scale();
    let points = count.samples.iter().enumerate().map(|(at, samples)| Point {
        time: Time(count.end(at)),
        live: scale.of_samples(samples.live),
        max: scale.of_samples(samples.max),
        allocated: scale.of_samples(samples.allocated),
    });
    let peak = count.live.peak();
    Timeline {
        points: points.collect(),
        peak_time: Time(peak.time),
        peak: scale.of_samples(peak.samples),
        losses: outcome.losses,
    }
}

/// Sampled words in an interval.
#[derive(Clone, Copy, Default)]
struct Samples {
    live: u64,
    max: u64,
    allocated: u64,
}

#[derive(Default)]
struct Count {
    duration: u64,
    samples: Vec<Samples>,
    /// The interval that events now fall into.
    now: usize,
    live: LiveCount,
}

impl Count {
    /// When an interval ends: the next begins there.
    fn end(&self, interval: usize) -> Micros {
        let ends = (interval as u128 + 1) * u128::from(self.duration);
        Micros(ends.div_ceil(self.samples.len() as u128) as u64)
    }

    /// Closes the intervals that end at `time` or before, but for the last, which takes in the end.
    fn go_to(&mut self, time: Micros) {
        while self.now + 1 < self.samples.len() && self.end(self.now) <= time {
            self.close();
            self.now += 1;
            self.samples[self.now].max = self.live.live();
        }
    }

    fn close(&mut self) {
        let samples = &mut self.samples[self.now];
        samples.live = self.live.live();
        samples.max = samples.max.max(self.live.live());
    }
}

impl Visitor for Count {
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        self.go_to(alloc.time);
        self.live.born(alloc);
        let samples = &mut self.samples[self.now];
        samples.allocated = samples.allocated.saturating_add(alloc.samples);
        samples.max = samples.max.max(self.live.live());
    }

    fn collect(&mut self, time: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if self.live.is_alive(id) {
            self.go_to(time);
            self.live.died(id);
        }
    }
}
