//! A session that a thread keeps up to date, for the page: readers see the current data.
//!
//! Questions only read. No requests are sent to the program from here; snapshots are taken from outside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bactrian_analysis::live::source::{LiveNow, LiveSource, LiveState};

use super::{Session, Status};
use crate::threads::ReservedThread;

/// The interval between updates.
const EVERY: Duration = Duration::from_millis(50);
/// The most notices kept.
const NOTICES: usize = 20;

/// A session with several readers.
#[derive(Clone)]
pub struct SharedSession(Arc<Mutex<Inner>>);

struct Inner {
    /// None: observing has ended, and the program runs on its own.
    session: Option<Session>,
    notices: Vec<String>,
}

impl SharedSession {
    /// Receives messages on a thread from now on.
    pub fn start(session: Session, thread: ReservedThread<()>) -> SharedSession {
        let shared = SharedSession(Arc::new(Mutex::new(Inner {
            session: Some(session),
            notices: Vec::new(),
        })));
        let own = shared.clone();
        thread.run(move || {
            while own.lock().take_in() {
                thread::sleep(EVERY);
            }
        });
        shared
    }

    /// Waits until no more messages will arrive: until a recording was read.
    pub fn wait(&self) {
        let is_over = || self.lock().session.as_ref().is_none_or(Session::is_over);
        while !is_over() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops observing, and returns the process id.
    pub fn stop(&self) -> u32 {
        let session = self.lock().session.take();
        session.map_or(0, |session| session.database().program().pid)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Receives what has arrived. Returns whether more may arrive.
    fn take_in(&mut self) -> bool {
        let Some(session) = &mut self.session else { return false };
        // Nothing is recorded here, so nothing can fail.
        let _ = session.take_in();
        while let Some(notice) = session.notice() {
            if self.notices.last() != Some(&notice) {
                self.notices.push(notice);
            }
        }
        let old = self.notices.len().saturating_sub(NOTICES);
        self.notices.drain(..old);
        !session.is_over()
    }
}

impl LiveSource for SharedSession {
    fn look(&self, see: &mut dyn FnMut(&LiveNow<'_>)) {
        let inner = self.lock();
        let Some(session) = &inner.session else { return };
        let state = match session.status() {
            Status::Live => LiveState::Live,
            Status::Lost(reason) => LiveState::Lost(reason.clone()),
            Status::Replay => LiveState::Replay,
            Status::Over => LiveState::Over,
        };
        see(&LiveNow {
            database: session.database(),
            state: &state,
            is_over: session.is_over(),
            notices: &inner.notices,
        });
    }
}
