//! Snapshots in addition to or instead of a trace: options of `record` and `agent`, and the summary at the
//! end.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Context;
use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_capture::ledger::{Account, Ledger, Written};
use bactrian_capture::{Busy, DEFAULT_MARGIN, Limit, Limits, MAX_COPIES, Snapshots, When};
use bactrian_trace::Micros;

use super::signal_arg::Signal;
use super::trace_files;
use crate::failure::Failure;
use crate::open;
use crate::output::{Console, shortened, show_number};

/// The extension of snapshots.
const EXTENSION: &str = "heap";
/// The default signal that requests a snapshot: SIGUSR2.
const DEFAULT_SIGNAL: u8 = 12;
/// The most snapshots listed one by one.
const TOLD: usize = 6;
/// Why a snapshot was not reported: only the user who started `record` can write to the ledger.
const CANNOT_TELL: &str = "the program has changed its user, and can no longer report snapshots";

/// Of each argument, because a heading of the structure would go on for the arguments that follow it.
const HEADING: &str = "Heap snapshots";

/// When snapshots are taken, and what they may cost.
#[derive(Clone, clap::Args, Debug)]
pub struct SnapshotArgs {
    /// When to take snapshots, separated by commas: major[=N] (every Nth major collection), every=SECONDS,
    /// signal[=NAME] (USR2), exit, peak[=PERCENT] (live memory exceeds its previous maximum by this much, 10),
    /// call (at no other moments than those at which the program calls Bactrian.snapshot, which works with all of these)
    #[arg(long, help_heading = HEADING, value_name = "WHEN[,WHEN..]", value_parser = moments)]
    pub snapshots: Option<When>,
    /// Take snapshots only: no sampling, no trace
    #[arg(long, help_heading = HEADING, requires = "snapshots", conflicts_with_all =
        ["rate", "exact", "depth", "signal", "after", "duration"])]
    pub no_trace: bool,
    /// Keep the first N bytes of each string in snapshots; by default, no contents are kept
    #[arg(long, help_heading = HEADING, value_name = "N", requires = "snapshots", default_value_t = 0)]
    pub strings: u32,
    /// Skip snapshots, and count them, if they would exceed a limit: copies=N of the program in memory at a time (1;
    /// one more for a signal or call, two at exit), memory=SIZE for the copies, disk=SIZE for all files
    #[arg(long, help_heading = HEADING, value_name = "LIMIT[,LIMIT..]", requires = "snapshots", value_parser = limits)]
    pub snapshot_limits: Option<Limits>,
    /// If the maximum number of copies exists: the program waits, ten seconds at most, or the snapshot is skipped
    /// [default: wait for a call, a signal and exit, skip otherwise]
    #[arg(long, help_heading = HEADING, value_name = "wait|skip", requires = "snapshots", value_parser = busy)]
    pub snapshots_when_busy: Option<Busy>,
}

impl SnapshotArgs {
    /// The same arguments without snapshots.
    pub fn without(&self) -> SnapshotArgs {
        SnapshotArgs { snapshots: None, ..self.clone() }
    }

    /// The same arguments with a snapshot at the exit.
    pub fn with_exit(&self) -> SnapshotArgs {
        let when = When { exit: true, ..self.snapshots.unwrap_or_default() };
        SnapshotArgs { snapshots: Some(when), ..self.clone() }
    }

    /// The settings for the agent: file names start with `prefix`, and outcomes are written to the ledger, if
    /// there is one.
    pub fn settings(
        &self,
        prefix: &Path,
        ledger: Option<&Path>,
    ) -> Result<Option<Snapshots>, Failure> {
        let Some(when) = self.snapshots else { return Ok(None) };
        let walker = std::env::current_exe().context("cannot find this program's own file")?;
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        Ok(Some(Snapshots {
            when,
            heap: bytes(prefix),
            walker: walker.into_os_string().into_vec(),
            ledger: ledger.map(bytes),
            limits: Limits {
                busy: self.snapshots_when_busy,
                ..self.snapshot_limits.unwrap_or_default()
            },
            strings: self.strings,
            filters: 0,
        }))
    }

    /// Rejects one signal for two purposes.
    pub fn check(&self, of_trace: Option<Signal>) -> Result<(), Failure> {
        let of_snapshots = self.snapshots.and_then(|when| when.signal);
        match of_trace.filter(|Signal(number)| Some(*number) == of_snapshots) {
            Some(_) => {
                let what = "--signal and --snapshots signal=.. need different signals";
                Err(Failure::Usage(what.to_owned()))
            }
            None => Ok(()),
        }
    }
}

/// The stem of snapshot names for a run with this output.
pub fn prefix(output: &Path) -> PathBuf {
    match output.extension().and_then(OsStr::to_str) {
        Some("ctf" | EXTENSION) => output.with_extension(""),
        _ => output.to_owned(),
    }
}

/// The existing snapshots with this stem: `PREFIX.NUMBER.heap`.
pub fn existing(prefix: &Path) -> Vec<PathBuf> {
    let Some(stem) = prefix.file_name() else { return Vec::new() };
    let folder = prefix.parent().filter(|folder| *folder != Path::new(""));
    let entries = folder.unwrap_or(Path::new(".")).read_dir().into_iter().flatten().flatten();
    let is_numbered = |name: &OsStr| {
        let rest = name.as_bytes().strip_prefix(stem.as_bytes());
        let number = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".heap"));
        number.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    };
    let paths = entries.filter(|entry| is_numbered(&entry.file_name())).map(|entry| entry.path());
    paths.filter(|path| path.symlink_metadata().is_ok_and(|data| data.is_file())).collect()
}

/// Removes old snapshots with this stem, and checks that new ones can be created.
pub fn replace(prefix: &Path) -> Result<(), Failure> {
    for old in existing(prefix) {
        fs::remove_file(&old).with_context(|| format!("cannot replace {}", old.display()))?;
    }
    let mut first = prefix.as_os_str().to_owned();
    first.push(".1.heap");
    trace_files::replace(Path::new(&first))
}

/// Waits until all snapshots are written. An interrupt ends the wait, as it ends the program.
pub fn wait(ledger: &Ledger, quiet: bool, console: &mut Console) -> Account {
    let is_interrupted = bactrian_capture::launch::interrupts();
    let bar = open::progress(!quiet);
    let start = Instant::now();
    let mut next_word = FIRST_WORD;
    let account = ledger.wait(|missing, share| {
        if start.elapsed() >= next_word && !quiet {
            next_word += BETWEEN_WORDS;
            let (what, percent) = (show_number(missing as u64, "snapshot"), share * 100.0);
            // A failure to print does not affect the snapshots.
            let _ = console.note(&format!(
                "the program has ended; {what} still being written, {percent:.0} % done"
            ));
        }
        if start.elapsed() >= FIRST_WORD {
            bar(share.min(0.99));
        }
        !is_interrupted()
    });
    bar(1.0);
    account
}

/// When the first message about pending snapshots is printed, and the interval between messages.
const FIRST_WORD: Duration = Duration::from_secs(1);
const BETWEEN_WORDS: Duration = Duration::from_secs(10);

/// Prints what was written, skipped and lost in a run with snapshots of this stem at these moments.
pub fn tell(
    account: &Account,
    prefix: &Path,
    when: &When,
    status: ExitStatus,
    console: &mut Console,
) -> io::Result<()> {
    let mut written = account.written.clone();
    // By number, with which their names end: a later snapshot may complete earlier.
    written.sort_by_key(|one| (one.path.as_os_str().len(), one.path.clone()));
    for one in written.iter().take(TOLD) {
        tell_of(one, console)?;
    }
    if let Some(more) = written.len().checked_sub(TOLD).filter(|more| *more > 0) {
        let last = written.last().map(|one| shortened(&one.path).display().to_string());
        let more = show_number(more as u64, "snapshot");
        console.note(&format!("and {more} more, up to {}", last.unwrap_or_default()))?;
    }
    if let Some(pause) = account.longest_pause {
        let pause = show_time(Micros(u64::try_from(pause.as_micros()).unwrap_or(u64::MAX)));
        console.note(&format!("the program was paused for at most {pause}"))?;
    }
    for (limit, count) in &account.skipped {
        let count = show_number(*count, "snapshot");
        console.warn(&format!("{count} skipped: {}", reason(*limit)))?;
    }
    for (number, why) in account.failed.iter().take(TOLD) {
        console.warn(&format!("{} failed: {why}", named(*number)))?;
    }
    if let Some(more) = account.failed.len().checked_sub(TOLD).filter(|more| *more > 0) {
        console.warn(&format!("{} more failed", show_number(more as u64, "snapshot")))?;
    }
    let is_told = |path: &Path| written.iter().any(|one| one.path == path);
    let unheard = existing(prefix).iter().filter(|path| !is_told(path)).count() as u64;
    match written.last() {
        _ if unheard > 0 => {
            let (files, prefix) = (show_number(unheard, "file"), shortened(prefix).display());
            console.warn(&format!(
                "the program did not report {files} {prefix}.N.heap, and others may have \
                 failed: {CANNOT_TELL}"
            ))?;
        }
        // The last one shows what stays in memory.
        Some(last) => {
            let path = shortened(&last.path).display().to_string();
            console.note(&format!("look at it: bactrian heap suspects {path}"))?;
        }
        None if account.failed.is_empty() && account.skipped.is_empty() => {
            let why = match status.signal() {
                Some(signal) if when.exit => format!(
                    "the program was killed by signal {signal}, so there is none at its end"
                ),
                _ => format!("none of the moments came, or {CANNOT_TELL}"),
            };
            console.warn(&format!("no snapshot was reported: {why}"))?;
        }
        None => {}
    }
    let gaps: u64 = written.iter().map(|one| one.gaps).sum();
    if let Some(first) = written.iter().find(|one| one.gaps > 0) {
        let (gaps, path) = (show_number(gaps, "part"), shortened(&first.path).display());
        console.warn(&format!(
            "{gaps} of the heap could not be read; bactrian info {path} says which"
        ))?;
    }
    Ok(())
}

fn tell_of(one: &Written, console: &mut Console) -> io::Result<()> {
    let blocks = show_number(one.blocks, "block");
    let heap = show_bytes(one.words as f64 * 8.0);
    let size = one.path.metadata().map_or(0, |metadata| metadata.len());
    let path = shortened(&one.path).display();
    console.note(&format!("{path}: {blocks} of {heap}, in {}", show_bytes(size as f64)))
}

/// The name of a snapshot from its key in the ledger, which has a child's process id in the upper half.
fn named(key: u64) -> String {
    match (key >> 32, key & u64::from(u32::MAX)) {
        (0, number) => format!("snapshot {number}"),
        (process, number) => format!("snapshot {number} of process {process}"),
    }
}

/// Why snapshots were skipped, and what to do about it.
fn reason(limit: Limit) -> &'static str {
    match limit {
        Limit::Copies => {
            "the maximum number of copies (--snapshot-limits copies=N) was still being read"
        }
        Limit::Busy => {
            "the machine was too busy to verify within 0.1 s that the program may be copied; \
             --snapshots-when-busy wait allows more time"
        }
        Limit::Memory => "another copy of the program would exceed --snapshot-limits memory=SIZE",
        Limit::NoMemory => "there was not enough free memory for another copy of the program",
        Limit::Disk => "the files have reached --snapshot-limits disk=SIZE",
        Limit::NoDisk => "the disk is full, or nearly full: there was no room for another file",
        Limit::Process => "the system refused to create another process",
        Limit::Adopted => {
            "the process is a child of a subreaper, which would find copies among its children"
        }
        Limit::Filtered => {
            "the program has a seccomp filter, which might kill it for copying itself"
        }
        Limit::Kernel => {
            "the kernel is older than Linux 5.9, or a seccomp filter refuses close_range"
        }
    }
}

fn busy(text: &str) -> Result<Busy, String> {
    Busy::parse(text.as_bytes()).ok_or_else(|| "must be wait or skip".to_owned())
}

/// Parses moments, with signal names and units of time.
fn moments(text: &str) -> Result<When, String> {
    let mut when = When::default();
    for item in text.split(',') {
        let (name, value) = match item.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (item, None),
        };
        match (name, value) {
            ("major", None) => when.major = Some(1),
            ("major", Some(value)) => when.major = Some(at_least_one(value)?),
            ("every", Some(value)) => when.every = Some(micros(value)?),
            ("every", None) => return Err("every needs seconds, such as every=10".to_owned()),
            ("signal", None) => when.signal = Some(DEFAULT_SIGNAL),
            ("signal", Some(value)) => when.signal = Some(Signal::from_str(value)?.0),
            ("exit", None) => when.exit = true,
            ("peak", None) => when.peak = Some(DEFAULT_MARGIN),
            ("peak", Some(value)) => when.peak = Some(percent(value)?),
            ("call", None) => {}
            _ => {
                let known = "major[=N], every=SECONDS, signal[=NAME], exit, peak[=PERCENT], call";
                return Err(format!("{item:?} is not one of {known}"));
            }
        }
    }
    Ok(when)
}

fn at_least_one(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text} is not a number of collections"))
}

fn percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let number = number.filter(|number| (1..=10_000).contains(number));
    number.ok_or_else(|| format!("{text} is not a number of percent from 1 to 10000"))
}

/// Parses `10`, `10s`, `0.5s`, `200ms`, `5m` or `1h` to microseconds.
fn micros(text: &str) -> Result<u64, String> {
    let units = [("ms", 1e3), ("s", 1e6), ("m", 60e6), ("h", 3600e6)];
    let unit = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = unit.unwrap_or((text, 1e6));
    let micros = number.parse::<f64>().ok().map(|number| number * size);
    let micros = micros.filter(|micros| (1.0..=1e15).contains(micros));
    let micros = micros.ok_or_else(|| format!("{text} is not a time such as 10s"));
    micros.map(|micros| micros as u64)
}

fn limits(text: &str) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for item in text.split(',') {
        match item.split_once('=') {
            Some(("copies", value)) => {
                let copies = value.parse().ok().filter(|n| (1..=MAX_COPIES).contains(n));
                let expected = || format!("copies={value}: from 1 to {MAX_COPIES}");
                limits.copies = copies.ok_or_else(expected)?;
            }
            Some(("memory", value)) => limits.memory = Some(bytes(value)?),
            Some(("disk", value)) => limits.disk = Some(bytes(value)?),
            _ => return Err(format!("{item:?} is not copies=N, memory=SIZE or disk=SIZE")),
        }
    }
    Ok(limits)
}

/// Parses `1000`, `10k`, `500M`, `2G`, `1T`, with an optional B.
fn bytes(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let units = [(['k', 'K'], 1e3), (['m', 'M'], 1e6), (['g', 'G'], 1e9), (['t', 'T'], 1e12)];
    let unit = units.iter().find_map(|(unit, size)| Some((number.strip_suffix(*unit)?, *size)));
    let (number, size) = unit.unwrap_or((number, 1.0));
    let bytes = number.parse::<f64>().ok().map(|number| number * size);
    let bytes = bytes.filter(|bytes| (0.0..=1e18).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| format!("{text} is not a size such as 500M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_parsed() {
        let all = moments("major=3,every=10s,signal=USR1,exit,peak=25%,call").expect("moments");
        let expected = When {
            major: Some(3),
            every: Some(10_000_000),
            signal: Some(10),
            exit: true,
            peak: Some(25),
        };
        assert_eq!(all, expected);
        assert_eq!(moments("signal").expect("a moment").signal, Some(12));
        assert_eq!(moments("every=200ms").expect("a moment").every, Some(200_000));
        assert_eq!(moments("every=1.5").expect("a moment").every, Some(1_500_000));
        assert_eq!(moments("every=2m").expect("a moment").every, Some(120_000_000));
        for bad in
            ["", "x", "major=0", "every", "every=0", "every=-1s", "peak=0", "exit=1", "signal=X"]
        {
            assert!(moments(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_have_units() {
        let limits = limits("copies=3,memory=1.5GB,disk=200k").expect("limits");
        let (memory, disk) = (Some(1_500_000_000), Some(200_000));
        let expected = Limits { copies: 3, memory, disk, busy: None };
        assert_eq!(limits, expected);
        for bad in ["", "copies", "copies=0", "copies=1000", "memory=much", "disk=-1", "swap=1"] {
            assert!(super::limits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn snapshots_are_named_after_the_trace() {
        for (output, expected) in
            [("run.ctf", "run"), ("/a/x.heap", "/a/x"), ("plain", "plain"), ("v1.2", "v1.2")]
        {
            assert_eq!(prefix(Path::new(output)), Path::new(expected));
        }
    }

    #[test]
    fn only_numbered_files_belong_to_a_prefix() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["x.1.heap", "x.23.heap", "x.heap", "x.1.2.heap", "x.a.heap", "y.1.heap"];
        for name in names {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let mut found = existing(&folder.path().join("x"));
        found.sort();
        assert_eq!(found, ["x.1.heap", "x.23.heap"].map(|name| folder.path().join(name)));
    }
}
