//! The evidence that is shown: the files that were named, running programs, and stores of profiles.
//!
//! Evidence is immutable. When it grows ([`crate::growing`]), it becomes new evidence of the same files and
//! one more.
//!
//! Large snapshots take seconds to open. They are opened in the background ([`crate::snapshots`]), so that
//! the page appears at once and shows the progress; a question waits for the file that it is about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bactrian_advice::file::GcResult;
use bactrian_analysis::heap::{Heap, HeapSums, Info, sort_by_time};
use bactrian_analysis::live::source::LiveSource;
use bactrian_analysis::question::{self, FileInfo, FileNumber, QuestionError};
use bactrian_analysis::{TraceFile, TraceQuestions, info};

use crate::fleet::{Fleet, FleetEngine};
use crate::growing::SnapshotTaker;
use crate::snapshots::{HeapOpener, SnapshotFile, Snapshots};

/// A file or program.
pub struct File {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// Its contents.
    pub contents: Contents,
    /// Options given with it that commands need too, such as the type table of a snapshot.
    pub options: Vec<String>,
    /// How to take a snapshot of it, if it is a process and the page may take snapshots.
    pub taker: Option<SnapshotTaker>,
}

/// The contents of a file.
pub enum Contents {
    /// A trace, which is read in the background.
    Trace(Arc<TraceQuestions>),
    /// A heap snapshot: the information in its header, and the graph.
    Snapshot(Box<Info>, Arc<SnapshotFile>),
    /// Live numbers.
    Live(Box<dyn LiveSource>),
    /// A store of profiles of many machines.
    Fleet(Box<Fleet>),
    /// A result of `bactrian gc`.
    Gc(Box<GcResult>),
}

impl File {
    /// A trace.
    pub fn trace(path: &Path, trace: TraceFile) -> File {
        let questions = TraceQuestions::new(Arc::new(trace));
        File::new(path, Contents::Trace(Arc::new(questions)))
    }

    /// A snapshot, which is read in the background.
    pub fn snapshot(path: &Path, info: Info, open: HeapOpener) -> File {
        let file = SnapshotFile::new(open, path == Path::new("-"));
        File::new(path, Contents::Snapshot(Box::new(info), Arc::new(file)))
    }

    /// A program or a recording.
    pub fn live(name: &Path, source: Box<dyn LiveSource>) -> File {
        File::new(name, Contents::Live(source))
    }

    /// A store of profiles, at this path or address.
    pub fn fleet(store: &Path, engine: FleetEngine) -> File {
        File::new(store, Contents::Fleet(Box::new(Fleet::new(engine))))
    }

    /// A result of `bactrian gc`.
    pub fn gc(path: &Path, result: GcResult) -> File {
        File::new(path, Contents::Gc(Box::new(result)))
    }

    fn new(path: &Path, contents: Contents) -> File {
        File { path: path.to_owned(), contents, options: Vec::new(), taker: None }
    }

    /// Adds options that commands need too.
    #[must_use]
    pub fn with_options(self, options: Vec<String>) -> File {
        File { options, ..self }
    }

    /// Adds a way to take snapshots of it.
    #[must_use]
    pub fn with_taker(self, taker: SnapshotTaker) -> File {
        File { taker: Some(taker), ..self }
    }

    /// The page's name for this kind of file.
    pub fn kind(&self) -> &'static str {
        match self.contents {
            Contents::Trace(_) => "trace",
            Contents::Snapshot(..) => "snapshot",
            Contents::Live(_) => "live",
            Contents::Fleet(_) => "fleet",
            Contents::Gc(_) => "gc",
        }
    }

    /// The store of profiles.
    ///
    /// # Errors
    /// If it is something else.
    pub fn as_fleet(&self) -> Result<&Fleet, QuestionError> {
        match &self.contents {
            Contents::Fleet(fleet) => Ok(fleet),
            _ => Err(self.is_no("store of profiles")),
        }
    }

    /// The result of `bactrian gc`.
    ///
    /// # Errors
    /// If it is something else.
    pub fn as_gc(&self) -> Result<&GcResult, QuestionError> {
        match &self.contents {
            Contents::Gc(result) => Ok(result),
            _ => Err(self.is_no("result of bactrian gc")),
        }
    }

    /// The progress of opening it.
    pub fn progress(&self) -> Progress {
        match &self.contents {
            Contents::Snapshot(_, file) => file.progress(),
            _ => Progress::Open,
        }
    }

    fn is_no(&self, wanted: &str) -> QuestionError {
        QuestionError::Wrong(format!("{} is not a {wanted}", self.path.display()))
    }
}

/// The progress of opening a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// This fraction is done.
    Opening(f64),
    /// It is open.
    Open,
    /// It cannot be opened.
    Failed,
}

/// All evidence, in the order in which it was given.
pub struct Evidence {
    files: Vec<Arc<File>>,
    snapshots: Arc<Snapshots>,
}

/// Sorts the files of one kind, within the positions that files of this kind have.
fn in_order(files: Vec<File>, kind: &str, sort: impl FnOnce(&mut [File])) -> Vec<File> {
    let is_it: Vec<bool> = files.iter().map(|file| file.kind() == kind).collect();
    let (mut those, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.kind() == kind);
    sort(&mut those);
    let (mut those, mut others) = (those.into_iter(), others.into_iter());
    let next = |is_it: bool| if is_it { those.next() } else { others.next() };
    is_it.into_iter().filter_map(next).collect()
}

/// The most rows in an answer: users page through longer tables.
const MOST_ROWS: usize = 5_000;

impl Evidence {
    /// Starts to read snapshots in the background.
    ///
    /// Snapshots are sorted by the time they were taken, because a shell would list `x.10.heap` before
    /// `x.2.heap`. Traces are sorted by recording time, so that comparisons are from earlier to later.
    pub fn new(files: Vec<File>) -> Evidence {
        let files = in_order(files, "snapshot", |snapshots| {
            sort_by_time(snapshots, |file| match &file.contents {
                Contents::Snapshot(info, _) => info,
                _ => unreachable!("only snapshots were asked for"),
            });
        });
        let files = in_order(files, "trace", |traces| {
            traces.sort_by_key(|file| match &file.contents {
                Contents::Trace(trace) => trace.trace().info().start,
                _ => 0,
            });
        });
        Evidence::of(files.into_iter().map(Arc::new).collect())
    }

    /// The same evidence with one more file.
    #[must_use]
    pub fn and(&self, file: File) -> Evidence {
        Evidence::of(self.files.iter().cloned().chain([Arc::new(file)]).collect())
    }

    fn of(files: Vec<Arc<File>>) -> Evidence {
        let snapshots = files.iter().filter_map(|file| match &file.contents {
            Contents::Snapshot(_, file) => Some(file.clone()),
            _ => None,
        });
        let snapshots = Snapshots::start(snapshots.collect());
        Evidence { files, snapshots }
    }

    /// Must be called before the program ends: completes index files that are being written.
    pub fn end(&self) {
        for file in &self.files {
            if let Contents::Snapshot(_, file) = &file.contents {
                file.end();
            }
        }
    }

    /// All files.
    pub fn files(&self) -> &[Arc<File>] {
        &self.files
    }

    /// The file with this number.
    pub fn file(&self, file: FileNumber) -> Result<&File, QuestionError> {
        let (at, all) = (file.0, self.files.len());
        self.files
            .get(at)
            .map(|file| &**file)
            .ok_or_else(|| QuestionError::Wrong(format!("there is no file {at}: there are {all}")))
    }

    fn snapshot(&self, file: FileNumber) -> Result<&SnapshotFile, QuestionError> {
        match self.file(file)? {
            File { contents: Contents::Snapshot(_, file), .. } => Ok(file),
            other => Err(other.is_no("heap snapshot")),
        }
    }
}

impl question::Evidence for Evidence {
    fn path(&self, file: FileNumber) -> Result<&Path, QuestionError> {
        Ok(&self.file(file)?.path)
    }

    fn options(&self, file: FileNumber) -> &[String] {
        self.file(file).map_or(&[], |file| &file.options)
    }

    fn trace(&self, file: FileNumber) -> Result<Arc<TraceQuestions>, QuestionError> {
        match self.file(file)? {
            File { contents: Contents::Trace(questions), .. } => Ok(questions.clone()),
            other => Err(other.is_no("trace")),
        }
    }

    fn heap(&self, file: FileNumber) -> Result<Arc<Heap>, QuestionError> {
        self.snapshots.heap(self.snapshot(file)?)
    }

    fn sums(&self, file: FileNumber) -> Result<Arc<HeapSums>, QuestionError> {
        self.snapshots.sums(self.snapshot(file)?)
    }

    fn live(&self, file: FileNumber) -> Result<&dyn LiveSource, QuestionError> {
        match self.file(file)? {
            File { contents: Contents::Live(source), .. } => Ok(&**source),
            other => Err(other.is_no("program or recording of live numbers")),
        }
    }

    fn info(&self, file: FileNumber) -> Result<FileInfo, QuestionError> {
        match &self.file(file)?.contents {
            Contents::Trace(trace) => Ok(FileInfo::Trace(Box::new(info(trace.trace())))),
            Contents::Snapshot(info, _) => Ok(FileInfo::Snapshot(info.clone())),
            Contents::Live(_) => {
                Err(QuestionError::Wrong("live numbers have no header".to_owned()))
            }
            Contents::Fleet(_) => {
                Err(QuestionError::Wrong("a store of profiles has no header".to_owned()))
            }
            Contents::Gc(_) => {
                Err(QuestionError::Wrong("a result of bactrian gc has no header".to_owned()))
            }
        }
    }

    fn snapshots(&self) -> Vec<FileNumber> {
        let is_snapshot = |at: &usize| matches!(self.files[*at].contents, Contents::Snapshot(..));
        (0..self.files.len()).filter(is_snapshot).map(FileNumber).collect()
    }

    fn most_rows(&self) -> usize {
        MOST_ROWS
    }
}
