//! Result files: the runs, kept as JSON. Everything else is derived from them each time, so that a better model can say more
//! about old runs.
//!
//! The format is described in `docs/formats/gc.md`.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::choice::Goal;
use crate::measurement::Measurement;
use crate::model::Cell;
use crate::plan::{Budget, Why};
use crate::setting::{MINOR_HEAP, OVERHEAD, Setting};

/// The value of the member `format`.
pub const FORMAT: &str = "bactrian gc";
/// The version of the format.
pub const FORMAT_VERSION: u32 = 1;
/// The maximum size of a result file.
pub const MOST_BYTES: u64 = 64 << 20;
/// The maximum number of runs of a program.
const MOST_RUNS: usize = 10_000;
/// The maximum time in seconds, and the maximum number of bytes and words. Sums of several maxima do not overflow.
const MOST_SECONDS: f64 = 1e9;
const MOST_COUNT: u64 = 1 << 56;

/// A result: one program, or two that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GcResult {
    /// [`FORMAT`].
    pub format: String,
    /// [`FORMAT_VERSION`].
    pub version: u32,
    /// What to optimise.
    pub goal: Goal,
    /// The budget for each program.
    pub budget: Budget,
    /// The value of `OCAMLRUNPARAM`.
    pub ocamlrunparam: String,
    /// The program, and the one it is compared with.
    pub subjects: Vec<Subject>,
}

/// A program with its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The version of OCaml, such as `5.3`; empty if unknown.
    pub ocaml: String,
    /// In the order in which they were made.
    pub runs: Vec<Run>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its purpose.
    pub why: Why,
    /// The model's prediction before the run.
    pub predicted: Option<Cell>,
    /// What was measured.
    pub measured: Measurement,
}

/// Why a file cannot be read as a result.
#[derive(Debug)]
pub enum GcResultError {
    /// It cannot be read or written.
    Io(io::Error),
    /// It is not JSON, or does not have the expected structure.
    Shape(serde_json::Error),
    /// It is JSON in another format.
    OtherFormat,
    /// A later version.
    OtherVersion(u32),
    /// A number or list that is impossible, with a description of it.
    Implausible(String),
}

impl fmt::Display for GcResultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GcResultError::Io(error) => write!(f, "{error}"),
            GcResultError::Shape(error) => write!(f, "not a result of `bactrian gc`: {error}"),
            GcResultError::OtherFormat => {
                f.write_str("not a result of `bactrian gc`: it has another format")
            }
            GcResultError::OtherVersion(version) => {
                write!(
                    f,
                    "the file has version {version} of the format, and this bactrian reads version {FORMAT_VERSION}: use a newer one"
                )
            }
            GcResultError::Implausible(what) => {
                write!(f, "no measurement can have this value: {what}")
            }
        }
    }
}

impl std::error::Error for GcResultError {}

impl From<io::Error> for GcResultError {
    fn from(error: io::Error) -> GcResultError {
        GcResultError::Io(error)
    }
}

impl Subject {
    /// All measurements, in order.
    pub fn measurements(&self) -> Vec<Measurement> {
        self.runs.iter().map(|run| run.measured.clone()).collect()
    }
}

impl GcResult {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a result.
    pub fn read(path: &Path) -> Result<GcResult, GcResultError> {
        let length = fs::metadata(path)?.len();
        if length > MOST_BYTES {
            return Err(GcResultError::Implausible(format!("it has {length} bytes")));
        }
        GcResult::parse(&fs::read(path)?)
    }

    /// Whether a file begins like a result.
    pub fn is_one(begin: &[u8]) -> bool {
        let text = String::from_utf8_lossy(begin);
        let text: String = text.chars().filter(|c| !c.is_whitespace()).take(40).collect();
        text.starts_with("{\"format\":\"bactriangc\"")
    }

    /// Parses the contents of a file.
    ///
    /// # Errors
    /// If they are not a result.
    pub fn parse(bytes: &[u8]) -> Result<GcResult, GcResultError> {
        /// The members that all versions have.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(GcResultError::Shape)?;
        if head.format != FORMAT {
            return Err(GcResultError::OtherFormat);
        }
        if head.version != FORMAT_VERSION {
            return Err(GcResultError::OtherVersion(head.version));
        }
        let result: GcResult = serde_json::from_slice(bytes).map_err(GcResultError::Shape)?;
        result.check()?;
        Ok(result)
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>, GcResultError> {
        self.check()?;
        let mut bytes = serde_json::to_vec(self).map_err(GcResultError::Shape)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn check(&self) -> Result<(), GcResultError> {
        let no = |what: String| Err(GcResultError::Implausible(what));
        if !(1..=2).contains(&self.subjects.len()) {
            return no(format!("{} programs", self.subjects.len()));
        }
        if !(0.0..=MOST_SECONDS).contains(&self.budget.seconds) {
            return no(format!("a budget of {} s", self.budget.seconds));
        }
        match self.goal {
            Goal::Slower(part) if !(0.0..=1e6).contains(&part) => {
                return no(format!("{part} times slower"));
            }
            Goal::Memory(bytes) if bytes > MOST_COUNT => {
                return no(format!("a limit of {bytes} bytes"));
            }
            _ => {}
        }
        for subject in &self.subjects {
            if subject.runs.is_empty() || subject.runs.len() > MOST_RUNS {
                return no(format!("{} runs", subject.runs.len()));
            }
            for (number, run) in (1..).zip(&subject.runs) {
                check_run(run)
                    .map_err(|what| GcResultError::Implausible(format!("run {number}: {what}")))?;
            }
        }
        Ok(())
    }
}

/// Checks that the numbers of a run are possible; otherwise says which is not.
fn check_run(run: &Run) -> Result<(), String> {
    let Measurement { asked, setting, wall, cpu, rss, counts, pauses, samples, memory, .. } =
        &run.measured;
    let predicted = run.predicted.map(|cell| cell.setting);
    for Setting { s, o } in [Some(*setting), *asked, predicted].into_iter().flatten() {
        if !MINOR_HEAP.contains(&s) {
            return Err(format!("a minor heap of {s} words"));
        }
        if !OVERHEAD.contains(&o) {
            return Err(format!("a space_overhead of {o}"));
        }
    }
    let mut seconds = vec![*wall, *cpu];
    if let Some(pauses) = pauses {
        seconds.extend([pauses.total, pauses.p99, pauses.longest]);
    }
    if let Some(cell) = &run.predicted {
        for interval in [cell.time, cell.rss] {
            let numbers = [interval.low, interval.value, interval.high];
            let is_sane = numbers.is_sorted() && numbers.iter().all(|n| (0.0..=1e18).contains(n));
            if !is_sane {
                return Err(format!("a predicted interval of {numbers:?}"));
            }
        }
    }
    if let Some(number) = seconds.iter().find(|number| !(0.0..=MOST_SECONDS).contains(*number)) {
        return Err(format!("a time of {number} s"));
    }
    let mut large = vec![*rss];
    if let Some(counts) = counts {
        large.extend([
            counts.minor_words,
            counts.promoted_words,
            counts.major_words,
            counts.minor_collections,
            counts.major_collections,
            counts.forced_major_collections,
            counts.compactions,
            counts.heap_words,
            counts.top_heap_words,
            counts.live_words,
            counts.dependent_bytes,
            counts.domains,
        ]);
    }
    if let Some(parts) = memory {
        large.extend([parts.heap_used, parts.heap_free, parts.minor_heaps, parts.c, parts.other]);
    }
    large.extend(samples.iter().flat_map(|&(at, bytes)| [at, bytes]));
    match large.iter().find(|number| **number > MOST_COUNT) {
        Some(number) => Err(format!("a count of {number}")),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::tests::Lawful;

    pub(crate) fn result(goal: Goal, runs: Vec<Measurement>) -> GcResult {
        let runs =
            runs.into_iter().map(|measured| Run { why: Why::Present, predicted: None, measured });
        let subject = Subject {
            command: vec!["program".to_owned()],
            ocaml: "5.3".to_owned(),
            runs: runs.collect(),
        };
        GcResult {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            goal,
            budget: Budget::default(),
            ocamlrunparam: "b".to_owned(),
            subjects: vec![subject],
        }
    }

    fn usual() -> GcResult {
        result(Goal::Balance, vec![Lawful::USUAL.run(262_144, 120), Lawful::USUAL.run(262_144, 40)])
    }

    #[test]
    fn a_written_result_is_read_back() {
        let result = usual();
        let bytes = result.to_bytes().expect("it was measured");
        assert!(GcResult::is_one(&bytes[..30]));
        assert_eq!(GcResult::parse(&bytes).expect("it is one"), result);
    }

    #[test]
    fn impossible_values_are_refused() {
        let check = |change: &dyn Fn(&mut GcResult), expected: &str| {
            let mut result = usual();
            change(&mut result);
            let bytes = serde_json::to_vec(&result).expect("it is plain data");
            let error = GcResult::parse(&bytes).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&|r| r.format = "other".to_owned(), "another format");
        check(&|r| r.version = 9, "version 9");
        check(&|r| r.subjects.clear(), "0 programs");
        check(&|r| r.subjects[0].runs.clear(), "0 runs");
        check(&|r| r.subjects[0].runs[1].measured.setting.o = 0, "run 2: a space_overhead of 0");
        check(&|r| r.subjects[0].runs[0].measured.setting.s = 1 << 40, "a minor heap of");
        check(&|r| r.subjects[0].runs[0].measured.wall = -1.0, "a time of -1 s");
        check(&|r| r.subjects[0].runs[0].measured.rss = u64::MAX, "a count of");
        check(&|r| r.goal = Goal::Slower(-0.5), "-0.5 times");
        for text in ["", "{}", "[1]", "{\"format\":\"bactrian gc\",\"version\":1}"] {
            assert!(GcResult::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
