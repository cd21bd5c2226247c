//! Memory in which the program counts and from which the server reads. Cells never move and are never freed.
//!
//! A program's hot loop may keep the address of a cell, even in another language. So killing an observer
//! frees nothing: a late count must not write into memory that was reused. Each cell has its own cache lines.

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
    /// Allocates a cell that lives forever.
    pub fn leak() -> &'static CountCell {
        Box::leak(Box::default())
    }

    /// The atomic itself, for code in other languages that counts in place.
    pub fn as_atomic(&'static self) -> &'static AtomicU64 {
        &self.count
    }

    /// Adds to the counter.
    #[inline]
    pub fn add(&self, count: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
    }

    /// The current bits.
    #[inline]
    pub fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Replaces the bits.
    #[inline]
    pub fn set(&self, bits: u64) {
        self.count.store(bits, Ordering::Relaxed);
    }

    /// Changes the cell as a floating-point number.
    pub fn update_float(&self, change: impl Fn(f64) -> f64) {
        let changed = |bits| Some(change(f64::from_bits(bits)).to_bits());
        // Cannot fail: `changed` always returns a value.
        let _ = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
    }
}

/// A stopwatch that several threads may run at once.
///
/// Its value is the time of all completed runs plus that of the open ones. The number of open runs and the
/// sum of their start times share one word, so that they are always consistent. A run that ends leaves this
/// word before it is added to the completed runs, and readers load in the opposite order: so no run is
/// counted twice. A run that was missed is counted at the next read, and the reader never reports less than
/// it did before.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct TimeCell {
    nanos: AtomicU64,
    runs: AtomicU64,
    /// The number of open runs in the upper bits, the sum of their start times in the lower.
    open: AtomicU64,
    /// The value reported last.
    shown: AtomicU64,
}

/// Bits for the sum of start times. It overflows after about a thousand years of threads' combined running
/// time.
const START_BITS: u32 = 48;
/// Log2 of the unit of start times: 2^20 ns, about a millisecond.
const START_UNIT_BITS: u32 = 20;

/// What an open run that began at `start` adds to `open`.
#[inline]
const fn open_run(start: u64) -> u64 {
    // Rounded up: an open run may seem shorter than it is, never longer.
    (1 << START_BITS) | ((start >> START_UNIT_BITS) + 1)
}

impl TimeCell {
    /// Allocates a cell that lives forever.
    pub fn leak() -> &'static TimeCell {
        Box::leak(Box::default())
    }

    /// Starts a run and returns its start time.
    #[inline]
    pub fn start(&self) -> u64 {
        let start = clock::now();
        self.open.fetch_add(open_run(start), Ordering::Relaxed);
        start
    }

    /// Ends the run that began at `start`.
    #[inline]
    pub fn stop(&self, start: u64) {
        let elapsed = clock::now().saturating_sub(start);
        self.open.fetch_sub(open_run(start), Ordering::Relaxed);
        self.nanos.fetch_add(elapsed, Ordering::Release);
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// The value to report. Only one thread at a time may call this.
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

/// A histogram to which any thread may add.
#[derive(Debug)]
pub struct HistogramCell {
    counts: Box<[AtomicU64; Histogram::BUCKETS]>,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl HistogramCell {
    /// Allocates a cell that lives forever.
    pub fn leak() -> &'static HistogramCell {
        Box::leak(Box::new(HistogramCell {
            counts: Box::new([const { AtomicU64::new(0) }; Histogram::BUCKETS]),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }))
    }

    /// Adds one number.
    #[inline]
    pub fn record(&self, number: u64) {
        self.counts[Histogram::bucket_of(number)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(number, Ordering::Relaxed);
        // A new extreme is rare, and loads are much cheaper than read-modify-writes.
        if number < self.min.load(Ordering::Relaxed) {
            self.min.fetch_min(number, Ordering::Relaxed);
        }
        if number > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(number, Ordering::Relaxed);
        }
    }

    /// The current histogram.
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

/// Operations: the number of open ones, and the durations of the completed ones.
#[derive(Debug)]
pub struct SpanCell {
    open: CountCell,
    durations: &'static HistogramCell,
}

impl SpanCell {
    /// Allocates a cell that lives forever.
    pub fn leak() -> &'static SpanCell {
        let durations = HistogramCell::leak();
        Box::leak(Box::new(SpanCell { open: CountCell::default(), durations }))
    }

    /// Begins an operation and returns its start time.
    #[inline]
    pub fn begin(&self) -> u64 {
        self.open.add(1);
        clock::now()
    }

    /// Ends the operation that began at `begin`.
    #[inline]
    pub fn end(&self, begin: u64) {
        self.durations.record(clock::now().saturating_sub(begin));
        self.open.add(u64::MAX);
    }

    pub(crate) fn read(&self) -> Value {
        // It is negative only if the caller ended an operation that it did not begin.
        let open = (self.open.get() as i64).max(0) as u64;
        Value::Span { open, durations: self.durations.read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn several_threads_run_one_stopwatch() {
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
    fn histogram_counts_all_threads() {
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
    fn span_is_open_until_it_ends() {
        let cell = SpanCell::leak();
        let begin = cell.begin();
        assert!(matches!(cell.read(), Value::Span { open: 1, .. }));
        cell.end(begin);
        let Value::Span { open: 0, durations } = cell.read() else { panic!() };
        assert_eq!(durations.count(), 1);
    }
}
