//! How OCaml values look in memory (64 bits).

/// A tagged integer.
pub const fn integer(n: usize) -> usize {
    n << 1 | 1
}

/// `()`, `None`, `[]` and `false`.
pub const UNIT: usize = integer(0);

/// Whether a value is a pointer to a block.
pub const fn is_block(value: usize) -> bool {
    value & 1 == 0
}

/// Tags of blocks.
pub mod tag {
    /// Closures.
    pub const CLOSURE: u8 = 247;
    /// Boxed floats.
    pub const DOUBLE: u8 = 253;
}

/// The header of a block that lives outside the heap: OCaml 4 takes it for marked, OCaml 5 for not
/// markable, and neither looks further.
pub const fn static_header(words: usize, tag: u8) -> usize {
    words << 10 | 3 << 8 | tag as usize
}

/// The number of words of a block, from its header.
pub const fn header_words(header: usize) -> usize {
    // OCaml 5 may be built to keep the upper bits for itself; no block is that long.
    (header >> 10) & ((1 << 44) - 1)
}

/// The tag of a block, from its header.
pub const fn header_tag(header: usize) -> u8 {
    header as u8
}

/// The second word of a closure of one argument whose environment starts after it (since OCaml 4.12;
/// before, it is the arity as a tagged integer, and the upper bits do not matter to who calls it).
pub const CLOSURE_INFO: usize = 1 << 56 | 2 << 1 | 1;
