//! Heap snapshots, opened on demand and closed when others need the memory.
//!
//! A series of large snapshots does not fit into memory. So the sums that a series needs ([`HeapSums`]) are
//! computed one snapshot after the other in the background, and only as many heaps stay open as fit into a
//! budget. The least recently used is closed first, and reopened when needed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;

use bactrian_analysis::heap::{Heap, HeapSums, RootsQuestion, RootsShape, roots};
use bactrian_analysis::question::QuestionError;
use bactrian_analysis::wait_until;

use crate::evidence::Progress;

/// Opens a snapshot and reports the progress. May be called again.
pub type HeapOpener =
    Box<dyn Fn(&mut dyn FnMut(f64)) -> Result<Heap, String> + Send + Sync + 'static>;

/// The memory budget for open heaps, in bytes. The most recently used heap stays open whatever its size.
const BUDGET: u64 = 256_000_000;

/// Counts uses of heaps. Growing evidence consists of the same files, so all evidence shares one clock.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// All shown snapshots.
#[derive(Default)]
pub struct Snapshots {
    all: Vec<Arc<SnapshotFile>>,
}

/// A snapshot that is open or will be opened.
pub struct SnapshotFile {
    open: HeapOpener,
    /// It is never closed, because it cannot be reopened.
    stays: bool,
    /// The progress, in millionths.
    done: AtomicU32,
    /// The time of the last use.
    used: AtomicU64,
    heap: Mutex<Option<Result<Arc<Heap>, String>>>,
    sums: OnceLock<Result<Arc<HeapSums>, String>>,
    /// Held while opening.
    opening: Mutex<()>,
    /// Held while writing the index; set when no more index may be written.
    is_over: Mutex<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotFile {
    /// A snapshot that `stays` open is never closed, because it cannot be reopened.
    pub fn new(open: HeapOpener, stays: bool) -> SnapshotFile {
        SnapshotFile {
            open,
            stays,
            done: AtomicU32::new(0),
            used: AtomicU64::new(0),
            heap: Mutex::default(),
            sums: OnceLock::new(),
            opening: Mutex::default(),
            is_over: Mutex::default(),
        }
    }

    /// The progress of reading. A heap that was closed counts as open, because it is reopened on demand.
    pub fn progress(&self) -> Progress {
        let heap = lock(&self.heap).as_ref().map(Result::is_ok);
        match (heap, self.sums.get().map(Result::is_ok)) {
            (Some(false), _) | (_, Some(false)) => Progress::Failed,
            (Some(true), _) | (_, Some(true)) => Progress::Open,
            (None, None) => Progress::Opening(self.done()),
        }
    }

    /// Waits until no index is being written, and prevents further writes, so that nothing is left
    /// incomplete.
    pub fn end(&self) {
        *lock(&self.is_over) = true;
    }

    /// Lets one thread open the snapshot; others wait here until it is open or their answers are cancelled.
    fn turn(&self) -> MutexGuard<'_, ()> {
        let turn = || match self.opening.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        wait_until(turn, || self.done())
    }

    /// The fraction that was read.
    fn done(&self) -> f64 {
        f64::from(self.done.load(Ordering::Relaxed)) / 1e6
    }

    fn open_heap(&self) -> Option<Result<Arc<Heap>, String>> {
        lock(&self.heap).clone()
    }

    fn opened(&self) -> Result<Arc<Heap>, String> {
        let mut tell = |share: f64| self.done.store((share * 1e6) as u32, Ordering::Relaxed);
        (self.open)(&mut tell).map(Arc::new)
    }

    /// Computes what the first views of a heap show, and saves it in the index, so that it is available at
    /// once the next time.
    fn prepare(&self, heap: &Heap) {
        let RootsQuestion { depth, number, .. } = RootsQuestion::default();
        roots(heap, &RootsShape { depth, limit: number });
        heap.class_totals();
        let is_over = lock(&self.is_over);
        if !*is_over {
            heap.keep();
        }
    }
}

impl Snapshots {
    /// Starts to read the snapshots in the background: the last one first, because users look at it first.
    pub fn start(all: Vec<Arc<SnapshotFile>>) -> Arc<Snapshots> {
        let snapshots = Arc::new(Snapshots { all });
        let work = {
            let snapshots = snapshots.clone();
            move || {
                let Some(last) = snapshots.all.last() else { return };
                if let Ok(heap) = snapshots.heap(last) {
                    last.prepare(&heap);
                }
                if snapshots.all.len() > 1 {
                    snapshots.all.iter().for_each(|file| drop(snapshots.sums(file)));
                }
            }
        };
        // Without a thread, the first question opens the snapshot.
        drop(thread::Builder::new().name("read snapshots".to_owned()).spawn(work));
        snapshots
    }

    /// The heap; waits until it is open.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn heap(&self, file: &SnapshotFile) -> Result<Arc<Heap>, QuestionError> {
        file.used.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if let Some(heap) = file.open_heap() {
            return heap.map_err(QuestionError::Broken);
        }
        let _one = file.turn();
        let heap = match file.open_heap() {
            Some(heap) => heap,
            None => {
                let heap = file.opened();
                *lock(&file.heap) = Some(heap.clone());
                self.close_least_recently_used();
                heap
            }
        };
        heap.map_err(QuestionError::Broken)
    }

    /// The sums; waits until they are computed.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn sums(&self, file: &SnapshotFile) -> Result<Arc<HeapSums>, QuestionError> {
        if file.sums.get().is_none() {
            let _one = file.turn();
            file.sums.get_or_init(|| {
                // A heap that is opened only for the sums is closed at once.
                let heap = file.open_heap().unwrap_or_else(|| file.opened())?;
                if file.stays {
                    *lock(&file.heap) = Some(Ok(heap.clone()));
                }
                Ok(Arc::new(HeapSums::of(&heap)))
            });
        }
        match file.sums.get() {
            Some(Ok(sums)) => Ok(sums.clone()),
            Some(Err(why)) => Err(QuestionError::Broken(why.clone())),
            None => Err(QuestionError::Broken("the snapshot is not counted: a bug".to_owned())),
        }
    }

    /// Closes heaps until the others fit into the budget. Questions in progress keep theirs until they are
    /// done.
    fn close_least_recently_used(&self) {
        let open = self.all.iter().filter_map(|file| match file.open_heap() {
            Some(Ok(heap)) => {
                Some((file.used.load(Ordering::Relaxed), heap.memory_bytes(), file.clone()))
            }
            _ => None,
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by_key(|(used, ..)| *used);
        let mut taken: u64 = open.iter().map(|(_, bytes, _)| bytes).sum();
        let most_recent = open.pop();
        drop(most_recent);
        for (_, bytes, file) in open.into_iter().filter(|(.., file)| !file.stays) {
            if taken <= BUDGET {
                return;
            }
            *lock(&file.heap) = None;
            taken -= bytes;
        }
    }
}
