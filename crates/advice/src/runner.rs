//! Makes the planned runs of a program, and measures each from outside.
//!
//! The program runs unchanged except for `OCAMLRUNPARAM`, the destinations of its streams, and the agent, which makes the
//! program's end wait until the counters have been read ([`bactrian_capture::measure`]). Its output is only hashed, so that runs
//! can be compared; the end of its standard error is kept for a message.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use bactrian_capture::heap::statistics::Statistics;
use bactrian_capture::launch::Streams;
use bactrian_capture::live::page;
use bactrian_capture::measure::{Measure, Measured};

use crate::measurement::{Counts, Measurement, MemoryParts, Pauses};
use crate::plan::{Budget, Next, Why};
use crate::setting::Setting;

/// How many bytes of the end of the program's standard error are kept.
const KEPT: usize = 2_000;
/// Assumed for a program whose parameters could not be read.
const UNKNOWN: Setting = Setting { s: 262_144, o: 120 };

/// A program that is run repeatedly.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The file to run.
    pub program: PathBuf,
    /// Its name, the first element of its argument vector.
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// The file that it reads on standard input; none: standard input is empty.
    pub input: Option<PathBuf>,
}

/// A finished run.
#[derive(Debug)]
pub struct Ran {
    /// What was measured.
    pub measurement: Measurement,
    /// The version of OCaml, such as `5.3`; empty if unknown.
    pub ocaml: String,
    /// The end of its standard error.
    pub last_words: String,
    /// Whether it ended with status 0.
    pub is_success: bool,
    /// Whether it was killed because it exceeded the budget's time.
    pub was_stopped: bool,
    /// Why the counters are unknown, if they are.
    pub why_no_counters: Option<String>,
}

/// The variable that holds the parameters, and the one that the runtime reads instead if the first is not set.
const VARIABLES: [&str; 2] = ["OCAMLRUNPARAM", "CAMLRUNPARAM"];

/// The parameters that the program would inherit from our environment.
pub fn present_parameters() -> String {
    let set = VARIABLES.iter().find_map(std::env::var_os);
    set.map_or_else(String::new, |value| value.to_string_lossy().into_owned())
}

impl Subject {
    /// Makes the planned run.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn run(&self, next: &Next, present: &str, budget: Budget) -> io::Result<Ran> {
        let variables = match (next.setting, next.why) {
            (None, _) | (_, Why::Present | Why::Noise) => Vec::new(),
            (Some(setting), _) => {
                vec![(OsString::from(VARIABLES[0]), setting.ocamlrunparam(present).into())]
            }
        };
        let input = match &self.input {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        let ((output, program_output), (error, program_error)) = (io::pipe()?, io::pipe()?);
        let drains = [drain(output)?, drain(error)?];
        let measure = Measure {
            program: self.program.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            variables,
            streams: Streams {
                input: Some(input),
                output: Some(program_output.into()),
                error: Some(program_error.into()),
            },
            limit: Duration::try_from_secs_f64(budget.seconds).ok(),
        };
        let measured = measure.run()?;
        // A child of the program may still hold the pipes: what it writes later is not waited for.
        let [output, error] = drains.map(|drain| drain.until_end_or(Duration::from_secs(1)));
        Ok(ran(next.setting, measured, [output.0, error.0], error.1))
    }
}

/// A stream that is being read to its end on a thread.
struct Drain(std::sync::Arc<std::sync::Mutex<Drained>>, thread::JoinHandle<()>);

struct Drained {
    hash: DefaultHasher,
    last: VecDeque<u8>,
}

fn drain(mut stream: impl Read + Send + 'static) -> io::Result<Drain> {
    let drained = Drained { hash: DefaultHasher::new(), last: VecDeque::new() };
    let drained = std::sync::Arc::new(std::sync::Mutex::new(drained));
    let ours = drained.clone();
    let thread = thread::Builder::new().spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let (Some(bytes), Ok(mut drained)) = (buffer.get(..length), ours.lock()) else {
                return;
            };
            drained.hash.write(bytes);
            drained.last.extend(bytes.iter().rev().take(KEPT).rev());
            let excess = drained.last.len().saturating_sub(KEPT);
            drained.last.drain(..excess);
        }
    })?;
    Ok(Drain(drained, thread))
}

impl Drain {
    /// Waits for the end of the stream, but not longer than `patience`; returns the hash of its contents, and their end.
    fn until_end_or(self, patience: Duration) -> (u64, String) {
        let begin = std::time::Instant::now();
        while !self.1.is_finished() && begin.elapsed() < patience {
            thread::sleep(Duration::from_millis(1));
        }
        let Ok(mut drained) = self.0.lock() else { return (0, String::new()) };
        let last = String::from_utf8_lossy(drained.last.make_contiguous()).into_owned();
        (drained.hash.finish(), last)
    }
}

fn ran(asked: Option<Setting>, measured: Measured, output: [u64; 2], last_words: String) -> Ran {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let statistics = measured.statistics.as_ref();
    let counts = statistics.ok().and_then(|statistics| counts(statistics, measured.domains));
    let setting = statistics.ok().and_then(setting_of).or(asked).unwrap_or(UNKNOWN);
    let why_no_counters = match (&counts, statistics) {
        (Some(_), _) => None,
        (None, Err(why)) => Some(why.clone()),
        (None, Ok(statistics)) => Some(statistics.gaps.join("; ")),
    };
    let measurement = Measurement {
        asked,
        setting,
        wall: seconds(measured.wall),
        cpu: seconds(measured.cpu),
        rss: measured.peak_resident,
        status: measured.status.to_string(),
        output,
        is_exact: measured.is_exact,
        counts,
        pauses: measured.pauses.as_ref().map(pauses),
        memory: measured.memory.map(|memory| MemoryParts {
            heap_used: memory.heap_used,
            heap_free: memory.heap_free,
            minor_heaps: memory.minor_heaps,
            c: memory.c.saturating_add(memory.external.unwrap_or(0)),
            other: memory.stacks.saturating_add(memory.code).saturating_add(memory.shared),
        }),
        samples: measured.samples.iter().map(|sample| (sample.at, sample.resident)).collect(),
    };
    Ran {
        measurement,
        ocaml: measured.version.map(|version| version.to_string()).unwrap_or_default(),
        last_words,
        is_success: measured.status.success(),
        was_stopped: measured.was_stopped,
        why_no_counters,
    }
}

/// The collector's counters; none if an indispensable one is missing.
pub fn counts(statistics: &Statistics, domains: u64) -> Option<Counts> {
    let number = |name: &str| statistics.get(name).map(|number| number.whole());
    let facts = bactrian_analysis::gc_rules::GcFacts::from_named(|name| {
        statistics.get(name).map(|number| number.real())
    });
    let heap_words = number("heap_words")?;
    Some(Counts {
        minor_words: number("minor_words")?,
        promoted_words: number("promoted_words")?,
        major_words: number("major_words")?,
        minor_collections: number("minor_collections")?,
        major_collections: number("major_collections")?,
        forced_major_collections: number("forced_major_collections").unwrap_or(0),
        compactions: number("compactions").unwrap_or(0),
        heap_words,
        top_heap_words: number("top_heap_words").unwrap_or(heap_words),
        live_words: facts.live_words.map_or(heap_words, |words| words as u64),
        dependent_bytes: number("dependent_bytes").unwrap_or(0),
        domains,
    })
}

/// The runtime's parameters.
pub fn setting_of(statistics: &Statistics) -> Option<Setting> {
    let number = |name: &str| statistics.get(name).map(|number| number.whole());
    Some(Setting { s: number("minor_heap_size")?, o: number("space_overhead")?.max(1) })
}

fn pauses(measured: &page::Measured) -> Pauses {
    let times = &measured.pauses;
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    Pauses {
        count: times.count(),
        total: seconds(times.sum()),
        p99: seconds(times.percentile(99.0)),
        longest: seconds(times.max()),
    }
}
