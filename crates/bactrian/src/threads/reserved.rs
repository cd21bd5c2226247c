//! Threads that exist before the program that they are for: where processes are limited, there may be none, and after the start of
//! the program it would be too late to find this out.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

type Work<R> = Box<dyn FnOnce() -> R + Send>;

/// A thread that waits for its work; without any, it ends.
pub struct ReservedThread<R> {
    work: Sender<Work<R>>,
    thread: JoinHandle<R>,
}

impl<R: Default + Send + 'static> ReservedThread<R> {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there can be no other thread.
    pub fn new() -> io::Result<ReservedThread<R>> {
        let (work, wanted) = channel::<Work<R>>();
        let thread = thread::Builder::new()
            .spawn(move || wanted.recv().map(|work| work()).unwrap_or_default())?;
        Ok(ReservedThread { work, thread })
    }

    /// Does some work on the thread.
    pub fn run(self, work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
        // It waits for that.
        let _ = self.work.send(Box::new(work));
        self.thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_thread_does_its_work_or_ends_without_any() {
        let thread = ReservedThread::new().expect("a thread");
        assert_eq!(thread.run(|| 7).join().expect("it ends"), 7);
        let ReservedThread::<u32> { work, thread } = ReservedThread::new().expect("a thread");
        drop(work);
        assert_eq!(thread.join().expect("it ends"), 0);
    }
}
