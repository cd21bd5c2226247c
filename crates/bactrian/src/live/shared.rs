//! A session that is kept up to date by a thread, for the page: whoever asks sees what is known at that time.
//!
//! Questions only look. Nothing is ever asked of the program from here; snapshots are taken from outside of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bactrian_analysis::live::source::{LiveNow, LiveSource, LiveState};

use super::{Session, Status};

/// So often what has come is taken in.
const EVERY: Duration = Duration::from_millis(50);
/// So many sentences for people are kept.
const NOTICES: usize = 20;

/// A session that several look at.
#[derive(Clone)]
pub struct SharedSession(Arc<Mutex<Inner>>);

struct Inner {
    /// None: it is over with watching, and the program is on its own.
    session: Option<Session>,
    notices: Vec<String>,
}

impl SharedSession {
    /// Takes in what comes from now on, in the background.
    pub fn start(session: Session) -> SharedSession {
        let shared = SharedSession(Arc::new(Mutex::new(Inner {
            session: Some(session),
            notices: Vec::new(),
        })));
        let own = shared.clone();
        thread::spawn(move || {
            while own.lock().take_in() {
                thread::sleep(EVERY);
            }
        });
        shared
    }

    /// Waits until no more will come: until a recording is read.
    pub fn wait(&self) {
        let is_over = || self.lock().session.as_ref().is_none_or(Session::is_over);
        while !is_over() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops watching; gives the number of the process.
    pub fn stop(&self) -> u32 {
        let session = self.lock().session.take();
        session.map_or(0, |session| session.database().program().pid)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes in what has come; says whether more may come.
    fn take_in(&mut self) -> bool {
        let Some(session) = &mut self.session else { return false };
        // It is not recorded here, so that nothing can go wrong in it.
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
