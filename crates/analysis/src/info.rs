//! Facts about a trace: from its packet headers, and from reading all events.

use bactrian_trace::{
    Alloc, DomainId, Frames, Losses, Micros, ObjectId, Recorder, Source, TraceInfo,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Tally};
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::live_count::LiveCount;
use crate::measure::{Unit, weight};
use crate::pass::{self, Visitor};
use crate::question::{Answer, Evidence, FileInfo, FileNumber, Question, QuestionError};
use crate::selection::{Peak, Selection};
use crate::trace_file::TraceFile;
use crate::units::Time;

/// What the packet headers say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TraceInfo")]
pub struct Info {
    /// Path of the traced program.
    pub program: String,
    /// Host it ran on.
    pub host: String,
    /// Settings of the OCaml runtime (OCAMLRUNPARAM).
    pub runtime_parameters: String,
    /// Description of the run, given by the program.
    pub context: String,
    /// What Bactrian's recorder reported, if it wrote the trace.
    pub recorder: Option<RecorderInfo>,
    /// Process id.
    pub pid: u64,
    /// Format version of the file.
    pub format_version: u16,
    /// Sampling rate: the probability that a word is sampled; if the rate fell as the trace grew, the first one.
    pub sample_rate: f64,
    /// Sampling rate at the end.
    pub last_rate: f64,
    /// Whether every word was sampled.
    pub exact: bool,
    /// Bits per word.
    pub word_bits: u8,
    /// Start in seconds since the Unix epoch.
    pub start: f64,
    /// Time from the start to the end of the last packet.
    pub duration: Time,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Number of packets.
    pub packets: u64,
    /// Domains that wrote packets.
    pub domains: Vec<u16>,
    /// Number of sampled allocations, according to packet headers.
    pub sampled_allocations: u64,
}

/// What Bactrian's recorder reported about itself and about losses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecorderInfo {
    /// Bactrian's version.
    pub version: String,
    /// OCaml's version.
    pub ocaml: String,
    /// State of the recording: `ended`, `running`, `program-samples`, `switched-off`.
    pub state: &'static str,
    /// Maximum number of frames kept per call stack.
    pub depth: u64,
    /// Number of sampled allocations that could not be written.
    pub lost_allocations: u64,
    /// Number of promotions and ends of blocks that could not be written.
    pub lost_ends: u64,
    /// Number of allocations whose call stacks were lost.
    pub lost_stacks: u64,
    /// Number of call stacks that were cut off at the maximum depth.
    pub capped_stacks: u64,
    /// Number of frames with unknown addresses.
    pub unknown_frames: u64,
    /// What to know about losses, in sentences.
    #[serde(skip)]
    pub sentences: Vec<String>,
}

impl From<Recorder> for RecorderInfo {
    fn from(recorder: Recorder) -> RecorderInfo {
        let (sentences, state) = (recorder.sentences(), recorder.state.name());
        let Recorder { version, ocaml, depth, lost_stacks, .. } = recorder;
        let Recorder { lost_allocations, lost_ends, capped_stacks, unknown_frames, .. } = recorder;
        RecorderInfo {
            version,
            ocaml,
            state,
            depth,
            lost_allocations,
            lost_ends,
            lost_stacks,
            capped_stacks,
            unknown_frames,
            sentences,
        }
    }
}

/// Totals of all events of a trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TraceContents")]
pub struct Contents {
    /// Number of sampled allocations in the minor heap.
    pub minor: u64,
    /// Number of sampled allocations directly in the major heap.
    pub major: u64,
    /// Number of sampled allocations outside the OCaml heap.
    pub external: u64,
    /// Number of promotions of sampled blocks.
    pub promotions: u64,
    /// Number of collections of sampled blocks.
    pub collections: u64,
    /// Total of allocated bytes.
    pub allocated: Estimate,
    /// Total of allocated blocks.
    pub objects: Estimate,
    /// Maximum of live bytes.
    pub peak: Estimate,
    /// Time of the maximum.
    pub peak_time: Time,
    /// Live bytes at the end of the trace.
    pub live_at_end: Estimate,
    /// Depth of the deepest call stack.
    pub deepest_stack: usize,
    /// Number of distinct code addresses in call stacks.
    pub frames: usize,
    /// What could not be read.
    #[serde(skip)]
    pub losses: Losses,
}

/// What a trace or snapshot is: program, size, duration.
///
/// Reads only headers, which takes milliseconds for any size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct InfoQuestion {
    /// The trace or snapshot
    pub file: FileNumber,
}

impl Question for InfoQuestion {
    const NAME: &'static str = "overview/info";
    const COMMAND: Option<&'static str> = Some("info");
    type Answer = FileInfo;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<FileInfo>, QuestionError> {
        let info = evidence.info(self.file)?;
        let notes = match &info {
            FileInfo::Trace(info) => {
                info.recorder.as_ref().map(|recorder| recorder.sentences.clone())
            }
            FileInfo::Snapshot(info) => Some(info.gaps.clone()),
        };
        Ok(Answer::new(info, []).with_notes(notes.unwrap_or_default()))
    }
}

/// Totals of all events of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct ContentsQuestion {
    /// The trace
    pub file: FileNumber,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

/// Totals of all events of a trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContentsAnswer {
    /// The totals.
    pub contents: Contents,
}

impl Question for ContentsQuestion {
    const NAME: &'static str = "overview/contents";
    const COMMAND: Option<&'static str> = Some("info --full");
    type Answer = ContentsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<ContentsAnswer>, QuestionError> {
        let trace = evidence.trace(self.file)?;
        let filter = self.filter.filter()?;
        let contents = trace.contents(&filter);
        let (losses, notes) = (contents.losses.clone(), trace.notes(&filter, None));
        Ok(Answer::new(ContentsAnswer { contents }, [losses.into()]).with_notes(notes))
    }
}

/// The facts from the packet headers.
pub fn info(trace: &TraceFile) -> Info {
    let index = trace.index();
    let about = trace.info();
    let text = |field: &[u8]| TraceInfo::text(field).into_owned();
    let recorder = Recorder::parse(&about.context);
    Info {
        program: text(&about.executable),
        host: text(&about.host),
        runtime_parameters: text(&about.runtime_params),
        context: if recorder.is_some() { String::new() } else { text(&about.context) },
        recorder: recorder.map(RecorderInfo::from),
        pid: about.pid,
        format_version: about.version,
        sample_rate: about.sample_rate,
        last_rate: about.sample_rate / about.heaviest_sample(),
        exact: about.sample_rate >= 1.0,
        word_bits: about.word_bits,
        start: Micros(about.start).seconds(),
        duration: Time(index.duration()),
        file_bytes: index.bytes() as u64,
        packets: index.packets().len() as u64,
        domains: index.domains().into_iter().map(|domain| domain.0).collect(),
        sampled_allocations: index.allocations(),
    }
}

/// Facts about the objects that `filter` admits, from reading all events.
pub fn contents(trace: &TraceFile, filter: &Filter) -> Contents {
    let mut count = Count::default();
    let outcome = pass::run(trace, &Selection::new(trace, filter), &mut count);
    let Count { mut counts, live } = count;
    counts.live = live.live();
    Contents::new(trace, &counts, live.peak(), &outcome.frames, outcome.losses)
}

impl Contents {
    /// From counts.
    pub(crate) fn new(
        trace: &TraceFile,
        counts: &Counts,
        peak: Peak,
        frames: &Frames,
        losses: Losses,
    ) -> Contents {
        let bytes = trace.bytes_scale();
        Contents {
            minor: counts.by_source[0],
            major: counts.by_source[1],
            external: counts.by_source[2],
            promotions: counts.promotions,
            collections: counts.collections,
            allocated: bytes.of_samples(counts.samples),
            objects: trace.objects_scale().estimate(counts.objects),
            peak: bytes.of_samples(peak.samples),
            peak_time: Time(peak.time),
            live_at_end: bytes.of_samples(counts.live),
            deepest_stack: counts.deepest_stack,
            // Every table has a frame for code 0.
            frames: frames.len() - 1,
            losses,
        }
    }
}

/// Counts of some objects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Minor, major, external.
    pub by_source: [u64; 3],
    pub promotions: u64,
    pub collections: u64,
    /// Sampled words.
    pub samples: u64,
    /// Sampled words that are alive at the end.
    pub live: u64,
    pub objects: Tally,
    pub deepest_stack: usize,
}

impl Counts {
    /// Adds other counts; the deepest stack is the maximum.
    pub fn add(&mut self, other: &Counts) {
        let Counts { by_source, promotions, collections, samples, live, objects, .. } = other;
        self.by_source.iter_mut().zip(by_source).for_each(|(to, from)| *to += from);
        self.promotions += promotions;
        self.collections += collections;
        self.samples = self.samples.saturating_add(*samples);
        self.live = self.live.saturating_add(*live);
        self.objects = self.objects + *objects;
        self.deepest_stack = self.deepest_stack.max(other.deepest_stack);
    }
}

#[derive(Default)]
struct Count {
    counts: Counts,
    live: LiveCount,
}

impl Visitor for Count {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        let source = match alloc.source {
            Source::Minor => 0,
            Source::Major => 1,
            Source::External => 2,
        };
        let counts = &mut self.counts;
        counts.by_source[source] += 1;
        counts.samples = counts.samples.saturating_add(alloc.samples);
        counts.objects.count(alloc.samples, weight(Unit::Objects, alloc));
        counts.deepest_stack = counts.deepest_stack.max(alloc.stack.len());
        self.live.born(alloc);
    }

    fn promote(&mut self, _: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        self.counts.promotions += u64::from(self.live.is_alive(id));
    }

    fn collect(&mut self, _: Micros, _: DomainId, id: ObjectId, _: &Frames) {
        self.counts.collections += u64::from(self.live.died(id));
    }
}
