//! What is measured, and which existing tool does the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::measure::Run;

/// Where the programs are.
pub struct Tools {
    /// The folder of our own builds.
    pub ours: PathBuf,
    /// A folder of existing tools to compare with, built by the user: `bareread`, which reads all events with
    /// their stacks, and memtrace's `memtrace_hotspots` and `memtrace_flamegraph`.
    pub theirs: Option<PathBuf>,
}

pub struct Measurement {
    pub title: String,
    pub run: Run,
    /// Whether it is too slow for every round.
    pub only_once: bool,
    /// Whether the program maps the trace, so that its memory includes the file.
    pub maps_trace: bool,
    /// Titles of existing tools that answer the same question.
    pub rivals: &'static [&'static str],
}

const BARE_READ: &str = "bareread";
const HOTSPOTS: &str = "memtrace_hotspots";
const FOLDED: &str = "memtrace_flamegraph";

/// Commands of `bactrian`, to which the trace is appended.
const COMMANDS: &[(&str, &[&str])] = &[
    ("info", &[]),
    ("info --full", &[]),
    ("top", &[HOTSPOTS, FOLDED]),
    ("top --metric live", &[]),
    ("top --metric peak", &[]),
    ("tree", &[HOTSPOTS, FOLDED]),
    ("flame --output -", &[HOTSPOTS, FOLDED]),
    ("timeline", &[]),
    ("lifetimes", &[]),
    ("export --to folded", &[FOLDED]),
];

/// Existing tools, and whether they run only once.
const EXISTING: &[(&str, bool)] = &[(BARE_READ, false), (HOTSPOTS, false), (FOLDED, true)];

/// Everything to measure on one trace.
pub fn measurements(tools: &Tools, trace: &Path) -> Vec<Measurement> {
    let with_trace = |words: &str| {
        let words = words.split_whitespace().map(OsString::from);
        words.chain([trace.into()]).collect::<Vec<_>>()
    };
    let mut all = vec![Measurement {
        title: "bare read".to_owned(),
        run: Run::new(tools.ours.join("bactrian-bench"), with_trace("read")),
        only_once: false,
        maps_trace: true,
        rivals: &[BARE_READ],
    }];
    all.extend(COMMANDS.iter().map(|&(command, rivals)| Measurement {
        title: format!("bactrian {command}"),
        run: Run::new(tools.ours.join("bactrian"), with_trace(command)),
        only_once: false,
        maps_trace: true,
        rivals,
    }));
    let existing = tools.theirs.iter().flat_map(|folder| {
        EXISTING.iter().map(|&(name, only_once)| Measurement {
            title: name.to_owned(),
            run: Run::new(folder.join(name), with_trace("")),
            only_once,
            maps_trace: false,
            rivals: &[],
        })
    });
    all.extend(existing);
    all
}
