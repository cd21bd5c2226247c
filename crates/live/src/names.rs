//! Names of the numbers that every OCaml program has, whatever their source. Programs may not use these names
//! for their own observers.

/// Size of the heap, in bytes.
pub const HEAP: &str = "runtime.heap";
/// Bytes of the heap in use.
pub const LIVE: &str = "runtime.live";
/// Bytes allocated since the start.
pub const ALLOCATED: &str = "runtime.allocated";
/// Bytes promoted from the minor to the major heap since the start.
pub const PROMOTED: &str = "runtime.promoted";
/// Minor collections since the start.
pub const MINOR_COLLECTIONS: &str = "runtime.minor_collections";
/// Major cycles since the start.
pub const MAJOR_COLLECTIONS: &str = "runtime.major_collections";
/// Compactions since the start.
pub const COMPACTIONS: &str = "runtime.compactions";
/// Pauses for garbage collection since the start: a histogram in nanoseconds.
pub const PAUSES: &str = "runtime.pauses";
/// Nanoseconds of garbage collection since the start, summed over all domains.
pub const COLLECTOR_TIME: &str = "runtime.collector_time";
/// Number of running domains.
pub const DOMAINS: &str = "runtime.domains";
/// Bytes of a minor heap: the parameter `s`, in words of 8 bytes.
pub const MINOR_HEAP_SIZE: &str = "runtime.minor_heap_size";
/// The parameter `o`, in percent.
pub const SPACE_OVERHEAD: &str = "runtime.space_overhead";
/// Runtime events that were overwritten in the ring buffer before they could be read.
pub const LOST_EVENTS: &str = "runtime.lost_events";
/// Resident set size in bytes, as the kernel counts it.
pub const RSS: &str = "process.rss";
/// Blocks of the major heap, in bytes. The first of the categories that together make up the process's
/// memory.
pub const HEAP_USED: &str = "process.memory.heap_used";
/// Free memory of the major heap that was touched once, in bytes.
pub const HEAP_FREE: &str = "process.memory.heap_free";
/// The minor heaps, in bytes.
pub const MINOR_HEAPS: &str = "process.memory.minor_heaps";
/// Memory outside the heap that bigarrays and other custom blocks hold, estimated from samples, in bytes.
pub const EXTERNAL: &str = "process.memory.external";
/// Other memory allocated by C, in bytes.
pub const C_MEMORY: &str = "process.memory.c";
/// Thread stacks, in bytes.
pub const STACKS: &str = "process.memory.stacks";
/// Code and data of the program and its libraries, in bytes.
pub const CODE: &str = "process.memory.code";
/// Other mapped files, and memory shared with other processes, in bytes.
pub const SHARED: &str = "process.memory.shared";
/// Nanoseconds of processor time since the start.
pub const CPU: &str = "process.cpu";
/// Number of threads.
pub const THREADS: &str = "process.threads";
/// Allocation sites.
pub const SITES: &str = "sites";

/// Whether a name is reserved for the runtime or the operating system.
pub fn is_reserved(name: &str) -> bool {
    name == SITES || name.starts_with("runtime.") || name.starts_with("process.")
}
