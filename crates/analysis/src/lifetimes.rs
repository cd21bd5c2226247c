//! Lifetimes and sizes of objects, by allocation site.

use bactrian_trace::{Alloc, DomainId, Frames, Losses, Micros, ObjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Tally};
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::labels::{By, Label, LabelId, Labels};
use crate::library::LibraryOptions;
use crate::objects::LiveTable;
use crate::pass::{self, Visitor};
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Rows};
use crate::selection::Selection;
use crate::sorted_rows::SortRows;
use crate::trace_file::TraceFile;

/// Upper bounds of the lifetime classes, in microseconds. One more class is for longer lifetimes that end
/// within the trace.
pub const LIFETIME_CLASSES: [u64; 7] =
    [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// Upper bounds of the size classes, in words without header. One more class is for larger blocks.
pub const SIZE_CLASSES: [u64; 6] = [2, 4, 16, 64, 256, 4096];

const LIFETIMES: usize = LIFETIME_CLASSES.len() + 1;
const SIZES: usize = SIZE_CLASSES.len() + 1;

/// Lifetimes and sizes of the objects of one row, weighted by bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LifetimeRow {
    /// What allocates them.
    #[serde(flatten)]
    pub label: Label,
    /// Total of allocated bytes.
    pub allocated: Estimate,
    /// Bytes of objects that were collected, by class of lifetime.
    pub lifetimes: Vec<Estimate>,
    /// Bytes of objects that are still there when the trace ends.
    pub never: Estimate,
    /// Allocated bytes, by class of size.
    pub sizes: Vec<Estimate>,
}

/// Lifetimes of the selected objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Lifetimes {
    /// Of all objects.
    pub all: LifetimeRow,
    /// By row, those that allocate most first.
    pub rows: Vec<LifetimeRow>,
    /// What could not be read.
    #[serde(skip)]
    pub losses: Losses,
}

/// Lifetimes of objects: what dies young and what is never freed; or sizes of objects.
///
/// Each row shows the share of its bytes that dies within each span of time, and the share that is still there when the trace ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LifetimesQuestion {
    /// The trace
    pub file: FileNumber,
    /// What to group by
    pub by: By,
    /// What to sort by
    pub sort: LifetimesSort,
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

impl Default for LifetimesQuestion {
    fn default() -> LifetimesQuestion {
        LifetimesQuestion {
            file: FileNumber::default(),
            by: By::Site,
            sort: LifetimesSort::default(),
            rows: Rows::default(),
            library: LibraryOptions::default(),
            filter: FilterOptions::default(),
        }
    }
}

/// What rows are sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum LifetimesSort {
    /// Bytes allocated
    #[default]
    Allocated,
    /// Bytes that are never freed
    Never,
    /// Name
    Name,
}

/// Lifetimes of objects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LifetimesAnswer {
    /// What rows are grouped by.
    pub by: By,
    /// The objects that are counted.
    pub filter: Filter,
    /// Upper bounds of the classes of lifetimes, in seconds; the last class has no bound.
    pub lifetime_classes: [f64; LIFETIME_CLASSES.len()],
    /// Upper bounds of the classes of sizes, in words without header; the last class has no bound.
    pub size_classes: [u64; SIZE_CLASSES.len()],
    /// All objects.
    pub all: LifetimeRow,
    /// Number of rows.
    pub row_count: usize,
    /// The requested rows.
    pub rows: Vec<LifetimeRow>,
}

impl Question for LifetimesQuestion {
    const NAME: &'static str = "trace/lifetimes";
    const COMMAND: Option<&'static str> = Some("lifetimes");
    type Answer = LifetimesAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<LifetimesAnswer>, QuestionError> {
        let trace = evidence.trace(self.file)?;
        let filter = self.filter.filter_with(self.library)?;
        let Lifetimes { all, mut rows, losses } = trace.lifetimes(&filter, self.by);
        match self.sort {
            LifetimesSort::Allocated => {}
            LifetimesSort::Never => {
                rows.sort_rows_by(|a, b| b.never.value.total_cmp(&a.never.value));
            }
            LifetimesSort::Name => rows.sort_rows_by(|a, b| a.label.cmp(&b.label)),
        }
        let row_count = evidence.cut(&self.rows, &mut rows, |row| row.label.text());
        let notes = trace.notes(&filter, Some(&all.allocated));
        let answer = LifetimesAnswer {
            by: self.by,
            filter,
            lifetime_classes: LIFETIME_CLASSES.map(|end| Micros(end).seconds()),
            size_classes: SIZE_CLASSES,
            all,
            row_count,
            rows,
        };
        Ok(Answer::new(answer, [losses.into()]).with_notes(notes))
    }
}

/// Measures lifetimes and sizes.
pub fn lifetimes(trace: &TraceFile, filter: &Filter, by: By) -> Lifetimes {
    let selection = Selection::new(trace, filter);
    let mut count = Count {
        labels: Labels::new(by, &filter.hidden),
        tallies: Vec::new(),
        alive: LiveTable::default(),
    };
    let outcome = pass::run(trace, &selection, &mut count);
    let Count { labels, mut tallies, alive } = count;
    for object in alive.into_items() {
        tallies[object.place].never.count(object.samples, 1.0);
    }
    Lifetimes::new(trace, &labels, &tallies, outcome.losses)
}

impl Lifetimes {
    /// From the tallies of objects without a stack and of each label.
    pub(crate) fn new(
        trace: &TraceFile,
        labels: &Labels,
        tallies: &[Tallies],
        losses: Losses,
    ) -> Lifetimes {
        let scale = trace.bytes_scale();
        let life = |label: Label, tallies: &Tallies| LifetimeRow {
            label,
            allocated: scale.estimate(tallies.all()),
            lifetimes: tallies.lifetimes.iter().map(|&tally| scale.estimate(tally)).collect(),
            never: scale.estimate(tallies.never),
            sizes: tallies.sizes.iter().map(|&tally| scale.estimate(tally)).collect(),
        };
        let mut sum = Tallies::default();
        tallies.iter().for_each(|tallies| sum.merge(tallies));
        let rows = tallies.iter().enumerate().filter(|(_, tallies)| !tallies.all().is_zero());
        let mut rows: Vec<_> = rows
            .map(|(place, tallies)| {
                let label = match place.checked_sub(1) {
                    Some(label) => labels.get(LabelId::from_index(label)).clone(),
                    None => Label::no_stack(),
                };
                life(label, tallies)
            })
            .collect();
        rows.sort_rows_by(|a, b| {
            let by_size = b.allocated.value.total_cmp(&a.allocated.value);
            by_size.then_with(|| a.label.cmp(&b.label))
        });
        let all = life(Label { name: "all".to_owned(), ..Label::default() }, &sum);
        Lifetimes { all, rows, losses }
    }
}

/// Lifetimes and sizes, in sampled words.
#[derive(Clone, Default)]
pub(crate) struct Tallies {
    lifetimes: [Tally; LIFETIMES],
    never: Tally,
    sizes: [Tally; SIZES],
}

/// Sampled words in each class.
#[derive(Clone, Default)]
pub(crate) struct ClassSamples {
    lifetimes: [u64; LIFETIMES],
    never: u64,
    sizes: [u64; SIZES],
}

impl ClassSamples {
    /// Adds an object; `lifetime` is None if it does not die.
    #[inline]
    pub fn count(&mut self, samples: u64, size: usize, lifetime: Option<usize>) {
        self.sizes[size] += samples;
        *lifetime.map_or(&mut self.never, |lifetime| &mut self.lifetimes[lifetime]) += samples;
    }

    /// Adds other samples.
    pub fn add(&mut self, other: &ClassSamples) {
        let pairs = self.lifetimes.iter_mut().zip(&other.lifetimes);
        let pairs = pairs.chain(self.sizes.iter_mut().zip(&other.sizes));
        pairs.chain([(&mut self.never, &other.never)]).for_each(|(to, from)| *to += from);
    }
}

impl Tallies {
    fn all(&self) -> Tally {
        self.sizes.iter().fold(Tally::default(), |sum, &tally| sum + tally)
    }

    /// From the numbers of sampled words.
    pub fn of_samples(samples: &ClassSamples) -> Tallies {
        Tallies {
            lifetimes: samples.lifetimes.map(Tally::of_samples),
            never: Tally::of_samples(samples.never),
            sizes: samples.sizes.map(Tally::of_samples),
        }
    }

    fn merge(&mut self, other: &Tallies) {
        let pairs = self.lifetimes.iter_mut().zip(&other.lifetimes);
        let pairs = pairs.chain(self.sizes.iter_mut().zip(&other.sizes));
        pairs.chain([(&mut self.never, &other.never)]).for_each(|(to, from)| *to = *to + *from);
    }
}

/// The class of `value`: the first whose upper bound is not below it.
#[inline]
fn class(value: u64, upper_ends: &[u64]) -> usize {
    // There are few: comparing with all of them is faster than branching.
    upper_ends.iter().map(|&end| usize::from(end < value)).sum()
}

/// The class of a size in words.
#[inline]
pub(crate) fn size_class(words: u64) -> usize {
    class(words, &SIZE_CLASSES)
}

/// The class of a lifetime.
#[inline]
pub(crate) fn lifetime_class(lifetime: Micros) -> usize {
    class(lifetime.0, &LIFETIME_CLASSES)
}

#[derive(Clone, Copy, Default)]
struct Object {
    born: Micros,
    samples: u64,
    /// An index into `Count::tallies`.
    place: usize,
}

struct Count {
    labels: Labels,
    /// The first is for objects without a stack, the others by label.
    tallies: Vec<Tallies>,
    alive: LiveTable<Object>,
}

impl Visitor for Count {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        let mut innermost = alloc.stack.iter().rev();
        let label = innermost.find_map(|&frame| self.labels.of(frame, frames).last().copied());
        let place = label.map_or(0, |label| label.index() + 1);
        if place >= self.tallies.len() {
            self.tallies.resize(place + 1, Tallies::default());
        }
        let size = size_class(alloc.length.0);
        self.tallies[place].sizes[size].count(alloc.samples, 1.0);
        self.alive.insert(alloc.id, Object { born: alloc.time, samples: alloc.samples, place });
    }

    fn collect(&mut self, time: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        if let Some(object) = self.alive.remove(id) {
            let lifetime = lifetime_class(time.since(object.born));
            self.tallies[object.place].lifetimes[lifetime].count(object.samples, 1.0);
        }
    }
}
