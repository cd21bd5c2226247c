//! Taking a snapshot, from memory to file.

use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_snapshot::{Columns, GROUP_BLOCKS, Info, SnapshotError, Writer};

use super::account::Accountant;
use super::block::Closures;
use super::encode::{Encoder, opaque_words};
use super::equal::{Equals, Search};
use super::heap_copy::HeapCopy;
use super::image::MemoryImage;
use super::mark::{Count, Marker};
use super::process_memory::Observed;
use super::reach::reach;
use super::roots::{self, Listing};
use super::spaces;
use super::tables::TableMaker;
use super::target::Target;
use crate::memory::{Cached, Memory};

/// All user space addresses.
const EVERYTHING: Range<u64> = 0..1 << 47;

/// The approximate fraction of the work that is done when the heap is copied, marked and compared.
const COPIED: f64 = 0.1;
const MARKED: f64 = 0.4;
const COMPARED: f64 = 0.6;

/// The program of which a snapshot is taken.
pub struct Subject<'a> {
    /// The program's memory, which does not change.
    pub memory: &'a dyn Memory,
    /// What is known about the program.
    pub target: &'a Target,
    /// Roots as listed by the runtime, if it was asked.
    pub listing: Option<&'a Listing>,
    /// The process's directory in `/proc`, if there is a process.
    pub process: Option<PathBuf>,
    /// The trace that is being recorded at the same time.
    pub trace: Option<PathBuf>,
    /// Which recording of the process that is, as in the agent's tokens; if None, the newest that has tokens.
    pub recording: Option<u64>,
    /// What could not be read before the walk began, and why.
    pub gaps: Vec<String>,
    /// Holds the number of a signal that asks us to stop; 0 for none.
    pub asked: Option<&'a AtomicUsize>,
    /// Called repeatedly with the fraction of the work that is done, from 0 to 1.
    pub progress: &'a dyn Fn(f64),
    /// The snapshot's information about itself.
    pub info: Info,
}

impl Subject<'_> {
    /// The signal that has asked us to stop, if any.
    pub fn signal(&self) -> Option<i32> {
        let number = self.asked?.load(Ordering::Relaxed);
        i32::try_from(number).ok().filter(|number| *number != 0)
    }

    fn heed_the_user(&self) -> Result<(), SnapshotError> {
        match self.signal() {
            Some(_) => Err(SnapshotError::Misuse("a signal requested to stop")),
            None => Ok(()),
        }
    }
}

/// What a snapshot should contain.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes of each string to keep; None for none.
    pub strings: Option<u32>,
    /// Whether to keep integers and other immediate values.
    pub immediates: bool,
    /// Whether to record which strings, floats and the like are equal.
    pub equals: bool,
    /// How many processors to use.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Options { strings: None, immediates: true, equals: true, threads }
    }
}

/// A summary of what was written.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Live blocks in minor heaps.
    pub minor: Count,
    /// Live blocks in the major heap.
    pub major: Count,
    /// Live blocks in static data.
    pub fixed: Count,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// What could not be read, and why.
    pub gaps: Vec<String>,
    /// How long each phase took.
    pub times: Times,
}

impl Summary {
    /// The total number of blocks.
    pub fn blocks(&self) -> u64 {
        self.minor.blocks + self.major.blocks + self.fixed.blocks
    }

    /// Their words, headers included.
    pub fn words(&self) -> u64 {
        self.minor.words + self.major.words + self.fixed.words
    }
}

/// How long each phase of a walk took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Finding the roots.
    pub roots: Duration,
    /// Copying the heap, and measuring its use.
    pub copy: Duration,
    /// Marking what is alive.
    pub mark: Duration,
    /// Resolving names and numbers.
    pub account: Duration,
    /// Finding blocks with equal contents.
    pub compare: Duration,
    /// Encoding and writing.
    pub write: Duration,
}

/// Takes a snapshot. `release` is called with address ranges that are no longer needed: early with most of
/// the heap, later with everything.
///
/// # Errors
/// If there are too many blocks, `out` cannot be written to, or a signal has asked us to stop.
pub fn walk<W: Write>(
    subject: &Subject<'_>,
    options: &Options,
    mut release: impl FnMut(&[Range<u64>]),
    out: W,
) -> Result<(W, Summary), SnapshotError> {
    let Subject { memory, target, listing, .. } = *subject;
    let mut clock = Clock(Instant::now());
    let mut times = Times::default();

    // Before anything is read, because reading makes pages resident.
    let observed = subject.process.as_deref().map(Observed::take);
    let small = Cached::new(memory);
    let roots = roots::find(target, &small, listing);
    times.roots = clock.lap();

    let image = MemoryImage::new(memory, roots.spaces.clone());
    let held = HeapCopy { image: &image, rest: &small };
    // This reads the entire heap, and so copies it. As long as the frozen copy keeps its own, the program has
    // to copy every page that it writes to.
    let heap = spaces::measure(target, &held, &roots.domains);
    release(&image.copied());
    times.copy = clock.lap();
    (subject.progress)(COPIED);

    // Threads share the number, not the subject.
    let asked = subject.asked;
    let is_to_stop = &|| asked.is_some_and(|signal| signal.load(Ordering::Relaxed) != 0);
    let is_ocaml_5 = target.version.major >= 5;
    let closures = Closures::of(target.version, target.code);
    let marker = Marker {
        image: &image,
        closures,
        is_ocaml_5,
        threads: options.threads,
        is_to_stop,
        opaque_words: opaque_words(options.strings),
    };
    let mut reached = reach(&marker, target, &held, &roots);
    subject.heed_the_user()?;
    times.mark = clock.lap();
    (subject.progress)(MARKED);

    let blocks = image.number();
    let blocks = u32::try_from(blocks)
        .map_err(|_| SnapshotError::Misuse("more blocks than a snapshot can have"))?;
    let mut accountant = Accountant {
        subject,
        memory: &held,
        roots: &roots,
        heap,
        maker: TableMaker::new(&image, target),
        observed,
    };
    let references = accountant.account(&mut reached);
    let tables = accountant.maker.tables;
    times.account = clock.lap();

    let equals = match options.equals {
        true => Search::new(&image, &references, options.threads, is_to_stop)
            .find(blocks, reached.met.opaque),
        false => Equals::default(),
    };
    release(&[EVERYTHING]);
    subject.heed_the_user()?;
    times.compare = clock.lap();
    (subject.progress)(COMPARED);

    let columns = Columns {
        immediates: options.immediates,
        strings: options.strings,
        equals: options.equals,
        continuations: is_ocaml_5,
    };
    let mut writer = Writer::new(Counted { out, bytes: 0 }, columns, blocks, &subject.info)?;
    let encoder = Encoder {
        image: &image,
        closures,
        columns,
        references: &references,
        equals: &equals,
        threads: options.threads,
    };
    let mut groups = 0.0;
    encoder.encode(blocks, |group| {
        subject.heed_the_user()?;
        groups += 1.0;
        let written = groups * f64::from(GROUP_BLOCKS) / f64::from(blocks);
        (subject.progress)(COMPARED + (1.0 - COMPARED) * written.min(1.0));
        writer.group(group)
    })?;
    writer.tables(&tables)?;
    let met = &reached.met;
    let mut summary = Summary {
        minor: met.minor,
        major: met.major,
        fixed: met.fixed,
        gaps: tables.gaps,
        ..Summary::default()
    };
    let Counted { out, bytes } = writer.finish()?;
    summary.bytes = bytes;
    times.write = clock.lap();
    summary.times = times;
    Ok((out, summary))
}

struct Clock(Instant);

impl Clock {
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}

/// Counts the bytes written.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
