//! One trace and many questions: what a server keeps.
//!
//! The trace is read into tables in the background if there is enough memory; otherwise, and for odd traces,
//! every question is a pass. The answers are the same. Results for the last few filters are cached, so that
//! another measure or another detail of the same objects costs little. All methods may be called from many
//! threads at once.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use bactrian_trace::Recorder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Budget, Grant};
use crate::estimate::{Estimate, Tally};
use crate::filter::{Filter, Hidden, Live};
use crate::info::{Contents, contents};
use crate::labels::By;
use crate::lifetimes::{Lifetimes, lifetimes};
use crate::measure::{Measure, Of, Unit, ends_with_little};
use crate::profile::{Column, Profile};
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError};
use crate::selection::Peak;
use crate::sorted_rows::SortRows;
use crate::stack_tree::Recursion;
use crate::timeline::{Intervals, Timeline, timeline_in};
use crate::top::{Top, top};
use crate::trace_file::TraceFile;
use crate::trace_table::bits::Bits;
use crate::trace_table::{
    self, BYTES_PER_STACK, Labelling, Lives, NoTable, Origins, PeakMoment, Tables,
};
use crate::under_way::wait_until;
use crate::units::{Between, Time, show_count};

/// A trace for repeated questions.
#[derive(Debug)]
pub struct TraceQuestions {
    trace: Arc<TraceFile>,
    lives: Arc<OnceLock<Result<Lives, NoTable>>>,
    origins: Arc<OnceLock<Result<Origins, NoTable>>>,
    admitted: LruCache<Filter, Admitted>,
    labellings: LruCache<(By, Hidden), Labelling>,
    timelines: LruCache<(Filter, usize, Between<Time>), Timeline>,
    tops: LruCache<(Filter, By, Measure), Top>,
    names: OnceLock<Names>,
    /// The memory granted for the tables.
    _grant: Option<Arc<Grant>>,
}

/// Names of functions and files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Names {
    /// Functions.
    pub functions: Vec<String>,
    /// Source files.
    pub files: Vec<String>,
}

/// Names of functions and files that contain a text, for completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct NamesQuestion {
    /// The trace
    pub file: FileNumber,
    /// The text typed so far
    pub prefix: String,
}

/// The most names offered as completions.
const COMPLETIONS: usize = 20;

impl Question for NamesQuestion {
    const NAME: &'static str = "trace/names";
    const COMMAND: Option<&'static str> = None;
    type Answer = Names;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Names>, QuestionError> {
        let names = evidence.trace(self.file)?.names(&self.prefix, COMPLETIONS);
        Ok(Answer::new(names, []))
    }
}

/// The number of filters whose objects are cached.
const KEPT_FILTERS: usize = 6;
/// The number of cached labellings.
const KEPT_LABELLINGS: usize = 4;
/// The number of cached timelines: with each filter, the timeline of all objects is requested as well.
const KEPT_TIMELINES: usize = 12;
/// The number of cached tables, which are read page by page and in several orders.
const KEPT_TOPS: usize = 4;
/// The fraction of available memory for the tables of all open traces together.
const MEMORY_SHARE: f64 = 0.4;
static TABLES: Budget = Budget::new();

impl TraceQuestions {
    /// Starts to read the trace into memory, if it fits into what the machine can spare.
    pub fn new(trace: Arc<TraceFile>) -> TraceQuestions {
        let all = || (available_memory().unwrap_or(1 << 30) as f64 * MEMORY_SHARE) as u64;
        TraceQuestions::granted(trace, Arc::new(TABLES.grant(all)))
    }

    /// For a single question, answered by a pass over the file, which takes less time than reading it into
    /// memory.
    pub fn once(trace: TraceFile) -> TraceQuestions {
        let questions = TraceQuestions::unread(Arc::new(trace));
        let _ = questions.lives.set(Err(NoTable::AskedOnce));
        let _ = questions.origins.set(Err(NoTable::AskedOnce));
        questions
    }

    /// Starts to read the trace into memory if it takes at most `bytes`.
    pub fn with_memory(trace: Arc<TraceFile>, bytes: u64) -> TraceQuestions {
        TraceQuestions::granted(trace, Arc::new(Grant::of(bytes)))
    }

    /// Likewise, with a share of a budget; what is not needed is returned.
    fn granted(trace: Arc<TraceFile>, grant: Arc<Grant>) -> TraceQuestions {
        let questions =
            TraceQuestions { _grant: Some(grant.clone()), ..TraceQuestions::unread(trace) };
        let objects = trace_table::memory_for_objects(&questions.trace);
        let left = grant.bytes().checked_sub(objects);
        // A few stacks always fit.
        match left.map(|left| left / BYTES_PER_STACK).filter(|&stacks| stacks > 1000) {
            None => {
                grant.shrink_to(0);
                let _ = questions.lives.set(Err(NoTable::TooLarge));
                let _ = questions.origins.set(Err(NoTable::TooLarge));
            }
            Some(stacks) => {
                let (trace, slot) = (questions.trace.clone(), questions.lives.clone());
                fill(slot, move || Lives::read(&trace));
                let (trace, slot) = (questions.trace.clone(), questions.origins.clone());
                let first = questions.lives.clone();
                fill(slot, move || {
                    // Timelines need no stacks and are viewed first. With few processors, one of which the
                    // browser uses, they would be much later if both tables were read at once.
                    if thread::available_parallelism().is_ok_and(|processors| processors.get() <= 2)
                    {
                        first.wait();
                    }
                    let read = Origins::read(&trace, stacks);
                    let needed = |origins: &Origins| objects + origins.memory_for_stacks();
                    grant.shrink_to(read.as_ref().map_or(0, needed));
                    read
                });
            }
        }
        questions
    }

    fn unread(trace: Arc<TraceFile>) -> TraceQuestions {
        TraceQuestions {
            trace,
            lives: Arc::default(),
            origins: Arc::default(),
            admitted: LruCache::new(KEPT_FILTERS),
            labellings: LruCache::new(KEPT_LABELLINGS),
            timelines: LruCache::new(KEPT_TIMELINES),
            tops: LruCache::new(KEPT_TOPS),
            names: OnceLock::new(),
            _grant: None,
        }
    }

    /// The trace.
    pub fn trace(&self) -> &TraceFile {
        &self.trace
    }

    /// Waits until the trace is in memory, or it is known that it will not be.
    pub fn wait_until_read(&self) {
        self.wait(&self.lives);
        self.wait(&self.origins);
    }

    /// Waits for a table that is being read, unless the question is cancelled.
    fn wait<'s, T>(&self, slot: &'s OnceLock<T>) -> &'s T {
        wait_until(|| slot.get(), || self.trace.share_read())
    }

    /// Why questions take as long as reading the file, if they do.
    pub fn why_slow(&self) -> Option<String> {
        let why = match (self.lives.get(), self.origins.get()) {
            (Some(Err(NoTable::AskedOnce)), _) => return None,
            (Some(Err(why)), _) | (_, Some(Err(why))) => why.to_string(),
            (Some(Ok(lives)), Some(Ok(origins))) if Tables::of(lives, origins).is_none() => {
                "because of damage, some objects have no call stack".to_owned()
            }
            _ => return None,
        };
        Some(format!("every question reads the whole trace: {why}"))
    }

    /// The notes for an answer with this result.
    pub fn notes(&self, filter: &Filter, found: Option<&Estimate>) -> Vec<String> {
        let mut notes: Vec<String> = self.why_slow().into_iter().collect();
        if found.is_some_and(|found| found.value <= 0.0) && !filter.admits_all() {
            notes.push("no sampled object matches the filters".to_owned());
        }
        notes.extend(filter.looks_at_stacks().then(|| self.cut_stacks()).flatten());
        notes
    }

    /// A note on stacks that were truncated during recording, for filters on stacks.
    fn cut_stacks(&self) -> Option<String> {
        let Recorder { capped_stacks, depth, .. } = Recorder::parse(&self.trace.info().context)?;
        (capped_stacks > 0).then(|| {
            format!(
                "{} call stacks were recorded with {depth} frames only: functions and files \
                 further out are not found (`bactrian record --depth N` keeps more frames)",
                show_count(capped_stacks as f64)
            )
        })
    }

    /// Whether nearly everything is freed before the trace ends.
    pub fn keeps_little(&self) -> bool {
        ends_with_little(&self.timeline(&Filter::default(), 1, Between::default()))
    }

    /// Live bytes in equal intervals of the trace or of a part of it.
    pub fn timeline(&self, filter: &Filter, intervals: usize, window: Between<Time>) -> Timeline {
        let wanted = Filter { hidden: Hidden::default(), ..filter.clone() };
        let found = self
            .timelines
            .get(&(wanted, intervals, window), || self.find_timeline(filter, intervals, window));
        Timeline::clone(&found)
    }

    fn find_timeline(&self, filter: &Filter, intervals: usize, window: Between<Time>) -> Timeline {
        let by_pass = || timeline_in(&self.trace, filter, intervals, window);
        // Without conditions on stacks, this can be answered while stacks are still being read.
        let Ok(lives) = self.wait(&self.lives) else { return by_pass() };
        let losses = match filter.looks_at_stacks() {
            true => match self.tables() {
                Some(tables) => &tables.origins.losses,
                None => return by_pass(),
            },
            false => &lives.losses,
        };
        let admitted = self.admitted(lives, filter);
        let intervals = Intervals::new(&self.trace, intervals, window);
        let (samples, peak) = lives.samples_in(intervals, &admitted.bits);
        Timeline::new(&self.trace, intervals, &samples, lives.peak(peak), losses.clone())
    }

    /// A measure by site, function, file or module.
    pub fn top(&self, filter: &Filter, by: By, measure: Measure) -> Arc<Top> {
        let key = (filter.clone(), by, measure);
        self.tops.get(&key, || self.find_top(filter, by, measure))
    }

    fn find_top(&self, filter: &Filter, by: By, measure: Measure) -> Top {
        let Some(tables) = self.tables() else {
            return top(&self.trace, filter, by, measure);
        };
        let labelling = self.labelling(tables, by, filter);
        let admitted = self.admitted(tables.lives, filter);
        let own = admitted.by_stack(tables, measure);
        let sums = labelling.by_label(tables.origins, own);
        Top::new(
            &labelling.labels,
            &sums,
            measure,
            measure.scale(&self.trace),
            admitted.known_peak(tables.lives, &[measure]),
            tables.origins.losses.clone(),
        )
    }

    /// Measures by distinct stack. Some stacks may have no admitted objects.
    pub fn profile(
        &self,
        filter: &Filter,
        by: By,
        recursion: Recursion,
        measures: &[Measure],
    ) -> Profile {
        let Some((tables, labelling)) = self.labelled(by, recursion, filter) else {
            return Profile::with(&self.trace, filter, by, recursion, measures);
        };
        let relabelled = labelling.tree(tables.origins, recursion);
        let admitted = self.admitted(tables.lives, filter);
        let columns = measures.iter().map(|&measure| {
            let tallies = relabelled.tallies(admitted.by_stack(tables, measure));
            Column::new(measure, measure.scale(&self.trace), tallies)
        });
        Profile {
            columns: columns.collect(),
            tree: relabelled.tree.clone(),
            labels: labelling.labels.clone(),
            peak: admitted.known_peak(tables.lives, measures),
            losses: tables.origins.losses.clone(),
        }
    }

    /// Lifetimes and sizes of the admitted objects.
    pub fn lifetimes(&self, filter: &Filter, by: By) -> Lifetimes {
        let Some(tables) = self.tables() else {
            return lifetimes(&self.trace, filter, by);
        };
        let labelling = self.labelling(tables, by, filter);
        let admitted = self.admitted(tables.lives, filter);
        let Tables { lives, origins } = tables;
        let tallies = trace_table::lifetimes(lives, origins, &labelling, &admitted.bits);
        let losses = origins.losses.clone();
        Lifetimes::new(&self.trace, &labelling.labels, &tallies, losses)
    }

    /// Facts about the admitted objects.
    pub fn contents(&self, filter: &Filter) -> Contents {
        let Some(tables) = self.tables() else { return contents(&self.trace, filter) };
        let Tables { lives, origins } = tables;
        let admitted = self.admitted(lives, filter);
        let counts = trace_table::contents(lives, origins, &admitted.bits);
        let peak = lives.peak(admitted.own_peak(lives));
        Contents::new(&self.trace, &counts, peak, origins.frames(), origins.losses.clone())
    }

    /// Names that start with or contain `written`: those that allocate most first, names that start with it
    /// before the others.
    pub fn names(&self, written: &str, most: usize) -> Names {
        let all = self.names.get_or_init(|| {
            let names = |by| {
                let measure = Measure::bytes(Of::Allocated);
                let mut rows = self.find_top(&Filter::default(), by, measure).rows;
                rows.sort_rows_by(|a, b| b.total.value.total_cmp(&a.total.value));
                let names = rows.into_iter().map(|row| row.label.written().into_owned());
                names.filter(|name| !name.is_empty() && !name.starts_with('[')).collect()
            };
            Names { functions: names(By::Function), files: names(By::File) }
        });
        let written = written.to_lowercase();
        let pick = |names: &[String]| {
            let mut found: Vec<_> = names
                .iter()
                .filter_map(|name| {
                    let lower = name.to_lowercase();
                    lower.contains(&*written).then_some(())?;
                    let is_begin = |at: usize| {
                        let before = &lower[..at];
                        before.is_empty() || before.ends_with("__") || before.ends_with(['.', '/'])
                    };
                    let begins = lower.match_indices(&*written).any(|(at, _)| is_begin(at));
                    Some((!begins, name))
                })
                .collect();
            // The sort is stable, so larger ones stay first.
            found.sort_rows_by_key(|(is_inside, _)| *is_inside);
            found.into_iter().take(most).map(|(_, name)| name.clone()).collect()
        };
        Names { functions: pick(&all.functions), files: pick(&all.files) }
    }

    /// Whether the trace names this source file.
    pub fn names_file(&self, file: &str) -> bool {
        self.names("", 0);
        self.names.get().is_some_and(|names| names.files.iter().any(|known| known == file))
    }

    /// Both tables, once they are available.
    fn tables(&self) -> Option<Tables<'_>> {
        let (Ok(lives), Ok(origins)) = (self.wait(&self.lives), self.wait(&self.origins)) else {
            return None;
        };
        Tables::of(lives, origins)
    }

    /// The objects that a filter admits. For conditions on stacks, both tables must be available.
    fn admitted(&self, lives: &Lives, filter: &Filter) -> Arc<Admitted> {
        let filter = Filter { hidden: Hidden::default(), ..filter.clone() };
        let word_bytes = self.trace.info().word_bytes();
        self.admitted.get(&filter, || {
            let mut bits = lives.admitted(&filter, word_bytes);
            if filter.looks_at_stacks()
                && let Ok(origins) = self.wait(&self.origins)
            {
                bits = origins.admitted(lives, &bits, &filter);
            }
            let mut admitted = Admitted { bits, ..Admitted::default() };
            if filter.live.contains(&Live::AtPeak) {
                let peak = lives.find_peak(&admitted.bits);
                if let Some(peak) = peak {
                    admitted.bits = lives.alive_at(&admitted.bits, peak);
                }
                admitted.filtered_by = Some(peak);
            }
            admitted
        })
    }

    /// Both tables with the labelled stacks, unless the labelled tree is larger than permitted for the trace.
    fn labelled(
        &self,
        by: By,
        recursion: Recursion,
        filter: &Filter,
    ) -> Option<(Tables<'_>, Arc<Labelling>)> {
        let tables = self.tables()?;
        let labelling = self.labelling(tables, by, filter);
        labelling.is_whole(tables.origins, recursion).then_some((tables, labelling))
    }

    /// The labels of all frames.
    fn labelling(&self, tables: Tables<'_>, by: By, filter: &Filter) -> Arc<Labelling> {
        let key = (by, filter.hidden.clone());
        self.labellings.get(&key, || Labelling::new(tables.origins, by, &filter.hidden))
    }
}

/// The objects that a filter admits, with cached results about them.
#[derive(Debug, Default)]
struct Admitted {
    bits: Bits,
    /// The peak that the filter refers to; the inner `None` means that there is no peak.
    filtered_by: Option<Option<PeakMoment>>,
    peak: OnceLock<Option<PeakMoment>>,
    /// What each stack allocates, by measure.
    sums: [[OnceLock<Vec<Tally>>; 4]; 2],
}

impl Admitted {
    /// The moment at which these objects together take most memory.
    fn own_peak(&self, lives: &Lives) -> Option<PeakMoment> {
        *self.peak.get_or_init(|| lives.find_peak(&self.bits))
    }

    /// The peak for measures: the filter's, if it refers to one.
    fn measured_peak(&self, lives: &Lives) -> Option<PeakMoment> {
        self.filtered_by.unwrap_or_else(|| self.own_peak(lives))
    }

    /// The peak, if the filter or a measure refers to it.
    fn known_peak(&self, lives: &Lives, measures: &[Measure]) -> Option<Peak> {
        let is_measured = measures.iter().any(|measure| measure.of == Of::LiveAtPeak);
        let is_asked = is_measured || self.filtered_by.is_some();
        is_asked.then(|| lives.peak(self.measured_peak(lives)))
    }

    /// The measured tally of each stack.
    fn by_stack(&self, tables: Tables<'_>, measure: Measure) -> &[Tally] {
        let unit = match measure.unit {
            Unit::Bytes => 0,
            Unit::Objects => 1,
        };
        let of = match measure.of {
            Of::Allocated => 0,
            Of::LiveAtEnd => 1,
            Of::LiveAtPeak => 2,
            Of::Promoted => 3,
        };
        let Tables { lives, origins } = tables;
        self.sums[unit][of].get_or_init(|| {
            let some = match measure.of {
                Of::Allocated => None,
                Of::LiveAtEnd => Some(lives.never_collected(&self.bits)),
                Of::Promoted => Some(lives.promoted(&self.bits)),
                Of::LiveAtPeak => Some(match self.measured_peak(lives) {
                    Some(peak) => lives.alive_at(&self.bits, peak),
                    None => Bits::none(self.bits.len()),
                }),
            };
            trace_table::by_stack(lives, origins, some.as_ref().unwrap_or(&self.bits), measure.unit)
        })
    }
}

/// An LRU cache of the results of questions. A concurrent request for the same key waits for the running
/// computation.
#[derive(Debug)]
struct LruCache<K, V> {
    most: usize,
    /// The most recently used first.
    items: Mutex<Vec<(K, Slot<V>)>>,
}

/// A result that is being computed or was computed.
type Slot<V> = Arc<OnceLock<Arc<V>>>;

impl<K: Clone + PartialEq, V> LruCache<K, V> {
    fn new(most: usize) -> LruCache<K, V> {
        LruCache { most, items: Mutex::default() }
    }

    fn get(&self, key: &K, find: impl FnOnce() -> V) -> Arc<V> {
        let slot = {
            let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
            let known = items.iter().position(|(known, _)| known == key);
            let item = known.map(|at| items.remove(at)).unwrap_or((key.clone(), Arc::default()));
            let slot = item.1.clone();
            items.insert(0, item);
            items.truncate(self.most);
            slot
        };
        slot.get_or_init(|| Arc::new(find())).clone()
    }
}

/// Fills a slot on a new thread. Even if that thread panics, nobody waits forever.
fn fill<T: Send + Sync + 'static>(
    slot: Arc<OnceLock<Result<T, NoTable>>>,
    read: impl FnOnce() -> Result<T, NoTable> + Send + 'static,
) {
    struct Filled<T>(Arc<OnceLock<Result<T, NoTable>>>);
    impl<T> Drop for Filled<T> {
        fn drop(&mut self) {
            let _ = self.0.set(Err(NoTable::Odd("reading it into memory failed")));
        }
    }
    let filled = Filled(slot.clone());
    let started = thread::Builder::new().name("read trace".to_owned()).spawn(move || {
        let _ = filled.0.set(read());
    });
    if started.is_err() {
        let _ = slot.set(Err(NoTable::Odd("cannot start a thread to read it")));
    }
}

/// The memory that the machine can spare, if it says so.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
