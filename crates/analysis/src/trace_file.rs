//! An open trace: its bytes, its index, and a callback for progress.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bactrian_trace::{Index, Input, Micros, Parts, Reader, Stacks, TraceInfo};

use crate::estimate::Scale;

/// Called occasionally with the fraction of the trace that was read, from 0 to 1.
pub type Progress = Box<dyn Fn(f64) + Send + Sync>;

/// A trace that is open for questions.
pub struct TraceFile {
    input: Input,
    index: Index,
    progress: Option<Progress>,
    /// The fraction that was read, as bits.
    read: AtomicU64,
}

impl TraceFile {
    /// Opens the trace at `path`; `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read or is not a trace.
    pub fn open(path: &Path) -> bactrian_trace::Result<TraceFile> {
        TraceFile::new(Input::open(path)?)
    }

    /// Opens a trace in memory.
    ///
    /// # Errors
    /// If it is not a trace.
    pub fn new(input: Input) -> bactrian_trace::Result<TraceFile> {
        let index = Index::skim(&input)?;
        Ok(TraceFile { input, index, progress: None, read: AtomicU64::new(0) })
    }

    /// Calls `progress` occasionally during long reads.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> TraceFile {
        self.progress = Some(progress);
        self
    }

    /// The packet headers.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.input
    }

    /// Facts about the run.
    pub fn info(&self) -> &TraceInfo {
        self.index.info()
    }

    /// A reader at the start.
    pub fn reader(&self, stacks: Stacks) -> Reader<'_> {
        Reader::new(&self.input, &self.index, stacks)
    }

    /// The trace in parts that can be read in parallel, without stacks; None if it is not sound.
    pub fn parts(&self) -> Option<Parts<'_>> {
        Parts::of(&self.input, &self.index)
    }

    /// How sampled words scale to bytes.
    pub fn bytes_scale(&self) -> Scale {
        let info = self.info();
        let scale = Scale::of_words(info.sample_rate, info.word_bytes() as f64);
        scale.with_heaviest(info.heaviest_sample())
    }

    /// How weighted samples scale to objects.
    pub fn objects_scale(&self) -> Scale {
        let info = self.info();
        Scale::of_blocks(info.sample_rate).with_heaviest(info.heaviest_sample())
    }

    /// Reports that reading has reached this time, and returns the fraction that was read.
    pub(crate) fn report_progress(&self, time: Micros) -> f64 {
        let share = (time.seconds() / self.index.duration().seconds().max(1e-6)).min(1.0);
        self.read.store(share.to_bits(), Ordering::Relaxed);
        if let Some(progress) = &self.progress {
            progress(share);
        }
        share
    }

    /// The progress of the current or last read.
    pub(crate) fn share_read(&self) -> f64 {
        f64::from_bits(self.read.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceFile").field("info", self.info()).finish_non_exhaustive()
    }
}
