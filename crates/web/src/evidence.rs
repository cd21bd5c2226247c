//! What is shown: the files that were named, and a program that runs.
//!
//! Evidence does not change. When it grows ([`crate::growing`]), it is new evidence of the same files and one more.
//!
//! Large snapshots take seconds to open. That is done in the background ([`crate::snapshots`]), so that the page is there at once
//! and says how far it has come; a question waits for what it is about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bactrian_analysis::heap::{Heap, HeapSums, Info, sort_by_time};
use bactrian_analysis::live::source::LiveSource;
use bactrian_analysis::question::{self, FileInfo, FileNumber, QuestionError};
use bactrian_analysis::{TraceFile, TraceQuestions, info};

use crate::growing::SnapshotTaker;
use crate::snapshots::{HeapOpener, SnapshotFile, Snapshots};

/// One thing to look at.
pub struct File {
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// What it holds.
    pub contents: Contents,
    /// Options that were given with it, and that commands need too: which types a snapshot has.
    pub options: Vec<String>,
    /// How a snapshot is taken of it, if it is a process of which the page may take one.
    pub taker: Option<SnapshotTaker>,
}

/// What a file holds.
pub enum Contents {
    /// A trace, which is read in the background from now on.
    Trace(Arc<TraceQuestions>),
    /// A heap snapshot: what its header says, and the graph.
    Snapshot(Box<Info>, Arc<SnapshotFile>),
    /// Live numbers.
    Live(Box<dyn LiveSource>),
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

    fn new(path: &Path, contents: Contents) -> File {
        File { path: path.to_owned(), contents, options: Vec::new(), taker: None }
    }

    /// With options that commands need too.
    #[must_use]
    pub fn with_options(self, options: Vec<String>) -> File {
        File { options, ..self }
    }

    /// With a way to take snapshots of it.
    #[must_use]
    pub fn with_taker(self, taker: SnapshotTaker) -> File {
        File { taker: Some(taker), ..self }
    }

    /// What the page calls it.
    pub fn kind(&self) -> &'static str {
        match self.contents {
            Contents::Trace(_) => "trace",
            Contents::Snapshot(..) => "snapshot",
            Contents::Live(_) => "live",
        }
    }

    /// How far opening it has come.
    pub fn progress(&self) -> Progress {
        match &self.contents {
            Contents::Snapshot(_, file) => file.progress(),
            Contents::Trace(_) | Contents::Live(_) => Progress::Open,
        }
    }

    fn is_no(&self, wanted: &str) -> QuestionError {
        QuestionError::Wrong(format!("{} is no {wanted}", self.path.display()))
    }
}

/// How far opening has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// This share is done.
    Opening(f64),
    /// It is open.
    Open,
    /// It cannot be opened.
    Failed,
}

/// All that is shown, in the order in which it was named.
pub struct Evidence {
    files: Vec<Arc<File>>,
    snapshots: Arc<Snapshots>,
}

/// Sorts files of one kind; they take the places that files of this kind have.
fn in_order(files: Vec<File>, kind: &str, sort: impl FnOnce(&mut [File])) -> Vec<File> {
    let is_it: Vec<bool> = files.iter().map(|file| file.kind() == kind).collect();
    let (mut those, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.kind() == kind);
    sort(&mut those);
    let (mut those, mut others) = (those.into_iter(), others.into_iter());
    let next = |is_it: bool| if is_it { those.next() } else { others.next() };
    is_it.into_iter().filter_map(next).collect()
}

/// No answer has more rows: what people want to see of more comes page by page.
const MOST_ROWS: usize = 5_000;

impl Evidence {
    /// These; from now on snapshots are read in the background.
    ///
    /// Snapshots come in the order in which they were taken: of `x.2.heap` and `x.10.heap`, a shell names the latter first.
    /// Traces come as they were recorded, so that what is compared is before and after.
    pub fn new(files: Vec<File>) -> Evidence {
        let files = in_order(files, "snapshot", |snapshots| {
            sort_by_time(snapshots, |file| match &file.contents {
                Contents::Snapshot(info, _) => info,
                Contents::Trace(_) | Contents::Live(_) => {
                    unreachable!("only snapshots were asked for")
                }
            });
        });
        let files = in_order(files, "trace", |traces| {
            traces.sort_by_key(|file| match &file.contents {
                Contents::Trace(trace) => trace.trace().info().start,
                Contents::Snapshot(..) | Contents::Live(_) => 0,
            });
        });
        Evidence::of(files.into_iter().map(Arc::new).collect())
    }

    /// The same, and one more.
    #[must_use]
    pub fn and(&self, file: File) -> Evidence {
        Evidence::of(self.files.iter().cloned().chain([Arc::new(file)]).collect())
    }

    fn of(files: Vec<Arc<File>>) -> Evidence {
        let snapshots = files.iter().filter_map(|file| match &file.contents {
            Contents::Snapshot(_, file) => Some(file.clone()),
            Contents::Trace(_) | Contents::Live(_) => None,
        });
        let snapshots = Snapshots::start(snapshots.collect());
        Evidence { files, snapshots }
    }

    /// To be called before the program ends: what is being written beside files is written to its end.
    pub fn end(&self) {
        for file in &self.files {
            if let Contents::Snapshot(_, file) = &file.contents {
                file.end();
            }
        }
    }

    /// All of them.
    pub fn files(&self) -> &[Arc<File>] {
        &self.files
    }

    /// One of them.
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
