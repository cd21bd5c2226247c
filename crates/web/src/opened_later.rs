//! A heap that is opened when somebody wants it, and what is counted of it for a series.
//!
//! A series of large snapshots does not fit into memory. So what a series needs ([`HeapSums`]) is counted of one after the
//! other in the background, and each heap is let go of again, except those that a question was about: they stay.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use bactrian_analysis::heap::{Heap, HeapSums, RootsQuestion, roots};

use crate::answer::Failure;
use crate::evidence::Progress;

/// Opens a snapshot, and tells how far it has come. It may be asked to do so again.
pub type HeapOpener =
    Box<dyn Fn(&mut dyn FnMut(f64)) -> Result<Heap, String> + Send + Sync + 'static>;

/// A heap that is open, or will be.
#[derive(Clone)]
pub struct OpenedLater(Arc<Shared>);

struct Shared {
    open: HeapOpener,
    /// In millionths.
    done: AtomicU32,
    /// Whether a question is about it, so that it stays.
    is_wanted: AtomicBool,
    heap: OnceLock<Result<Heap, String>>,
    sums: OnceLock<Result<HeapSums, String>>,
    /// Held by who opens it.
    opening: Mutex<()>,
    /// Held by who writes its index; whether none may be written any more.
    is_over: Mutex<bool>,
}

impl OpenedLater {
    /// One that `stays` open is never let go of: it cannot be opened again.
    pub fn new(open: HeapOpener, stays: bool) -> OpenedLater {
        OpenedLater(Arc::new(Shared {
            open,
            done: AtomicU32::new(0),
            is_wanted: AtomicBool::new(stays),
            heap: OnceLock::new(),
            sums: OnceLock::new(),
            opening: Mutex::new(()),
            is_over: Mutex::new(false),
        }))
    }

    /// Computes what the first pictures of an open heap show, and keeps it in the snapshot's index, so that the next time they are
    /// there at once.
    fn prepare(&self) {
        let Some(Ok(heap)) = self.0.heap.get() else { return };
        roots(heap, &RootsQuestion { depth: 2, limit: 10 });
        heap.class_totals();
        let is_over = self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            heap.keep();
        }
    }

    /// Waits until no index is being written, and lets none be written after that: nothing is left half done.
    pub fn end(&self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// How far reading has come; a heap that was let go of is open again when it is wanted.
    pub fn progress(&self) -> Progress {
        let Shared { heap, sums, done, .. } = &*self.0;
        match (heap.get().map(Result::is_ok), sums.get().map(Result::is_ok)) {
            (Some(false), _) | (_, Some(false)) => Progress::Failed,
            (Some(true), _) | (_, Some(true)) => Progress::Open,
            (None, None) => Progress::Opening(f64::from(done.load(Ordering::Relaxed)) / 1e6),
        }
    }

    /// The heap, as soon as it is open. It stays open.
    pub fn heap(&self) -> Result<&Heap, Failure> {
        let shared = &*self.0;
        shared.is_wanted.store(true, Ordering::Relaxed);
        if shared.heap.get().is_none() {
            let _one = shared.opening.lock().unwrap_or_else(PoisonError::into_inner);
            shared.heap.get_or_init(|| shared.opened());
        }
        match shared.heap.get() {
            Some(Ok(heap)) => Ok(heap),
            Some(Err(why)) => Err(Failure::Broken(why.clone())),
            None => Err(Failure::Broken("the snapshot is not open: this is a bug".to_owned())),
        }
    }

    /// What is counted of it, as soon as it is; the heap is let go of if no question was about it.
    pub fn sums(&self) -> Result<&HeapSums, Failure> {
        let shared = &*self.0;
        if shared.sums.get().is_none() {
            let _one = shared.opening.lock().unwrap_or_else(PoisonError::into_inner);
            shared.sums.get_or_init(|| shared.counted());
        }
        match shared.sums.get() {
            Some(Ok(sums)) => Ok(sums),
            Some(Err(why)) => Err(Failure::Broken(why.clone())),
            None => Err(Failure::Broken("the snapshot is not counted: this is a bug".to_owned())),
        }
    }
}

impl Shared {
    fn opened(&self) -> Result<Heap, String> {
        let mut tell = |share: f64| self.done.store((share * 1e6) as u32, Ordering::Relaxed);
        (self.open)(&mut tell)
    }

    fn counted(&self) -> Result<HeapSums, String> {
        if let Some(heap) = self.heap.get() {
            return heap.as_ref().map(HeapSums::of).map_err(Clone::clone);
        }
        let heap = self.opened()?;
        let sums = HeapSums::of(&heap);
        if self.is_wanted.load(Ordering::Relaxed) {
            drop(self.heap.set(Ok(heap)));
        }
        Ok(sums)
    }
}

/// Opens the last snapshot, which is looked at first, prepares its first pictures, and counts all of them, one after the other, in the background.
pub fn start(all: Vec<OpenedLater>) {
    let work = move || {
        if let Some(last) = all.last() {
            drop(last.heap());
            last.prepare();
        }
        if all.len() > 1 {
            all.iter().for_each(|later| drop(later.sums()));
        }
    };
    // If there is no thread for it, who asks first waits for it.
    drop(thread::Builder::new().name("read snapshots".to_owned()).spawn(work));
}
