//! What numbers are called that every OCaml program has, whoever tells them. Programs may not observe under these names.

/// Bytes of the heap.
pub const HEAP: &str = "runtime.heap";
/// Bytes of the heap that are not free.
pub const LIVE: &str = "runtime.live";
/// Bytes allocated since the start.
pub const ALLOCATED: &str = "runtime.allocated";
/// Bytes that went from the minor to the major heap since the start.
pub const PROMOTED: &str = "runtime.promoted";
/// Minor collections since the start.
pub const MINOR_COLLECTIONS: &str = "runtime.minor_collections";
/// Major cycles since the start.
pub const MAJOR_COLLECTIONS: &str = "runtime.major_collections";
/// Compactions since the start.
pub const COMPACTIONS: &str = "runtime.compactions";
/// How long the program stood still for the collector: a histogram in nanoseconds, since the start.
pub const PAUSES: &str = "runtime.pauses";
/// Domains that run.
pub const DOMAINS: &str = "runtime.domains";
/// Events of the runtime that were overwritten before they could be read.
pub const LOST_EVENTS: &str = "runtime.lost_events";
/// Bytes of memory in use, as the system counts them.
pub const RSS: &str = "process.rss";
/// Nanoseconds of processor time since the start.
pub const CPU: &str = "process.cpu";
/// Threads.
pub const THREADS: &str = "process.threads";
/// Where the program allocates.
pub const SITES: &str = "sites";

/// Whether a name is one of the runtime's or the system's.
pub fn is_reserved(name: &str) -> bool {
    name == SITES || name.starts_with("runtime.") || name.starts_with("process.")
}
