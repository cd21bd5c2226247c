//! The runtime's counters of a recorded program, read from outside while it runs on this machine. The program's memory is only
//! read; nothing is stopped or written.

use std::time::{Duration, Instant};

use bactrian_capture::live::{Numbers, Watch};
use bactrian_live::Histogram;

/// The size of a word in bytes.
const WORD: u64 = 8;
/// The counters are read at least this often, so that little is missed when a program ends.
const READ_EVERY: Duration = Duration::from_secs(10);
/// A program younger than this is counted from its start.
const YOUNG: Duration = Duration::from_secs(60);

/// What was counted in a period; None where it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuntimeCounts {
    /// Bytes of the major heap at the end.
    pub heap: Option<u64>,
    /// Bytes of it that are not free.
    pub live: Option<u64>,
    /// Bytes of the process in physical memory.
    pub rss: Option<u64>,
    /// The length of the period that the following fields count.
    pub time: Option<Duration>,
    /// Minor collections.
    pub minor_collections: Option<u64>,
    /// Major collections.
    pub major_collections: Option<u64>,
    /// Compactions.
    pub compactions: Option<u64>,
    /// Words that were allocated.
    pub allocated_words: Option<u64>,
    /// Words that were promoted.
    pub promoted_words: Option<u64>,
    /// Pauses for the collector.
    pub pauses: Option<PauseCounts>,
}

/// Pauses of a program for its collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounts {
    /// Their number.
    pub count: u64,
    /// Their sum.
    pub sum: Duration,
    /// Their median; None without pauses.
    pub median: Option<Duration>,
    /// The longest; None without pauses.
    pub longest: Option<Duration>,
}

/// Reads the counters of one run.
pub struct Meter {
    watch: Watch,
    /// The beginning of the next row's period.
    before: Option<Reading>,
    /// The last values read, if they were read after the last row.
    last: Option<Reading>,
    is_running: bool,
}

/// The numbers of one moment.
struct Reading {
    at: Instant,
    numbers: Numbers,
}

impl Meter {
    /// The meter of a process whose trace begins at `start`, in microseconds since 1970. None if it does not run on this machine.
    pub fn of(pid: u64, start: u64) -> Option<Meter> {
        let watch = Watch::counting(u32::try_from(pid).ok()?, start).ok()?;
        Some(Meter { watch, before: None, last: None, is_running: true })
    }

    /// Reads the counters if they are due; to be called every few seconds. Rings of events are read each time, because they are
    /// overwritten.
    pub fn look(&mut self) {
        let has_rings = |last: &Reading| last.numbers.pauses.is_ok();
        let is_due = |last: &Reading| has_rings(last) || last.at.elapsed() >= READ_EVERY;
        if self.last.as_ref().is_none_or(is_due) {
            self.read();
        }
    }

    fn read(&mut self) {
        let numbers = self.watch.poll().clone();
        // The last known values are kept.
        self.is_running = numbers.ended.is_none();
        if !self.is_running {
            return;
        }
        let reading = Reading { at: Instant::now(), numbers };
        if self.before.is_none() {
            self.before = Some(reading.start());
        }
        self.last = Some(reading);
    }

    /// Whether the program was running when it was last looked at.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// What was counted since the last call.
    pub fn take(&mut self) -> RuntimeCounts {
        self.read();
        let (Some(before), Some(last)) = (&self.before, self.last.take()) else {
            return RuntimeCounts::default();
        };
        let counts = RuntimeCounts::between(before, &last);
        self.before = Some(last);
        counts
    }
}

impl Reading {
    /// Where counting begins: at the start of a young program, so that all of its run is counted; otherwise now.
    fn start(&self) -> Reading {
        let age = Duration::from_nanos(self.numbers.age);
        let mut numbers = self.numbers.clone();
        let Some(at) = self.at.checked_sub(age).filter(|_| age < YOUNG) else {
            return Reading { at: self.at, numbers };
        };
        numbers.collector = Ok(Default::default());
        if let Ok(pauses) = &mut numbers.pauses {
            pauses.times = Histogram::default();
        }
        Reading { at, numbers }
    }
}

impl RuntimeCounts {
    fn between(before: &Reading, last: &Reading) -> RuntimeCounts {
        let Numbers { resident, collector, pauses, .. } = &last.numbers;
        let mut counts =
            RuntimeCounts { rss: resident.as_ref().ok().copied(), ..Default::default() };
        if let Ok(now) = collector {
            (counts.heap, counts.live) = (Some(now.heap), Some(now.live));
        }
        if let (Ok(now), Ok(then)) = (collector, &before.numbers.collector) {
            let since = |now: u64, then: u64| Some(now.saturating_sub(then));
            counts.time = Some(last.at.saturating_duration_since(before.at));
            counts.minor_collections = since(now.minor_collections, then.minor_collections);
            counts.major_collections = since(now.major_collections, then.major_collections);
            counts.compactions = since(now.compactions, then.compactions);
            counts.allocated_words = since(now.allocated / WORD, then.allocated / WORD);
            counts.promoted_words = since(now.promoted / WORD, then.promoted / WORD);
        }
        if let (Ok(now), Ok(then)) = (pauses, &before.numbers.pauses) {
            let times = now.times.since(&then.times);
            let known = |nanos: u64| (times.count() > 0).then(|| Duration::from_nanos(nanos));
            counts.pauses = Some(PauseCounts {
                count: times.count(),
                sum: Duration::from_nanos(times.sum()),
                median: known(times.percentile(50.0)),
                longest: known(times.max()),
            });
        }
        counts
    }
}
