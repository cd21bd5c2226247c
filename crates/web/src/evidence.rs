//! What is shown: the files that were named, and a program that runs.
//!
//! Large snapshots take seconds to open. That is done in the background ([`opened_later`]), so that the page is there at once
//! and says how far it has come; a question waits for what it is about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bactrian_analysis::heap::{Heap, HeapSums, Info};
use bactrian_analysis::{TraceFile, TraceQuestions};
use bactrian_live::Database;

use crate::answer::Failure;
use crate::opened_later::{self, HeapOpener, OpenedLater};

/// How it stands with where live numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// They are coming.
    Live,
    /// None are coming, and why; it is tried again.
    Lost(String),
    /// They are from a file.
    Replay,
    /// No more will come.
    Over,
}

/// A program that is watched, or a recording of one.
pub trait LiveSource: Send + Sync {
    /// Shows what is known now; nothing, if it is over with watching.
    fn look(&self, see: &mut dyn FnMut(&LiveNow<'_>));
}

/// What is known of a program.
pub struct LiveNow<'a> {
    /// What came from it.
    pub database: &'a Database,
    /// How it stands with where that comes from.
    pub state: &'a LiveState,
    /// Whether no more will come: the program has ended, or all of the recording is read.
    pub is_over: bool,
    /// Sentences for people, the last one last.
    pub notices: &'a [String],
}

/// One thing to look at.
pub struct File {
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// What it holds.
    pub contents: Contents,
    /// Options that were given with it, and that commands need too: which types a snapshot has.
    pub options: Vec<String>,
}

/// What a file holds.
pub enum Contents {
    /// A trace, which is read in the background from now on.
    Trace(Box<TraceQuestions>),
    /// A heap snapshot: what its header says, and the graph.
    Snapshot(Box<Info>, OpenedLater),
    /// Live numbers.
    Live(Box<dyn LiveSource>),
}

impl File {
    /// A trace.
    pub fn trace(path: &Path, trace: TraceFile) -> File {
        let questions = TraceQuestions::new(Arc::new(trace));
        File {
            path: path.to_owned(),
            contents: Contents::Trace(Box::new(questions)),
            options: Vec::new(),
        }
    }

    /// A snapshot, which is read in the background.
    pub fn snapshot(path: &Path, info: Info, open: HeapOpener) -> File {
        let contents =
            Contents::Snapshot(Box::new(info), OpenedLater::new(open, path == Path::new("-")));
        File { path: path.to_owned(), contents, options: Vec::new() }
    }

    /// A program or a recording.
    pub fn live(name: &Path, source: Box<dyn LiveSource>) -> File {
        File { path: name.to_owned(), contents: Contents::Live(source), options: Vec::new() }
    }

    /// With options that commands need too.
    #[must_use]
    pub fn with_options(self, options: Vec<String>) -> File {
        File { options, ..self }
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
            Contents::Snapshot(_, later) => later.progress(),
            Contents::Trace(_) | Contents::Live(_) => Progress::Open,
        }
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
    files: Vec<File>,
}

impl Evidence {
    /// These; from now on snapshots are read in the background.
    pub fn new(files: Vec<File>) -> Evidence {
        let later = files.iter().filter_map(|file| match &file.contents {
            Contents::Snapshot(_, later) => Some(later.clone()),
            Contents::Trace(_) | Contents::Live(_) => None,
        });
        opened_later::start(later.collect());
        Evidence { files }
    }

    /// To be called before the program ends: what is being written beside files is written to its end.
    pub fn end(&self) {
        for file in &self.files {
            if let Contents::Snapshot(_, later) = &file.contents {
                later.end();
            }
        }
    }

    /// All of them.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// One of them.
    pub fn file(&self, at: usize) -> Result<&File, Failure> {
        let all = self.files.len();
        self.files
            .get(at)
            .ok_or_else(|| Failure::Wrong(format!("there is no file {at}: there are {all}")))
    }

    /// The trace at this place.
    pub fn questions(&self, at: usize) -> Result<(&Path, &TraceQuestions), Failure> {
        match self.file(at)? {
            File { path, contents: Contents::Trace(questions), .. } => Ok((path, questions)),
            other => Err(other.is_no("trace")),
        }
    }

    /// The heap at this place, as soon as it is open.
    pub fn heap(&self, at: usize) -> Result<(&Path, &Heap), Failure> {
        match self.file(at)? {
            File { path, contents: Contents::Snapshot(_, later), .. } => Ok((path, later.heap()?)),
            other => Err(other.is_no("heap snapshot")),
        }
    }

    /// What is counted of the snapshot at this place, as soon as it is. The heap need not stay open for it.
    pub fn sums(&self, at: usize) -> Result<(&Path, &HeapSums), Failure> {
        match self.file(at)? {
            File { path, contents: Contents::Snapshot(_, later), .. } => Ok((path, later.sums()?)),
            other => Err(other.is_no("heap snapshot")),
        }
    }

    /// The places of all snapshots.
    pub fn snapshots(&self) -> Vec<usize> {
        let is_snapshot = |at: &usize| matches!(self.files[*at].contents, Contents::Snapshot(..));
        (0..self.files.len()).filter(is_snapshot).collect()
    }

    /// The live numbers at this place.
    pub fn live(&self, at: usize) -> Result<(&Path, &dyn LiveSource), Failure> {
        match self.file(at)? {
            File { path, contents: Contents::Live(source), .. } => Ok((path, &**source)),
            other => Err(other.is_no("program or recording of live numbers")),
        }
    }
}

impl File {
    fn is_no(&self, wanted: &str) -> Failure {
        Failure::Wrong(format!("{} is no {wanted}", self.path.display()))
    }
}
