//! What one run of a program has shown, in plain numbers that a result file keeps.

use bactrian_analysis::gc_rules::GcFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::setting::Setting;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What was asked for; none: nothing was, it ran as it is.
    pub asked: Option<Setting>,
    /// What the runtime had at the end, where it could be read: a program may set parameters itself.
    pub setting: Setting,
    /// Seconds from start to end.
    pub wall: f64,
    /// Seconds on processors, of all threads.
    pub cpu: f64,
    /// The most bytes that it had in physical memory.
    pub rss: u64,
    /// How it ended, in words.
    pub status: String,
    /// A hash of its standard output and of its standard error.
    pub output: [u64; 2],
    /// Whether the counters are those of the very end.
    #[serde(rename = "exact")]
    pub is_exact: bool,
    /// What the collector counted.
    pub counts: Option<Counts>,
    /// How long it stood still for the collector, where that was measured.
    pub pauses: Option<Pauses>,
    /// What memory was used for at its peak, in a run that took long enough to be looked at.
    pub memory: Option<MemoryParts>,
    /// Resident memory over time: nanoseconds since the start, and bytes.
    pub samples: Vec<(u64, u64)>,
}

/// What the collector counted. Words are those of the runtime, of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Words allocated in minor heaps.
    pub minor_words: u64,
    /// Words promoted from them.
    pub promoted_words: u64,
    /// Words allocated in the major heap, promoted ones included.
    pub major_words: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Complete major cycles.
    pub major_collections: u64,
    /// Major collections that the program asked for.
    pub forced_major_collections: u64,
    /// Compactions.
    pub compactions: u64,
    /// Words of the major heap at the end.
    pub heap_words: u64,
    /// The most words that it had.
    pub top_heap_words: u64,
    /// Words of the heap that are not free at the end.
    pub live_words: u64,
    /// Bytes outside the heap that custom blocks have declared, at the end.
    pub dependent_bytes: u64,
    /// The most domains that were seen to run.
    pub domains: u64,
}

/// Pauses, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pauses {
    /// How many.
    pub count: u64,
    /// All of them together: the time in the collector.
    pub total: f64,
    /// One in a hundred is longer.
    pub p99: f64,
    /// The longest.
    pub longest: f64,
}

/// Bytes in physical memory by their use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryParts {
    /// Of the major heap, in use.
    pub heap_used: u64,
    /// Of the major heap, free.
    pub heap_free: u64,
    /// Minor heaps.
    pub minor_heaps: u64,
    /// Allocated by C.
    pub c: u64,
    /// Stacks, code, shared memory.
    pub other: u64,
}

impl Measurement {
    /// What time is measured by: processor time of a program with one domain, which another process on the machine disturbs
    /// least, and elapsed time of one with several, for which it is the point.
    pub fn time(&self, by: TimeBy) -> f64 {
        match by {
            TimeBy::Cpu => self.cpu,
            TimeBy::Wall => self.wall,
        }
    }

    /// What the rules want to know of it.
    pub fn facts(&self) -> GcFacts {
        let Some(counts) = &self.counts else { return GcFacts::default() };
        let known = |number: u64| Some(number as f64);
        GcFacts {
            minor_heap_words: known(self.setting.s),
            space_overhead: known(self.setting.o),
            minor_words: known(counts.minor_words),
            promoted_words: known(counts.promoted_words),
            major_words: known(counts.major_words),
            minor_collections: known(counts.minor_collections),
            major_collections: known(counts.major_collections),
            forced_major_collections: known(counts.forced_major_collections),
            heap_words: known(counts.heap_words),
            live_words: known(counts.live_words),
            dependent_bytes: known(counts.dependent_bytes),
            domains: known(counts.domains),
        }
    }

    /// Whether the program took the setting that it was asked to take.
    pub fn took_setting(&self) -> bool {
        self.asked.is_none_or(|asked| {
            // OCaml 5 rounds a minor heap up to whole pages.
            let near = |a: u64, b: u64| a.abs_diff(b) <= 4096;
            near(asked.s, self.setting.s) && asked.o == self.setting.o
        })
    }
}

/// Which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeBy {
    /// Seconds on processors.
    Cpu,
    /// Seconds on the clock.
    Wall,
}

impl TimeBy {
    /// What is right for these runs.
    pub fn of(runs: &[Measurement]) -> TimeBy {
        let has_domains =
            runs.iter().any(|run| run.counts.is_some_and(|counts| counts.domains > 1));
        // A server spends its time waiting; no processor time at all is a clock that was not read.
        let is_told = runs.iter().all(|run| run.cpu > 0.0);
        if has_domains || !is_told { TimeBy::Wall } else { TimeBy::Cpu }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            TimeBy::Cpu => "processor time",
            TimeBy::Wall => "elapsed time",
        }
    }
}
