//! Live bytes over time.

use bactrian_trace::{Alloc, DomainId, Frames, Losses, Micros, ObjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::live_count::LiveCount;
use crate::pass::{self, Visitor};
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Text};
use crate::selection::{Peak, Selection};
use crate::trace_file::TraceFile;
use crate::units::{Between, Time};

/// An interval of time.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TimelineInterval {
    /// Its end.
    pub time: Time,
    /// Live bytes at its end.
    pub live: Estimate,
    /// Maximum of live bytes within it.
    pub max: Estimate,
    /// Bytes allocated within it.
    pub allocated: Estimate,
}

/// Live bytes of the selected objects over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Timeline {
    /// Equal intervals from the start to the end of the trace, or of the requested time window.
    pub points: Vec<TimelineInterval>,
    /// Time of the peak of live bytes.
    pub peak_time: Time,
    /// Live bytes at the peak.
    pub peak: Estimate,
    /// What could not be read.
    #[serde(skip)]
    pub losses: Losses,
}

/// Equal intervals of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intervals {
    begin: u64,
    duration: u64,
    /// At least 1.
    pub count: usize,
    /// Whether later events belong to the last interval.
    open: bool,
}

impl Intervals {
    /// Divides the whole trace, or a part of it.
    pub fn new(trace: &TraceFile, count: usize, window: Between<Time>) -> Intervals {
        let begin = window.from.map_or(0, |from| from.0.0);
        let end = window.to.map_or(trace.index().duration().0, |to| to.0.0);
        let (duration, open) = (end.saturating_sub(begin).max(1), window.to.is_none());
        Intervals { begin, duration, count: count.max(1), open }
    }

    /// The start of the first interval.
    pub fn begin(&self) -> Micros {
        Micros(self.begin)
    }

    /// The end of an interval, where the next begins.
    pub fn end(&self, interval: usize) -> Micros {
        let ends = (interval as u128 + 1) * u128::from(self.duration);
        let ends = ends.div_ceil(self.count as u128) as u64;
        Micros(self.begin.saturating_add(ends))
    }

    /// The first moment after the last interval; None if the last interval is open. The last interval
    /// includes its end.
    pub fn after(&self) -> Option<Micros> {
        (!self.open).then(|| Micros(self.end(self.count - 1).0.saturating_add(1)))
    }
}

/// Live bytes over time, with the peak marked.
///
/// With filters, the selected objects are drawn in front of all objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct TimelineQuestion {
    /// The trace
    pub file: FileNumber,
    /// How many points in time [default: 200, or the width of the terminal]
    #[schemars(range(min = 1, max = 100_000), extend("x-value" = "N"))]
    pub points: Option<usize>,
    /// Only this time window (1.5s..3s); the peak is still that of the whole trace
    pub window: Option<Text<Between<Time>>>,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

/// The default number of points.
const POINTS: usize = 200;

/// Live bytes over time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimelineAnswer {
    /// Of all objects.
    pub all: Timeline,
    /// The filter.
    pub filter: Filter,
    /// Of the selected objects; null if all are selected.
    pub filtered: Option<Timeline>,
}

impl Question for TimelineQuestion {
    const NAME: &'static str = "trace/timeline";
    const COMMAND: Option<&'static str> = Some("timeline");
    type Answer = TimelineAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<TimelineAnswer>, QuestionError> {
        let trace = evidence.trace(self.file)?;
        let filter = self.filter.filter()?;
        let window = self.window.unwrap_or_default().0;
        let points = self.points.unwrap_or(POINTS);
        let all = trace.timeline(&Filter::default(), points, window);
        let filtered = (!filter.admits_all()).then(|| trace.timeline(&filter, points, window));
        let notes = trace.notes(&filter, filtered.as_ref().map(|filtered| &filtered.peak));
        let losses = all.losses.clone();
        let answer = TimelineAnswer { all, filter, filtered };
        Ok(Answer::new(answer, [losses.into()]).with_notes(notes))
    }
}

/// Measures live bytes in `intervals` equal intervals.
pub fn timeline(trace: &TraceFile, filter: &Filter, intervals: usize) -> Timeline {
    timeline_in(trace, filter, intervals, Between::default())
}

/// Measures live bytes in equal intervals of a part of the trace. The peak is that of the whole trace.
pub fn timeline_in(
    trace: &TraceFile,
    filter: &Filter,
    intervals: usize,
    window: Between<Time>,
) -> Timeline {
    let selection = Selection::new(trace, filter);
    let intervals = Intervals::new(trace, intervals, window);
    let mut count = Count {
        intervals,
        samples: vec![Samples::default(); intervals.count],
        now: 0,
        live: LiveCount::default(),
        is_over: false,
    };
    let outcome = pass::run(trace, &selection, &mut count);
    count.go_to(Micros::MAX);
    count.close();
    Timeline::new(trace, intervals, &count.samples, count.live.peak(), outcome.losses)
}

impl Timeline {
    /// From the counts of each interval.
    pub(crate) fn new(
        trace: &TraceFile,
        intervals: Intervals,
        samples: &[Samples],
        peak: Peak,
        losses: Losses,
    ) -> Timeline {
        let scale = trace.bytes_scale();
        let points = samples.iter().enumerate().map(|(at, samples)| TimelineInterval {
            time: Time(intervals.end(at)),
            live: scale.of_samples(samples.live),
            max: scale.of_samples(samples.max),
            allocated: scale.of_samples(samples.allocated),
        });
        Timeline {
            points: points.collect(),
            peak_time: Time(peak.time),
            peak: scale.of_samples(peak.samples),
            losses,
        }
    }
}

/// Sampled words in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    pub live: u64,
    pub max: u64,
    pub allocated: u64,
}

struct Count {
    intervals: Intervals,
    samples: Vec<Samples>,
    /// The current interval.
    now: usize,
    live: LiveCount,
    /// Whether the last interval has ended.
    is_over: bool,
}

impl Count {
    /// Closes the intervals that end at or before `time`, except the last, which includes its end.
    fn go_to(&mut self, time: Micros) {
        while self.now + 1 < self.samples.len() && self.intervals.end(self.now) <= time {
            self.close();
            self.now += 1;
            self.samples[self.now].max = self.live.live();
        }
        if self.intervals.after().is_some_and(|after| after <= time) {
            self.close();
            self.is_over = true;
        }
    }

    fn close(&mut self) {
        if !self.is_over {
            let samples = &mut self.samples[self.now];
            samples.live = self.live.live();
            samples.max = samples.max.max(self.live.live());
        }
    }
}

impl Visitor for Count {
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        self.go_to(alloc.time);
        self.live.born(alloc);
        let samples = &mut self.samples[self.now];
        if alloc.time < self.intervals.begin() {
            // The first interval starts with what is alive at its beginning.
            samples.max = self.live.live();
        } else if !self.is_over {
            samples.allocated = samples.allocated.saturating_add(alloc.samples);
            samples.max = samples.max.max(self.live.live());
        }
    }

    fn collect(&mut self, time: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if self.live.is_alive(id) {
            self.go_to(time);
            self.live.died(id);
            if time < self.intervals.begin() {
                self.samples[self.now].max = self.live.live();
            }
        }
    }
}
