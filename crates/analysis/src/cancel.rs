//! Giving up: whoever asked no longer wants the answer.
//!
//! Questions are answered by loops in many places, some on threads of rayon's. Handing a token to all of them would put it
//! into every signature. So a token belongs to the thread that answers, loops look at it now and then ([`check`]), and one that
//! finds it cancelled unwinds to where the answer was asked for ([`Cancel::run`]), as if it had panicked, but without a
//! message. A value that several questions share is then not there yet; the next question that needs it computes it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a question that nobody wants its answer any more.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// Nobody wants the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

thread_local! {
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl Cancel {
    /// From now on nobody wants the answer.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether nobody wants it.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Computes an answer, unless or until it is cancelled.
    ///
    /// # Errors
    /// It was cancelled.
    ///
    /// # Panics
    /// If the work does.
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

    /// Gives up if nobody wants the answer.
    pub(crate) fn check(&self) {
        if self.is_cancelled() {
            panic::resume_unwind(Box::new(Cancelled));
        }
    }
}

/// Gives up if nobody wants the answer that this thread is computing.
#[inline]
pub(crate) fn check() {
    CURRENT.with_borrow(|current| current.as_ref().map(Cancel::check));
}

/// The token of this thread, to be looked at by others that work for it.
pub(crate) fn current() -> Option<Cancel> {
    CURRENT.with_borrow(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_answer_is_given_up_wherever_it_is_computed() {
        let cancel = Cancel::default();
        let pieces: Vec<usize> = (0..1000).collect();
        let given_up = cancel.run(|| {
            crate::parallel::map(&pieces, |&piece| {
                if piece == 10 {
                    cancel.cancel();
                }
                piece
            })
            .len()
        });
        assert_eq!(given_up, Err(Cancelled));
        assert_eq!(cancel.run(|| 1), Err(Cancelled));
        assert_eq!(Cancel::default().run(|| 1), Ok(1));
    }

    #[test]
    fn panics_are_passed_on() {
        let panicked = panic::catch_unwind(|| {
            let _ = Cancel::default().run(|| panic::resume_unwind(Box::new("panicked")));
        });
        assert!(panicked.is_err());
    }
}
