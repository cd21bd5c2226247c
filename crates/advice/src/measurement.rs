//! The measurements of one run of a program, in plain numbers that a result file keeps.

use bactrian_analysis::gc_rules::GcFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::setting::Setting;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The requested setting; none: the program ran unchanged.
    pub asked: Option<Setting>,
    /// The runtime's parameters at the end, if they could be read: a program may set them itself.
    pub setting: Setting,
    /// Elapsed seconds.
    pub wall: f64,
    /// Seconds of processor time of all threads.
    pub cpu: f64,
    /// The peak of resident memory, in bytes.
    pub rss: u64,
    /// The exit status, in words.
    pub status: String,
    /// Hashes of standard output and of standard error.
    pub output: [u64; 2],
    /// Whether the counters are from the very end of the run.
    #[serde(rename = "exact")]
    pub is_exact: bool,
    /// The collector's counters.
    pub counts: Option<Counts>,
    /// The collector's pauses, if they were measured.
    pub pauses: Option<Pauses>,
    /// Memory by use at the peak, if the run was long enough for a look at it.
    pub memory: Option<MemoryParts>,
    /// Resident memory over time: nanoseconds since the start, and bytes.
    pub samples: Vec<(u64, u64)>,
}

/// The collector's counters. A word has 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Words allocated in minor heaps.
    pub minor_words: u64,
    /// Words promoted from minor heaps.
    pub promoted_words: u64,
    /// Words allocated in the major heap, including promoted words.
    pub major_words: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Complete major cycles.
    pub major_collections: u64,
    /// Major collections that the program requested.
    pub forced_major_collections: u64,
    /// Compactions.
    pub compactions: u64,
    /// The size of the major heap at the end, in words.
    pub heap_words: u64,
    /// The maximum size of the major heap, in words.
    pub top_heap_words: u64,
    /// Words of the major heap that are not free at the end.
    pub live_words: u64,
    /// Bytes outside the heap that custom blocks declared, at the end.
    pub dependent_bytes: u64,
    /// The maximum number of domains seen running.
    pub domains: u64,
}

/// Pauses, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pauses {
    /// The number of pauses.
    pub count: u64,
    /// The total duration: the time in the collector.
    pub total: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub longest: f64,
}

/// Resident bytes by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryParts {
    /// The part of the major heap that is in use.
    pub heap_used: u64,
    /// The free part of the major heap.
    pub heap_free: u64,
    /// Minor heaps.
    pub minor_heaps: u64,
    /// Allocated by C.
    pub c: u64,
    /// Stacks, code, shared memory.
    pub other: u64,
}

impl Measurement {
    /// The time that counts: for a program with one domain its processor time, which other processes on the machine disturb
    /// least; for a program with several domains the elapsed time, which is what domains are meant to shorten.
    pub fn time(&self, by: TimeBy) -> f64 {
        match by {
            TimeBy::Cpu => self.cpu,
            TimeBy::Wall => self.wall,
        }
    }

    /// The facts that the rules need.
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

    /// Whether the program ran with the requested setting.
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
    /// The time that suits these runs.
    pub fn of(runs: &[Measurement]) -> TimeBy {
        let has_domains =
            runs.iter().any(|run| run.counts.is_some_and(|counts| counts.domains > 1));
        // Without any processor time, that clock could not be read.
        let has_cpu = runs.iter().all(|run| run.cpu > 0.0);
        if has_domains || !has_cpu { TimeBy::Wall } else { TimeBy::Cpu }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            TimeBy::Cpu => "processor time",
            TimeBy::Wall => "elapsed time",
        }
    }
}
