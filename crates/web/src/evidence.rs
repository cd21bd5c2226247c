//! What is shown: the files that were named, and a program that runs.
//!
//! Large snapshots take seconds to open. They are opened in the background, so that the page is there at once and says
//! how far it has come; a question waits for what it is about.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use bactrian_analysis::heap::{Heap, Info};
use bactrian_analysis::{TraceFile, TraceQuestions};
use bactrian_live::Database;

use crate::answer::Failure;

/// Opens a snapshot, and tells how far it has come.
pub type HeapOpener = Box<dyn FnOnce(&mut dyn FnMut(f64)) -> Result<Heap, String> + Send>;

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
    /// Shows what is known now.
    fn look(&self, see: &mut dyn FnMut(&Database, &LiveState));
}

/// One thing to look at.
pub struct File {
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// What it holds.
    pub contents: Contents,
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
        File { path: path.to_owned(), contents: Contents::Trace(Box::new(questions)) }
    }

    /// A snapshot, which is opened in the background from now on.
    pub fn snapshot(path: &Path, info: Info, open: HeapOpener) -> File {
        let contents = Contents::Snapshot(Box::new(info), OpenedLater::start(open));
        File { path: path.to_owned(), contents }
    }

    /// A program or a recording.
    pub fn live(name: &Path, source: Box<dyn LiveSource>) -> File {
        File { path: name.to_owned(), contents: Contents::Live(source) }
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

/// A heap that is open, or will be.
pub struct OpenedLater {
    shared: Arc<Shared>,
}

struct Shared {
    /// In millionths.
    done: AtomicU32,
    heap: OnceLock<Result<Heap, String>>,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl OpenedLater {
    fn start(open: HeapOpener) -> OpenedLater {
        let shared = Arc::new(Shared {
            done: AtomicU32::new(0),
            heap: OnceLock::new(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        });
        let opening = Arc::clone(&shared);
        let work = move || {
            // Somebody waits for the end, however it comes.
            let _end = SayOver(&opening);
            let mut tell = |share: f64| opening.done.store((share * 1e6) as u32, Ordering::Relaxed);
            let heap = open(&mut tell);
            drop(opening.heap.set(heap));
        };
        let started = thread::Builder::new().name("open a snapshot".to_owned()).spawn(work);
        if let Err(error) = started {
            drop(shared.heap.set(Err(format!("no thread can be started: {error}"))));
            SayOver(&shared);
        }
        OpenedLater { shared }
    }

    fn progress(&self) -> Progress {
        match self.shared.heap.get() {
            Some(Ok(_)) => Progress::Open,
            Some(Err(_)) => Progress::Failed,
            None => Progress::Opening(f64::from(self.shared.done.load(Ordering::Relaxed)) / 1e6),
        }
    }

    /// The heap, as soon as it is open.
    pub fn wait(&self) -> Result<&Heap, Failure> {
        let is_over = self.shared.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.over.wait_while(is_over, |is_over| !*is_over);
        drop(waited);
        match self.shared.heap.get() {
            Some(Ok(heap)) => Ok(heap),
            Some(Err(why)) => Err(Failure::Broken(why.clone())),
            None => {
                Err(Failure::Broken("the snapshot could not be opened: this is a bug".to_owned()))
            }
        }
    }
}

/// Says that opening is over when it goes.
struct SayOver<'s>(&'s Shared);

impl Drop for SayOver<'_> {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.over.notify_all();
    }
}

/// All that is shown, in the order in which it was named.
pub struct Evidence {
    files: Vec<File>,
}

impl Evidence {
    /// These.
    pub fn new(files: Vec<File>) -> Evidence {
        Evidence { files }
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
            File { path, contents: Contents::Trace(questions) } => Ok((path, questions)),
            other => Err(other.is_no("trace")),
        }
    }

    /// The heap at this place, as soon as it is open.
    pub fn heap(&self, at: usize) -> Result<(&Path, &Heap), Failure> {
        match self.file(at)? {
            File { path, contents: Contents::Snapshot(_, later) } => Ok((path, later.wait()?)),
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
            File { path, contents: Contents::Live(source) } => Ok((path, &**source)),
            other => Err(other.is_no("program or recording of live numbers")),
        }
    }
}

impl File {
    fn is_no(&self, wanted: &str) -> Failure {
        Failure::Wrong(format!("{} is no {wanted}", self.path.display()))
    }
}
