//! The files of a command, opened when its question needs them, and the messages about them after the answer.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bactrian_analysis::heap::{self, Heap, HeapSums};
use bactrian_analysis::live::source::LiveSource;
use bactrian_analysis::question::{
    Answer, Evidence, FileInfo, FileNumber, Question, QuestionError,
};
use bactrian_analysis::{Cancelled, StepProgress, TraceQuestions, UnderWay, info};
use serde::Serialize;

use crate::failure::{Failure, Status};
use crate::file_args::{HeapArg, say_coverage};
use crate::open::{self, account, name};
use crate::output::{Console, print_envelope};

/// The interval between progress updates.
const SHOW_EVERY: Duration = Duration::from_millis(500);

/// The files of a command.
pub struct Files {
    files: Vec<File>,
    strict: bool,
}

enum File {
    Trace(PathBuf),
    Snapshot(HeapArg),
}

impl Files {
    /// Traces.
    pub fn traces(paths: impl IntoIterator<Item = PathBuf>, strict: bool) -> Files {
        Files { files: paths.into_iter().map(File::Trace).collect(), strict }
    }

    /// Heap snapshots.
    pub fn snapshots(snapshots: impl IntoIterator<Item = HeapArg>, strict: bool) -> Files {
        Files { files: snapshots.into_iter().map(File::Snapshot).collect(), strict }
    }

    /// Asks a question about them.
    pub fn ask<Q: Question>(
        self,
        question: &Q,
        console: &mut Console,
    ) -> Result<Asked<Q::Answer>, Failure> {
        let opened = Opened {
            files: self.files,
            console: Mutex::new(console),
            failure: Mutex::default(),
            heap: Mutex::default(),
            shows_itself: AtomicBool::new(false),
        };
        let answer = watched(&opened, || question.ask(&opened));
        let Opened { files, failure, heap, .. } = opened;
        // The reason why a file could not be opened is more informative.
        if let Some(failure) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failure);
        }
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
        let answer = answer.map_err(|error| refused(error, &paths))?;
        let heap = heap.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Asked { answer, paths, heap, strict: self.strict })
    }
}

/// Computes an answer, and shows the progress on a terminal if that takes long.
fn watched<T>(opened: &Opened<'_>, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (answer, has_ended) = (UnderWay::default(), AtomicBool::new(false));
    let show = || {
        let bar = open::progress_bar("computing");
        while !has_ended.load(Ordering::Relaxed) {
            thread::park_timeout(SHOW_EVERY);
            let StepProgress { step, done } = answer.progress();
            if step > 0 && done < 1.0 && !opened.shows_itself.load(Ordering::Relaxed) {
                bar(done);
            }
        }
        bar(1.0);
    };
    let answered = thread::scope(|scope| {
        // Where there can be no other thread, nothing is shown.
        let shown = thread::Builder::new().spawn_scoped(scope, show);
        let answered = answer.run(work);
        has_ended.store(true, Ordering::Relaxed);
        if let Ok(shown) = shown {
            shown.thread().unpark();
        }
        answered
    });
    match answered {
        Ok(answered) => answered,
        Err(Cancelled) => unreachable!("nobody cancels it"),
    }
}

/// The error if there is no answer.
fn refused(error: QuestionError, paths: &[PathBuf]) -> Failure {
    match error {
        QuestionError::NotFound(why) => match paths {
            [path] => Failure::Usage(format!("{}: {why}", name(path))),
            _ => Failure::Usage(why),
        },
        QuestionError::Parameter { name, value, why } => {
            Failure::Usage(format!("--{name} {value}: {why}"))
        }
        QuestionError::Wrong(why) | QuestionError::Unknown(why) => Failure::Usage(why),
        QuestionError::Broken(why) => Failure::Input(anyhow::anyhow!(why)),
    }
}

impl File {
    fn path(&self) -> &Path {
        match self {
            File::Trace(path) => path,
            File::Snapshot(arg) => &arg.file,
        }
    }
}

/// An answer, and the files that it is about.
pub struct Asked<A> {
    /// The answer.
    pub answer: Answer<A>,
    paths: Vec<PathBuf>,
    heap: Option<Arc<Heap>>,
    strict: bool,
}

impl<A: Serialize> Asked<A> {
    /// Prints the answer: as JSON, or with `print`.
    pub fn tell(
        &self,
        command: &str,
        as_json: bool,
        console: &mut Console,
        print: impl FnOnce(&A, &mut Console) -> Result<(), Failure>,
    ) -> Result<Status, Failure> {
        match as_json {
            true => self.print_json(command, console)?,
            false => print(&self.answer.result, console)?,
        }
        self.finish(console)
    }

    /// Prints the answer as JSON.
    pub fn print_json(&self, command: &str, console: &mut Console) -> Result<(), Failure> {
        let files = self.paths.iter().map(|path| &**path).zip(&self.answer.losses);
        Ok(print_envelope(console, command, files, &self.answer.result)?)
    }

    /// Prints how many types are known, below a table with types.
    pub fn say_coverage(&self, console: &mut Console) -> Result<(), Failure> {
        self.heap.as_ref().map_or(Ok(()), |heap| say_coverage(heap, console))
    }

    /// To be called after the answer was printed: saves what was computed, prints the answer's notes and the
    /// losses of the files, or fails with `strict`.
    pub fn finish(&self, console: &mut Console) -> Result<Status, Failure> {
        console.flush()?;
        for note in &self.answer.notes {
            console.warn(note)?;
        }
        if let Some(heap) = &self.heap {
            heap.keep();
        }
        for (path, losses) in self.paths.iter().zip(&self.answer.losses) {
            account(path, self.strict, losses, console)?;
        }
        Ok(Status::Done)
    }
}

struct Opened<'c> {
    files: Vec<File>,
    console: Mutex<&'c mut Console>,
    /// Why a file could not be opened.
    failure: Mutex<Option<Failure>>,
    /// The heap that was opened last: in a series, only one at a time is in memory.
    heap: Mutex<Option<Arc<Heap>>>,
    /// Whether the current operation shows its own progress: opening a heap or reading a trace.
    shows_itself: AtomicBool,
}

impl Opened<'_> {
    fn file(&self, file: FileNumber) -> Result<&File, QuestionError> {
        let all = self.files.len();
        self.files.get(file.0).ok_or_else(|| {
            QuestionError::Wrong(format!("there is no file {}: there are {all}", file.0))
        })
    }

    /// Records why a file cannot be opened.
    fn fail<T>(&self, opened: Result<T, Failure>) -> Result<T, QuestionError> {
        opened.map_err(|failure| {
            let broken = QuestionError::Broken("a file cannot be opened".to_owned());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            broken
        })
    }
}

impl Evidence for Opened<'_> {
    fn path(&self, file: FileNumber) -> Result<&Path, QuestionError> {
        Ok(self.file(file)?.path())
    }

    fn options(&self, _: FileNumber) -> &[String] {
        &[]
    }

    fn trace(&self, file: FileNumber) -> Result<Arc<TraceQuestions>, QuestionError> {
        let trace = self.fail(open::open(self.file(file)?.path()))?;
        self.shows_itself.store(true, Ordering::Relaxed);
        Ok(Arc::new(TraceQuestions::once(trace)))
    }

    fn heap(&self, file: FileNumber) -> Result<Arc<Heap>, QuestionError> {
        let arg = match self.file(file)? {
            File::Snapshot(arg) => arg,
            File::Trace(path) => {
                let why = format!("{} is not a heap snapshot", path.display());
                return Err(QuestionError::Wrong(why));
            }
        };
        let mut last = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        *last = None;
        let mut console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        self.shows_itself.store(true, Ordering::Relaxed);
        let heap = Arc::new(self.fail(arg.open(&mut console))?);
        self.shows_itself.store(false, Ordering::Relaxed);
        *last = Some(heap.clone());
        Ok(heap)
    }

    fn sums(&self, file: FileNumber) -> Result<Arc<HeapSums>, QuestionError> {
        let sums = HeapSums::of(&*self.heap(file)?);
        *self.heap.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(Arc::new(sums))
    }

    fn live(&self, file: FileNumber) -> Result<&dyn LiveSource, QuestionError> {
        let path = self.file(file)?.path().display();
        Err(QuestionError::Wrong(format!("{path} is not a recording")))
    }

    fn info(&self, file: FileNumber) -> Result<FileInfo, QuestionError> {
        match self.file(file)? {
            File::Trace(path) => {
                let trace = self.fail(open::open(path))?;
                Ok(FileInfo::Trace(Box::new(info(&trace))))
            }
            // Standard input can be read only once.
            File::Snapshot(arg) if arg.file == Path::new("-") => {
                let heap = self.heap(file)?;
                Ok(FileInfo::Snapshot(Box::new(heap::info(heap.snapshot()))))
            }
            File::Snapshot(arg) => {
                let snapshot = self.fail(open::open_snapshot(&arg.file))?;
                Ok(FileInfo::Snapshot(Box::new(heap::info(&snapshot))))
            }
        }
    }

    fn snapshots(&self) -> Vec<FileNumber> {
        let all = self.files.iter().enumerate();
        let snapshots = all.filter(|(_, file)| matches!(file, File::Snapshot(_)));
        snapshots.map(|(at, _)| FileNumber(at)).collect()
    }
}
