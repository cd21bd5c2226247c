//! What the memory of a process is used for.

use bactrian_live::{Database, Value, names};

/// Categories of memory, with their titles.
pub const USES: [(&str, &str); 8] = [
    (names::HEAP_USED, "heap in use"),
    (names::HEAP_FREE, "free in the heap"),
    (names::MINOR_HEAPS, "minor heaps"),
    (names::EXTERNAL, "bigarrays and the like"),
    (names::C_MEMORY, "C and stacks of fibers"),
    (names::STACKS, "stacks"),
    (names::CODE, "code and data"),
    (names::SHARED, "files and shared"),
];

/// What samples miss; shown where live sizes are.
pub const NOT_SEEN: &str = "Samples count a bigarray until it is collected. They miss memory that its \
    sub-arrays keep after that (ocaml#14938), and memory that C code allocates. The table of the \
    process's memory by use includes both.";

/// The memory in each category at a moment, as far as it is known.
pub fn memory_use(database: &Database, at: u64) -> Vec<(&'static str, f64)> {
    let known = |(name, title): (&str, &'static str)| {
        let (_, value) = database.named_at(name, at)?.at(at)?;
        Some((title, first_number(value)?))
    };
    USES.into_iter().filter_map(known).collect()
}

/// The first number of a value, if it has one.
pub fn first_number(value: &Value) -> Option<f64> {
    value.numbers().into_iter().next().map(|(_, number)| number)
}
