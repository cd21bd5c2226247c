//! The threads that share the work of a command.

mod reserved;

use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Context;

use crate::failure::Failure;
pub use reserved::ReservedThread;

/// The context of an error, mostly because of `ulimit -u`, which also counts threads.
pub const NO_THREAD: &str = "cannot start a thread";

/// Gives Rayon its threads: one for each processor, or as many as there can be where processes are limited (`ulimit -u`). Rayon itself
/// panics if it cannot have all of them.
///
/// # Errors
/// If there can be none.
pub fn prepare() -> Result<(), Failure> {
    let wanted = thread::available_parallelism().map_or(1, usize::from);
    let mut threads = vec![ReservedThread::<()>::new().context(NO_THREAD)?];
    threads.extend((1..wanted).map_while(|_| ReservedThread::new().ok()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.len());
    let threads = Mutex::new(threads);
    let pool = pool.spawn_handler(|work| {
        let thread = threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let thread = thread.ok_or(std::io::ErrorKind::WouldBlock)?;
        thread.run(|| work.run());
        Ok(())
    });
    // It fails only if the threads are there already.
    let _ = pool.build_global();
    Ok(())
}
