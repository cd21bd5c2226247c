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
/// Nanoseconds in the collector since the start, all domains together.
pub const COLLECTOR_TIME: &str = "runtime.collector_time";
/// Domains that run.
pub const DOMAINS: &str = "runtime.domains";
/// Events of the runtime that were overwritten before they could be read.
pub const LOST_EVENTS: &str = "runtime.lost_events";
/// Bytes of memory in use, as the system counts them.
pub const RSS: &str = "process.rss";
/// Bytes of memory by their use, of which together the memory is: blocks of the major heap.
pub const HEAP_USED: &str = "process.memory.heap_used";
/// What else of the major heap was touched once.
pub const HEAP_FREE: &str = "process.memory.heap_free";
/// The minor heaps.
pub const MINOR_HEAPS: &str = "process.memory.minor_heaps";
/// Held by bigarrays and other custom blocks, as far as samples tell.
pub const EXTERNAL: &str = "process.memory.external";
/// Allocated by C, but for that.
pub const C_MEMORY: &str = "process.memory.c";
/// Stacks of threads.
pub const STACKS: &str = "process.memory.stacks";
/// Code and data of the program and its libraries.
pub const CODE: &str = "process.memory.code";
/// Other files, and memory that is shared with other processes.
pub const SHARED: &str = "process.memory.shared";
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
