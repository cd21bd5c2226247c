//! Evidence that grows: the page can take a snapshot of a shown program, which is then shown beside the other files.
//!
//! This is the only request that changes anything. One snapshot is taken at a time, on its own thread, which
//! continues if the page is closed. Its progress is reported with the list of files. A new snapshot goes
//! behind all other files, because links contain the numbers of files and must stay valid.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use bactrian_analysis::question::{FileNumber, QuestionError};
use serde::Serialize;

use crate::evidence::{Evidence, File};

/// Takes a snapshot and reports the fraction of the heap that was read. Errors have the wording of the
/// command line.
pub type SnapshotTaker =
    Box<dyn Fn(&dyn Fn(f64)) -> Result<NewSnapshot, String> + Send + Sync + 'static>;

/// A new snapshot.
pub struct NewSnapshot {
    /// The open file.
    pub file: File,
    /// What the command line would print about it.
    pub said: Vec<String>,
}

/// Evidence that may grow.
pub struct GrowingEvidence {
    evidence: RwLock<Arc<Evidence>>,
    /// The snapshot that is being taken, or was taken last.
    taking: Mutex<Option<Taking>>,
    taker: Mutex<Option<JoinHandle<()>>>,
}

/// A requested snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Taking {
    /// The number of the request, from 1.
    pub number: usize,
    /// The number of the program's file.
    pub of: usize,
    /// Its progress.
    #[serde(flatten)]
    pub state: TakingState,
}

/// The progress of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum TakingState {
    /// The program is being brought to a point at which its heap is consistent.
    Freezing,
    /// The heap is being read.
    Reading {
        /// The fraction that was read.
        done: f64,
    },
    /// The snapshot is complete and among the files.
    Taken {
        /// The number of its file.
        file: usize,
        /// What the command line would print about it.
        said: Vec<String>,
    },
    /// The snapshot could not be taken.
    Failed {
        /// The reason.
        why: String,
    },
}

impl Taking {
    fn is_over(&self) -> bool {
        matches!(self.state, TakingState::Taken { .. } | TakingState::Failed { .. })
    }
}

/// Why a snapshot was not started.
#[derive(Debug)]
pub enum NotBegun {
    /// Another one is being taken.
    Busy,
    /// The page may not take snapshots of this file.
    Forbidden(String),
    /// There is no such file.
    Wrong(QuestionError),
    /// An error of the operating system.
    Failed(String),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GrowingEvidence {
    /// Starts with the given evidence.
    pub fn new(evidence: Evidence) -> Arc<GrowingEvidence> {
        Arc::new(GrowingEvidence {
            evidence: RwLock::new(Arc::new(evidence)),
            taking: Mutex::default(),
            taker: Mutex::default(),
        })
    }

    /// The current evidence.
    pub fn now(&self) -> Arc<Evidence> {
        self.evidence.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The snapshot that is being taken, or was taken last. Once it is complete, its file is in [`Self::now`].
    pub fn taking(&self) -> Option<Taking> {
        lock(&self.taking).clone()
    }

    /// Starts to take a snapshot of a program.
    ///
    /// # Errors
    /// If the snapshot was not started.
    pub fn take(self: &Arc<Self>, of: FileNumber) -> Result<Taking, NotBegun> {
        let evidence = self.now();
        let file = evidence.file(of).map_err(NotBegun::Wrong)?;
        if file.taker.is_none() {
            let name = file.path.display();
            return Err(NotBegun::Forbidden(format!("the page cannot take snapshots of {name}")));
        }
        let mut taking = lock(&self.taking);
        if taking.as_ref().is_some_and(|taking| !taking.is_over()) {
            return Err(NotBegun::Busy);
        }
        let number = taking.as_ref().map_or(0, |last| last.number) + 1;
        let begun = Taking { number, of: of.0, state: TakingState::Freezing };
        let shared = self.clone();
        let work = move || shared.work(&evidence, of);
        let thread = thread::Builder::new().name("take a snapshot".to_owned()).spawn(work);
        let thread = thread
            .map_err(|error| NotBegun::Failed(format!("a thread cannot be started: {error}")))?;
        *lock(&self.taker) = Some(thread);
        *taking = Some(begun.clone());
        Ok(begun)
    }

    /// The body of the thread.
    fn work(&self, evidence: &Evidence, of: FileNumber) {
        let progress = |done| self.set(TakingState::Reading { done });
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let taker = evidence.file(of).ok().and_then(|file| file.taker.as_ref());
            taker.map(|take| take(&progress))
        }));
        self.set(match taken {
            Ok(Some(Ok(NewSnapshot { file, said }))) => {
                TakingState::Taken { file: self.add(file), said }
            }
            Ok(Some(Err(why))) => TakingState::Failed { why },
            Ok(None) | Err(_) => {
                let why =
                    "taking the snapshot failed because of a bug in bactrian: please report it";
                TakingState::Failed { why: why.to_owned() }
            }
        });
    }

    fn set(&self, state: TakingState) {
        if let Some(taking) = &mut *lock(&self.taking) {
            taking.state = state;
        }
    }

    /// Appends a file and returns its number.
    fn add(&self, file: File) -> usize {
        let mut evidence = self.evidence.write().unwrap_or_else(PoisonError::into_inner);
        let more = evidence.and(file);
        let number = more.files().len() - 1;
        *evidence = Arc::new(more);
        number
    }

    /// Must be called before the program ends: completes files that are being written, and releases the program if a snapshot of
    /// it is being taken.
    pub fn end(&self) {
        if let Some(thread) = lock(&self.taker).take() {
            // The thread catches its panics.
            let _ = thread.join();
        }
        self.now().end();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use bactrian_analysis::live::source::{LiveNow, LiveSource};

    use super::*;

    struct Nothing;

    impl LiveSource for Nothing {
        fn look(&self, _: &mut dyn FnMut(&LiveNow<'_>)) {}
    }

    fn file(name: &str) -> File {
        File::live(Path::new(name), Box::new(Nothing))
    }

    type Step = Box<dyn FnOnce(&dyn Fn(f64)) -> Option<Result<NewSnapshot, String>> + Send>;

    /// Two sources: a program whose snapshots proceed step by step, and one of which no snapshot can be
    /// taken.
    fn shown() -> (Arc<GrowingEvidence>, Sender<Step>) {
        let (go_on, steps): (Sender<Step>, Receiver<Step>) = channel();
        let steps = Mutex::new(steps);
        let taker: SnapshotTaker = Box::new(move |progress| {
            lock(&steps).iter().find_map(|step| step(progress)).expect("an end")
        });
        let files = vec![file("server").with_taker(taker), file("run.live")];
        (GrowingEvidence::new(Evidence::new(files)), go_on)
    }

    fn until(shown: &GrowingEvidence, is_so: impl Fn(&TakingState) -> bool) -> TakingState {
        loop {
            let state = shown.taking().expect("one was asked for").state;
            if is_so(&state) {
                return state;
            }
            thread::yield_now();
        }
    }

    fn is_over(state: &TakingState) -> bool {
        !matches!(state, TakingState::Freezing | TakingState::Reading { .. })
    }

    #[test]
    fn one_snapshot_at_a_time_is_taken_and_its_file_appended() {
        let (shown, go_on) = shown();
        let before = shown.now();
        assert_eq!(shown.taking(), None);
        let begun = shown.take(FileNumber(0)).expect("it may");
        assert_eq!(begun, Taking { number: 1, of: 0, state: TakingState::Freezing });
        assert!(matches!(shown.take(FileNumber(0)), Err(NotBegun::Busy)));
        let half: Step = Box::new(|progress| {
            progress(0.5);
            None
        });
        go_on.send(half).expect("it waits");
        until(&shown, |state| *state == TakingState::Reading { done: 0.5 });
        let done =
            || Some(Ok(NewSnapshot { file: file("new.heap"), said: vec!["new".to_owned()] }));
        go_on.send(Box::new(move |_| done())).expect("it waits");
        let taken = TakingState::Taken { file: 2, said: vec!["new".to_owned()] };
        assert_eq!(until(&shown, is_over), taken);
        let name = |evidence: &Evidence, at| {
            evidence.file(FileNumber(at)).expect("a file").path.display().to_string()
        };
        let now = shown.now();
        assert_eq!([0, 1, 2].map(|at| name(&now, at)), ["server", "run.live", "new.heap"]);
        // A question in progress sees the evidence that existed when it was asked.
        assert_eq!(before.files().len(), 2);
        assert_eq!(shown.take(FileNumber(0)).expect("again").number, 2);
        go_on.send(Box::new(move |_| Some(Err("gone".to_owned())))).expect("it waits");
        shown.end();
        assert_eq!(shown.now().files().len(), 3);
    }

    #[test]
    fn failure_is_reported_and_another_can_be_taken() {
        let (shown, go_on) = shown();
        let gone: Step = Box::new(|_| Some(Err("there is no process 7".to_owned())));
        let panics: Step = Box::new(|_| -> Option<_> { panic!("a bug") });
        let whys = [(gone, "no process 7"), (panics, "please report it")];
        for (step, expected) in whys {
            shown.take(FileNumber(0)).expect("it may");
            go_on.send(step).expect("it waits");
            let state = until(&shown, is_over);
            assert!(
                matches!(&state, TakingState::Failed { why } if why.contains(expected)),
                "{state:?}"
            );
        }
        assert!(matches!(shown.take(FileNumber(1)), Err(NotBegun::Forbidden(_))));
        assert!(matches!(shown.take(FileNumber(9)), Err(NotBegun::Wrong(_))));
        assert_eq!(shown.now().files().len(), 2);
    }
}
