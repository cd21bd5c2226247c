//! One run of a program, measured to its end: time, memory, and the collector's exact counters.
//!
//! The counters are read from outside, from the program's memory, after the program has done all its work and before the kernel
//! frees the memory: the agent, which is loaded for this and for the pauses, makes the program wait at its end until they have been
//! read ([`Page::end`]). So they are as exact as those that `OCAMLRUNPARAM=v=0x400` prints, but nothing is written to the program's
//! standard error. A program that has confined itself (by a seccomp filter) does not wait. The kernel keeps the peak of resident
//! memory, which is read at the same moment. The wait is not counted, because the agent notes the time before it.
//!
//! The counters are also read every 50 ms. If a program ends without waiting (killed by a signal, or by a system call of its own),
//! the numbers are those of the last time, and [`Measured::is_exact`] is false.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_agent_abi::page::LONGEST_END;
use bactrian_agent_abi::{Children, Settings};
use bactrian_ocaml::Version;
use rustix::process::{Pid, Signal};

use crate::heap::statistics::Statistics;
use crate::launch::{Launch, Launched, Streams};
use crate::live::counters::Counters;
use crate::live::memory::{MemoryUse, MemoryWatch};
use crate::live::page::{self, Page, ProgramEnd};
use crate::live::process::{Process, Usage};

/// The interval at which we check whether the program has ended.
const TICK: Duration = Duration::from_millis(1);
/// The interval at which memory and counters are sampled; it grows in long runs.
const SAMPLE: Duration = Duration::from_millis(50);
/// The maximum number of samples: then every second one is dropped, and the interval doubles.
const MOST_SAMPLES: usize = 512;
/// The maximum time that the program waits at its end, in nanoseconds.
const END_WAITS: u64 = LONGEST_END * 1_000_000;
/// A program that was asked to end is killed after this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// A program to be run and measured.
#[derive(Debug)]
pub struct Measure {
    /// The file to run.
    pub program: PathBuf,
    /// Its name, the first element of its argument vector.
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// Variables that are set in its environment in addition.
    pub variables: Vec<(OsString, OsString)>,
    /// Its standard streams.
    pub streams: Streams,
    /// It is ended after this time.
    pub limit: Option<Duration>,
}

/// The measurements of a run.
#[derive(Debug)]
pub struct Measured {
    /// How it ended.
    pub status: ExitStatus,
    /// Whether we ended it, because it ran for too long.
    pub was_stopped: bool,
    /// Its version of OCaml, if known.
    pub version: Option<Version>,
    /// Nanoseconds from its start to its end.
    pub wall: u64,
    /// Processor time of all threads, in nanoseconds.
    pub cpu: u64,
    /// The peak of resident memory, in bytes.
    pub peak_resident: u64,
    /// The maximum number of domains in any sample; 1 in OCaml 4.
    pub domains: u64,
    /// The collector's counters and settings, or why they are unknown.
    pub statistics: Result<Statistics, String>,
    /// Whether the numbers are from the very end.
    pub is_exact: bool,
    /// Its collector's pauses, if they were measured.
    pub pauses: Option<page::Measured>,
    /// Memory over time.
    pub samples: Vec<Sample>,
    /// Memory by use, from the sample with the most resident memory among those that measured it.
    pub memory: Option<MemoryUse>,
}

/// A sample of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds since the start.
    pub at: u64,
    /// Resident bytes.
    pub resident: u64,
    /// Bytes of the major heap; none if they are not known.
    pub heap: Option<u64>,
}

impl Measure {
    /// Runs the program to its end.
    ///
    /// # Errors
    /// If it cannot be started or not be waited for.
    pub fn run(self) -> io::Result<Measured> {
        let page = Page::new(false)?;
        page.read_at_end()?;
        let settings = Settings {
            trace: None,
            children: Children::Ignore,
            page: page.path().map(|path| path.into_os_string().into_encoded_bytes()),
            ..Settings::new(Vec::new())
        };
        let Measure { program, name, arguments, variables, streams, limit } = self;
        let variables: Vec<(&OsStr, &OsStr)> =
            variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        let launch = Launch { program, name, arguments, settings };
        let (begin, clock) = (Instant::now(), monotonic());
        let launched = launch.spawn(streams, &variables)?;
        let process = Process::open(launched.pid());
        let pid = launched.pid();
        let mut under_way = UnderWay {
            begin,
            launched,
            page,
            process,
            counters: Err("its runtime was not found while it ran".to_owned()),
            watch: MemoryWatch::new(pid),
            statistics: None,
            samples: Samples::default(),
            last: None,
            peak: 0,
            domains: 0,
            memory: None,
            end: None,
            is_exact: false,
        };
        let (status, was_stopped) = under_way.follow(limit)?;
        Ok(under_way.measured(status, was_stopped, clock))
    }
}

/// A running program.
struct UnderWay {
    begin: Instant,
    launched: Launched,
    page: Page,
    process: io::Result<Process>,
    counters: Result<Counters, String>,
    watch: MemoryWatch,
    statistics: Option<Statistics>,
    samples: Samples,
    last: Option<Usage>,
    peak: u64,
    domains: u64,
    /// Memory by use, and the resident bytes at that moment.
    memory: Option<(u64, MemoryUse)>,
    end: Option<ProgramEnd>,
    /// Whether the counters were read at the end.
    is_exact: bool,
}

impl UnderWay {
    /// Samples the program until it has ended. Returns its exit status, and whether we ended it.
    fn follow(&mut self, limit: Option<Duration>) -> io::Result<(ExitStatus, bool)> {
        let mut next = self.begin;
        let mut stopped: Option<Instant> = None;
        loop {
            if self.end.is_none()
                && let Some(end) = self.page.end()
            {
                self.end = Some(end);
                let peak = self.peak_of_kernel();
                let was_read = self.look();
                self.peak = peak.unwrap_or(self.peak);
                // If that took too long, its memory may have been freed by then.
                let took = monotonic().saturating_sub(end.at);
                self.is_exact = was_read && peak.is_some() && took < END_WAITS;
                self.page.end_was_read()?;
            }
            if let Some(status) = self.launched.try_wait()? {
                return Ok((status, stopped.is_some()));
            }
            let now = Instant::now();
            if self.end.is_none() && now >= next {
                self.look();
                next = now + self.samples.period;
            }
            match stopped {
                None if limit.is_some_and(|limit| self.begin.elapsed() >= limit) => {
                    stopped = Some(now);
                    self.signal(Signal::TERM);
                }
                Some(since) if since.elapsed() >= PATIENCE => self.signal(Signal::KILL),
                _ => {}
            }
            thread::sleep(TICK);
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.launched.pid()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It has not been waited for, so its process id is not reused; it may have ended.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Takes a sample. Returns whether the counters were read.
    fn look(&mut self) -> bool {
        let usage = self.process.as_ref().ok().and_then(Process::usage);
        let Some(usage) = usage else { return false };
        if self.counters.is_err() {
            self.counters = Counters::find(self.launched.pid());
        }
        let resident = usage.resident.clone().unwrap_or(0);
        let (mut heap, mut was_read) = (None, false);
        if let Ok(counters) = &mut self.counters {
            if let Ok(statistics) = counters.statistics() {
                was_read = statistics.get("heap_words").is_some();
                if was_read {
                    self.statistics = Some(statistics);
                }
            }
            if let Ok(collector) = counters.read() {
                heap = Some(collector.heap);
                self.domains = self.domains.max(collector.domains);
                if let Some(Ok(memory)) = self.watch.poll(counters, &collector, None)
                    && self.memory.is_none_or(|(most, _)| resident >= most)
                {
                    self.memory = Some((resident, memory));
                }
            }
        }
        self.peak = self.peak.max(resident);
        let at = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.samples.add(Sample { at, resident, heap });
        self.last = Some(usage);
        was_read
    }

    /// The kernel's own peak of this process.
    fn peak_of_kernel(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.launched.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kilobytes.checked_mul(1024)
    }

    fn measured(self, status: ExitStatus, was_stopped: bool, clock: u64) -> Measured {
        let elapsed = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let last_cpu = self.last.as_ref().map_or(0, |usage| usage.cpu);
        let (wall, cpu) = match self.end {
            Some(end) => (end.at.saturating_sub(clock), end.cpu),
            None => (elapsed, last_cpu),
        };
        let version = self.counters.as_ref().ok().map(Counters::version);
        let why = self.counters.err();
        let missing = || why.unwrap_or_else(|| "its counters could not be read".to_owned());
        Measured {
            status,
            was_stopped,
            version,
            wall,
            cpu,
            peak_resident: self.peak,
            domains: self.domains.max(1),
            is_exact: self.is_exact,
            statistics: self.statistics.ok_or_else(missing),
            pauses: self.page.measured(),
            samples: self.samples.list,
            memory: self.memory.map(|(_, memory)| memory),
        }
    }
}

/// Samples of a run of any length, in bounded memory.
struct Samples {
    period: Duration,
    list: Vec<Sample>,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { period: SAMPLE, list: Vec::new() }
    }
}

impl Samples {
    fn add(&mut self, sample: Sample) {
        self.list.push(sample);
        if self.list.len() >= MOST_SAMPLES {
            let mut number = 0;
            self.list.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.period = self.period.saturating_mul(2);
        }
    }
}

/// The clock by which the agent notes the end, in nanoseconds.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_long_runs_stay_few() {
        let mut samples = Samples::default();
        for at in 0..100_000 {
            samples.add(Sample { at, resident: at, heap: None });
        }
        assert!(samples.list.len() < MOST_SAMPLES);
        assert!(samples.period > SAMPLE * 64);
        assert!(samples.list.is_sorted_by_key(|sample| sample.at));
    }
}
