//! Cancellation and progress of an answer that is being computed.
//!
//! Questions are answered by loops in many places, some on rayon threads. Passing a token to all of them
//! would put it into every signature, so the token belongs to the thread that computes the answer. Loops
//! check it occasionally ([`check`]). If it is cancelled, they unwind to where the answer was requested
//! ([`UnderWay::run`]), like a panic but without a message. A value shared by several questions is then not
//! available; the next question that needs it computes it.
//!
//! Loops of known length report their progress ([`Step`]). The number of steps of an answer is not known.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;

/// An answer that is being computed.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: AtomicBool,
    /// The number of the step in the upper half, and its progress in millionths in the lower half.
    progress: AtomicU64,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepProgress {
    /// Which step it is at, from 1; 0 before the first.
    pub step: u32,
    /// How much of that step is done, up to 1.
    pub done: f64,
}

/// The answer was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

thread_local! {
    static CURRENT: RefCell<Option<UnderWay>> = const { RefCell::new(None) };
}

impl UnderWay {
    /// Cancels the answer.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// Whether both are the same answer.
    pub fn is(&self, other: &UnderWay) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The progress.
    pub fn progress(&self) -> StepProgress {
        let progress = self.0.progress.load(Ordering::Relaxed);
        let done = (progress & u64::from(u32::MAX)) as f64 / MILLION;
        StepProgress { step: (progress >> 32) as u32, done }
    }

    /// Computes an answer, unless or until it is cancelled.
    ///
    /// # Errors
    /// If it was cancelled.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
        let before = CURRENT.replace(Some(self.clone()));
        let done = panic::catch_unwind(AssertUnwindSafe(|| {
            check();
            work()
        }));
        CURRENT.set(before);
        done.map_err(|payload: Box<dyn Any + Send>| match payload.downcast::<Cancelled>() {
            Ok(cancelled) => *cancelled,
            Err(panicked) => panic::resume_unwind(panicked),
        })
    }

    fn check(&self) {
        if self.is_cancelled() {
            panic::resume_unwind(Box::new(Cancelled));
        }
    }
}

const MILLION: f64 = 1e6;

/// Unwinds if the answer that this thread is computing was cancelled.
#[inline]
pub(crate) fn check() {
    CURRENT.with_borrow(|current| current.as_ref().map(UnderWay::check));
}

/// Waits for work of other threads, unless or until the answer that this thread is computing is cancelled.
/// `share` is the progress of that work.
pub fn wait_until<T>(mut ready: impl FnMut() -> Option<T>, share: impl Fn() -> f64) -> T {
    let mut step = None;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        let step = step.get_or_insert_with(|| Step::of(1));
        step.tell(share());
        step.check();
        thread::sleep(Duration::from_millis(2));
    }
}

/// A loop of known length, as a step of the answer that this thread is computing. Other threads may
/// participate.
pub(crate) struct Step {
    answer: Option<UnderWay>,
    number: u64,
    all: usize,
    done: AtomicUsize,
}

impl Step {
    /// A step of `all` pieces.
    pub fn of(all: usize) -> Step {
        let answer = CURRENT.with_borrow(Clone::clone);
        let before = answer.as_ref().map_or(0, |it| it.0.progress.load(Ordering::Relaxed) >> 32);
        let step = Step { answer, number: before + 1, all, done: AtomicUsize::new(0) };
        step.tell(0.0);
        step
    }

    /// Unwinds if the answer was cancelled.
    pub fn check(&self) {
        self.answer.iter().for_each(UnderWay::check);
    }

    /// Records that a piece is done.
    pub fn did_one(&self) {
        if self.answer.is_some() {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.tell(done as f64 / self.all as f64);
        }
    }

    /// Reports that this fraction is done.
    pub fn tell(&self, share: f64) {
        if let Some(UnderWay(state)) = &self.answer {
            let millionths = (share.clamp(0.0, 1.0) * MILLION) as u64;
            state.progress.store(self.number << 32 | millionths, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_answer_unwinds_from_any_thread() {
        let answer = UnderWay::default();
        let pieces: Vec<usize> = (0..1000).collect();
        let given_up = answer.run(|| {
            crate::parallel::map(&pieces, |&piece| {
                if piece == 10 {
                    answer.cancel();
                }
                piece
            })
            .len()
        });
        assert_eq!(given_up, Err(Cancelled));
        assert_eq!(answer.run(|| 1), Err(Cancelled));
        assert_eq!(UnderWay::default().run(|| 1), Ok(1));
    }

    #[test]
    fn panics_are_passed_on() {
        let panicked = panic::catch_unwind(|| {
            let _ = UnderWay::default().run(|| panic::resume_unwind(Box::new("panicked")));
        });
        assert!(panicked.is_err());
    }

    #[test]
    fn loops_report_their_progress() {
        let answer = UnderWay::default();
        assert_eq!(answer.progress(), StepProgress::default());
        let pieces: Vec<usize> = (0..1000).collect();
        let told = answer.run(|| {
            crate::parallel::map(&pieces, |&piece| piece);
            let first = answer.progress();
            let mut seen = Vec::new();
            crate::parallel::map_then(&pieces, |&p| p, |_, _| seen.push(answer.progress()));
            (first, seen)
        });
        let (first, seen) = told.expect("not cancelled");
        assert_eq!(first, StepProgress { step: 1, done: 1.0 });
        assert!(seen.iter().all(|progress| progress.step == 2), "batches are not steps");
        assert!(seen.is_sorted_by(|a, b| a.done <= b.done));
        assert!(seen[0].done < 0.5 && answer.progress().done == 1.0, "{:?}", seen[0]);
    }
}
