//! The sites, functions, files or modules that allocate most, or whose memory lives: self and total.
//!
//! `self` is what is allocated with a label as the innermost of the stack, `total` what is allocated with the
//! label anywhere on the stack, counted once however often it recurs. Totals are computed without a tree of
//! stacks and without walking whole stacks: a running sum of all weight is kept; a label records this sum
//! when it is pushed on the stack, and the growth until it is popped is its total.

use std::collections::HashMap;

use bactrian_trace::{Alloc, FrameId, Frames, Losses};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Scale, Tally};
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::labels::{By, Label, LabelId, LabelSpan, Labels};
use crate::library::LibraryOptions;
use crate::measure::{Gauge, Measure, Metric};
use crate::pass::{self, Visitor};
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Rows};
use crate::selection::{Peak, Selection};
use crate::sorted_rows::SortRows;
use crate::stack_walk::{Along, StackWalks};
use crate::trace_file::TraceFile;
use crate::units::Time;

/// One row of a [`Top`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopRow")]
pub struct Row {
    /// The row's name and location.
    #[serde(flatten)]
    pub label: Label,
    /// What it allocates itself.
    #[serde(rename = "self")]
    pub own: Estimate,
    /// What it allocates itself and in everything it calls.
    pub total: Estimate,
}

/// A measure by site, function, file or module, the largest first.
#[derive(Debug)]
pub struct Top {
    /// The grouping.
    pub by: By,
    /// The measure.
    pub measure: Measure,
    /// The total.
    pub all: Estimate,
    /// The estimate for labels that were never sampled: zero, with an upper bound for what sampling can miss.
    pub none: Estimate,
    /// Every label, sorted by self, then by total.
    pub rows: Vec<Row>,
    /// The peak, if the measure or the filter refers to it.
    pub peak: Option<Peak>,
    /// What could not be read.
    pub losses: Losses,
}

/// Functions, sites, lines, files, modules or types that allocate or keep most.
///
/// `self` is what a row allocates itself; `total` includes everything it calls, at any depth, and counts recursive calls once.
/// The 95 % confidence interval from sampling is shown beside each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct TopQuestion {
    /// The trace
    pub file: FileNumber,
    /// What to group by
    pub by: TopBy,
    /// What to measure
    pub metric: Metric,
    /// What to sort by
    pub sort: TopSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
    /// Which code to show
    #[serde(flatten)]
    pub library: LibraryOptions,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

/// What rows are grouped by: a location, or what was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-value" = "WHAT"))]
pub enum TopBy {
    /// A location.
    Place(By),
    /// What was allocated.
    What(TopByWhat),
}

/// What was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TopByWhat {
    /// OCaml types, as far as they are known
    Type,
}

impl Default for TopBy {
    fn default() -> TopBy {
        TopBy::Place(By::default())
    }
}

/// What rows are sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum TopSort {
    /// What a row allocates itself
    #[default]
    #[serde(rename = "self")]
    Own,
    /// What a row allocates itself and in everything it calls
    Total,
    /// Name
    Name,
}

/// What allocates or keeps most.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TopAnswer {
    /// What rows are grouped by.
    pub by: By,
    /// What was measured.
    pub measure: Measure,
    /// The objects that are counted.
    pub filter: Filter,
    /// The total.
    pub all: Estimate,
    /// Time of the peak, if the measure is about it.
    pub peak_time: Option<Time>,
    /// Number of rows.
    pub row_count: usize,
    /// The requested rows.
    pub rows: Vec<Row>,
}

impl Question for TopQuestion {
    const NAME: &'static str = "trace/top";
    const COMMAND: Option<&'static str> = Some("top");
    type Answer = TopAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<TopAnswer>, QuestionError> {
        let by = match self.by {
            TopBy::Place(By::Instruction) | TopBy::What(TopByWhat::Type) => {
                let why = "by: instruction and type need the program's file: only `bactrian top` \
                     supports them";
                return Err(QuestionError::Wrong(why.to_owned()));
            }
            TopBy::Place(by) => by,
        };
        let trace = evidence.trace(self.file)?;
        let filter = self.filter.filter_with(self.library)?;
        let top = trace.top(&filter, by, self.metric.measure(|| trace.keeps_little()));
        let mut rows: Vec<&Row> = top.rows.iter().collect();
        match self.sort {
            TopSort::Own => {}
            TopSort::Total => rows.sort_rows_by(|a, b| b.total.value.total_cmp(&a.total.value)),
            TopSort::Name => rows.sort_rows_by(|a, b| a.label.cmp(&b.label)),
        }
        let row_count = evidence.cut(&self.rows, &mut rows, |row| row.label.text());
        let notes = trace.notes(&filter, Some(&top.all));
        let answer = TopAnswer {
            by,
            measure: top.measure,
            filter,
            all: top.all,
            peak_time: top.peak.map(|peak| Time(peak.time)),
            row_count,
            rows: rows.into_iter().cloned().collect(),
        };
        Ok(Answer::new(answer, [top.losses.clone().into()]).with_notes(notes))
    }
}

/// Computes the measure in a pass.
pub fn top(trace: &TraceFile, filter: &Filter, by: By, measure: Measure) -> Top {
    let selection = Selection::new(trace, filter);
    let gauge = Gauge::new(trace, &selection, &[measure]);
    let labels = Labels::new(by, &filter.hidden);
    let mut adding = Adding { gauge, walks: StackWalks::default(), sums: Sums::new(labels) };
    let outcome = pass::run(trace, &selection, &mut adding);
    let Adding { gauge, mut walks, mut sums } = adding;
    walks.leave_all(&mut sums);
    let all = sums.running.iter().fold(Tally::default(), |sum, &tally| sum + tally);
    let Sums { labels, of_labels, no_stack, .. } = sums;
    let sums = OfLabels { all, of_labels, no_stack };
    Top::new(&labels, &sums, measure, measure.scale(trace), gauge.peak, outcome.losses)
}

/// A measure summed by label.
#[derive(Debug, Default)]
pub(crate) struct OfLabels {
    pub all: Tally,
    /// Self and total.
    pub of_labels: Vec<(Tally, Tally)>,
    /// Objects without a stack, or with a hidden one.
    pub no_stack: Tally,
}

impl Top {
    /// Converts sums to rows.
    pub(crate) fn new(
        labels: &Labels,
        sums: &OfLabels,
        measure: Measure,
        scale: Scale,
        peak: Option<Peak>,
        losses: Losses,
    ) -> Top {
        // Most labels of a large trace have no admitted objects.
        let rows = labels.iter().filter_map(|(id, label)| {
            let (own, total) = sums.of_labels.get(id.index()).copied().unwrap_or_default();
            let is_there = !total.is_zero();
            is_there.then(|| Row {
                label: label.clone(),
                own: scale.estimate(own),
                total: scale.estimate(total),
            })
        });
        let no_stack = scale.estimate(sums.no_stack);
        let no_stack = Row { label: Label::no_stack(), own: no_stack, total: no_stack };
        let rows = rows.chain([no_stack]);
        let mut rows: Vec<_> = rows.filter(|row| row.total.value > 0.0).collect();
        rows.sort_rows_by(|a, b| {
            let by_self = b.own.value.total_cmp(&a.own.value);
            let by_size = by_self.then(b.total.value.total_cmp(&a.total.value));
            by_size.then_with(|| a.label.cmp(&b.label))
        });
        let (all, none) = (scale.estimate(sums.all), scale.estimate(Tally::default()));
        Top { by: labels.by(), measure, all, none, rows, peak, losses }
    }
}

struct Adding {
    gauge: Gauge,
    walks: StackWalks<LabelSpan>,
    sums: Sums,
}

impl Visitor for Adding {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn wants_ends(&self) -> bool {
        false
    }

    #[inline]
    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        let mut counts = false;
        self.gauge.weigh(alloc, |_, weight| {
            counts = true;
            let stack = self.walks.go_to(alloc, frames, &mut self.sums);
            self.sums.add(stack, alloc.samples, weight);
        });
        if !counts {
            self.walks.leave_out(alloc);
        }
    }

    #[inline]
    fn leave_out(&mut self, alloc: &Alloc<'_>) {
        self.walks.leave_out(alloc);
    }
}

/// The number of domains, in order of appearance, with an array of labels each; the others share a hash
/// table.
const DENSE_DOMAINS: usize = 64;

struct Sums {
    labels: Labels,
    /// Indices of domains, in order of appearance.
    places: HashMap<usize, usize>,
    /// The number and the index of the current domain.
    number: usize,
    domain: usize,
    /// The running sum of each domain.
    running: Vec<Tally>,
    /// Labels on the stacks of the first domains ...
    dense: Vec<Vec<OnStack>>,
    /// ... and of the others.
    sparse: HashMap<(usize, LabelId), OnStack>,
    /// Self and total.
    of_labels: Vec<(Tally, Tally)>,
    /// Objects without a stack, or with a hidden one.
    no_stack: Tally,
}

/// How often a label is on the stack, and the running sum when it was pushed.
#[derive(Clone, Copy, Default)]
struct OnStack {
    times: u32,
    since: Tally,
}

impl OnStack {
    #[inline]
    fn come(&mut self, now: Tally) {
        if self.times == 0 {
            self.since = now;
        }
        self.times += 1;
    }

    /// The growth of the sum since the push, if this was the last occurrence.
    #[inline]
    fn go(&mut self, now: Tally) -> Option<Tally> {
        self.times -= 1;
        (self.times == 0).then(|| now - self.since)
    }
}

impl Sums {
    fn new(labels: Labels) -> Sums {
        Sums {
            labels,
            places: HashMap::new(),
            number: usize::MAX,
            domain: 0,
            running: Vec::new(),
            dense: Vec::new(),
            sparse: HashMap::new(),
            of_labels: Vec::new(),
            no_stack: Tally::default(),
        }
    }

    #[inline]
    fn add(&mut self, stack: &[LabelSpan], samples: u64, weight: f64) {
        self.running[self.domain].count(samples, weight);
        // Where the innermost frames are hidden, the innermost visible one replaces them.
        let innermost = stack.iter().rev().find_map(|&span| self.labels.in_span(span).last());
        match innermost {
            Some(label) => self.of_labels[label.index()].0.count(samples, weight),
            None => self.no_stack.count(samples, weight),
        }
    }

    /// Allocates space for new labels.
    #[cold]
    fn make_room(&mut self) {
        let labels = self.labels.len();
        self.of_labels.resize(labels, Default::default());
        self.dense.iter_mut().for_each(|dense| dense.resize(labels, OnStack::default()));
    }

    #[cold]
    fn change_domain(&mut self, number: usize) {
        let next = self.places.len();
        self.number = number;
        self.domain = *self.places.entry(number).or_insert(next);
        if self.domain == self.running.len() {
            self.running.push(Tally::default());
            self.dense.resize_with(self.running.len().min(DENSE_DOMAINS), Vec::new);
            self.make_room();
        }
    }
}

impl Along for Sums {
    type Item = LabelSpan;

    #[inline]
    fn at_domain(&mut self, domain: usize) {
        if domain != self.number {
            self.change_domain(domain);
        }
    }

    #[inline]
    fn enter(&mut self, _: Option<LabelSpan>, frame: FrameId, frames: &Frames) -> LabelSpan {
        let span = self.labels.span(frame, frames);
        if self.of_labels.len() < self.labels.len() {
            self.make_room();
        }
        let now = self.running[self.domain];
        match self.dense.get_mut(self.domain) {
            Some(dense) => {
                let labels = self.labels.in_span(span).iter();
                labels.for_each(|label| dense[label.index()].come(now));
            }
            None => {
                for &label in self.labels.in_span(span) {
                    self.sparse.entry((self.domain, label)).or_default().come(now);
                }
            }
        }
        span
    }

    #[inline]
    fn leave(&mut self, span: LabelSpan) {
        let now = self.running[self.domain];
        for &label in self.labels.in_span(span) {
            let share = match self.dense.get_mut(self.domain) {
                Some(dense) => dense[label.index()].go(now),
                None => self.sparse.entry((self.domain, label)).or_default().go(now),
            };
            if let Some(share) = share {
                let total = &mut self.of_labels[label.index()].1;
                *total = *total + share;
            }
        }
    }
}
