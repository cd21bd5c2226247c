//! Threads that share the work of reading a heap.

use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Starts a thread that helps this one. Where processes are limited (`ulimit -u`) there may be none, and this one does all the work.
pub fn help<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).ok()
}
