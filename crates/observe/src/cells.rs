//! Memory that the program counts in and the server reads: its address never moves, and it is never given back.
//!
//! A program's hot loop may keep such an address, also from another language, so nothing here is freed when an observer
//! is killed: a late count must not land in someone else's memory. Each cell has cache lines of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use bactrian_live::{Histogram, Value};

use crate::clock;

/// A counter.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CountCell {
    count: AtomicU64,
}

impl CountCell {
    /// A new one, for ever.
    pub fn leak() -> &'static CountCell {
        Box::leak(Box::default())
    }

    /// The number itself, for whoever counts in another language.
    pub fn as_atomic(&'static self) -> &'static AtomicU64 {
        &self.count
    }

    /// Counts.
    #[inline]
    pub fn add(&self, count: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
    }

    /// What is there.
    #[inline]
    pub fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Puts something else there.
    #[inline]
    pub fn set(&self, bits: u64) {
        self.count.store(bits, Ordering::Relaxed);
    }

    /// As a floating point number, changed by `change`.
    pub fn update_float(&self, change: impl Fn(f64) -> f64) {
        let changed = |bits| Some(change(f64::from_bits(bits)).to_bits());
        // Never refused: `changed` always has an answer.
        let _ = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
    }
}

/// A stopwatch that several threads may start at once.
///
/// What is shown is the time of all runs that ended, and of those that go on. How many go on, and the sum of their
/// starts, share one number so that they always fit together. A run that ends leaves there before it is added to what
/// has ended, and readers look in the other order: a run is never seen twice. What was missed is seen the next time,
/// and the reader never shows less than it has shown.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct TimeCell {
    nanos: AtomicU64,
    runs: AtomicU64,
    /// How many go on, above the sum of their starts.
    open: AtomicU64,
    /// What was shown last.
    shown: AtomicU64,
}

/// Bits for the sum of starts: it is full after some thousand years that threads have run together.
const START_BITS: u32 = 48;
/// A start is kept in units of 2^20 ns, about a millisecond.
const START_UNIT_BITS: u32 = 20;

/// What a run that began at `start` adds to those that go on.
#[inline]
const fn open_run(start: u64) -> u64 {
    // Rounded up, so that a run seems shorter while it goes on, never longer.
    (1 << START_BITS) | ((start >> START_UNIT_BITS) + 1)
}

impl TimeCell {
    /// A new one, for ever.
    pub fn leak() -> &'static TimeCell {
        Box::leak(Box::default())
    }

    /// Starts a run and says when.
    #[inline]
    pub fn start(&self) -> u64 {
        let start = clock::now();
        self.open.fetch_add(open_run(start), Ordering::Relaxed);
        start
    }

    /// Ends a run that was started then.
    #[inline]
    pub fn stop(&self, start: u64) {
        let elapsed = clock::now().saturating_sub(start);
        self.open.fetch_sub(open_run(start), Ordering::Relaxed);
        self.nanos.fetch_add(elapsed, Ordering::Release);
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// What is to be shown. Only one thread at a time may ask.
    pub(crate) fn read(&self) -> Value {
        let ended = self.nanos.load(Ordering::Acquire);
        let open = self.open.load(Ordering::Relaxed);
        let runs = self.runs.load(Ordering::Relaxed);
        let (open, starts) = (open >> START_BITS, open & ((1 << START_BITS) - 1));
        let now = clock::now() >> START_UNIT_BITS;
        let of_open = now.saturating_mul(open).saturating_sub(starts) << START_UNIT_BITS;
        let nanos = ended.saturating_add(of_open).max(self.shown.load(Ordering::Relaxed));
        self.shown.store(nanos, Ordering::Relaxed);
        Value::Elapsed { nanos, runs, running: open > 0 }
    }
}

/// A distribution that any thread may add to.
#[derive(Debug)]
pub struct HistogramCell {
    counts: Box<[AtomicU64; Histogram::BUCKETS]>,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl HistogramCell {
    /// A new one, for ever.
    pub fn leak() -> &'static HistogramCell {
        Box::leak(Box::new(HistogramCell {
            counts: Box::new([const { AtomicU64::new(0) }; Histogram::BUCKETS]),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }))
    }

    /// Takes one number in.
    #[inline]
    pub fn record(&self, number: u64) {
        self.counts[Histogram::bucket_of(number)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(number, Ordering::Relaxed);
        // Both are rarely new, and reading is much cheaper than writing.
        if number < self.min.load(Ordering::Relaxed) {
            self.min.fetch_min(number, Ordering::Relaxed);
        }
        if number > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// What is there now.
    pub fn read(&self) -> Histogram {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        let min = match self.min.load(Ordering::Relaxed) {
            u64::MAX => 0,
            min => min,
        };
        let (sum, max) = (self.sum.load(Ordering::Relaxed), self.max.load(Ordering::Relaxed));
        Histogram::from_counts(counts, sum, min, max)
    }
}

/// Pieces of work: how many go on, and how long the others took.
#[derive(Debug)]
pub struct SpanCell {
    open: CountCell,
    durations: &'static HistogramCell,
}

impl SpanCell {
    /// A new one, for ever.
    pub fn leak() -> &'static SpanCell {
        let durations = HistogramCell::leak();
        Box::leak(Box::new(SpanCell { open: CountCell::default(), durations }))
    }

    /// One begins. Says when.
    #[inline]
    pub fn begin(&self) -> u64 {
        self.open.add(1);
        clock::now()
    }

    /// One ends that began then.
    #[inline]
    pub fn end(&self, begin: u64) {
        self.durations.record(clock::now().saturating_sub(begin));
        self.open.add(u64::MAX);
    }

    pub(crate) fn read(&self) -> Value {
        // An end without its beginning would be a fault of the caller.
        let open = (self.open.get() as i64).max(0) as u64;
        Value::Span { open, durations: self.durations.read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn threads_share_a_stopwatch() {
        let cell = TimeCell::leak();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        cell.stop(cell.start());
                    }
                });
            }
            let mut last = 0;
            for _ in 0..1000 {
                let Value::Elapsed { nanos, .. } = cell.read() else { unreachable!() };
                assert!(nanos >= last);
                last = nanos;
            }
        });
        let Value::Elapsed { nanos, runs, running } = cell.read() else { unreachable!() };
        assert_eq!((runs, running), (4000, false));
        assert!(nanos < 3_600_000_000_000, "{nanos}");
        let start = cell.start();
        assert!(matches!(cell.read(), Value::Elapsed { running: true, .. }));
        cell.stop(start);
    }

    #[test]
    fn a_distribution_is_that_of_all_threads() {
        let cell = HistogramCell::leak();
        assert_eq!(cell.read(), Histogram::default());
        thread::scope(|scope| {
            for from in 0..4 {
                scope.spawn(move || (0..250).for_each(|number| cell.record(from * 250 + number)));
            }
        });
        let read = cell.read();
        assert_eq!((read.count(), read.min(), read.max()), (1000, 0, 999));
        assert_eq!(read.sum(), 999 * 500);
    }

    #[test]
    fn a_span_is_open_until_it_ends() {
        let cell = SpanCell::leak();
        let begin = cell.begin();
        assert!(matches!(cell.read(), Value::Span { open: 1, .. }));
        cell.end(begin);
        let Value::Span { open: 0, durations } = cell.read() else { panic!() };
        assert_eq!(durations.count(), 1);
    }
}
