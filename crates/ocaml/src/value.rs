//! The representation of OCaml values in memory (64 bits).

/// A tagged integer.
pub const fn integer(n: usize) -> usize {
    n << 1 | 1
}

/// `()`, `None`, `[]` and `false`.
pub const UNIT: usize = integer(0);

/// Whether the result of a callback encodes an exception that it raised.
pub const fn is_exception(result: usize) -> bool {
    result & 3 == 2
}

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

/// The header of a block outside the heap. OCaml 4 considers it marked, OCaml 5 not markable, and neither scans
/// it further.
pub const fn static_header(words: usize, tag: u8) -> usize {
    words << 10 | 3 << 8 | tag as usize
}

/// The size of a block in words, from its header.
pub const fn header_words(header: usize) -> usize {
    // OCaml 5 may be configured to reserve the upper bits; no block is that long.
    (header >> 10) & ((1 << 44) - 1)
}

/// The tag of a block, from its header.
pub const fn header_tag(header: usize) -> u8 {
    header as u8
}

/// The second word of a closure with one argument whose environment starts right after it (since OCaml 4.12).
/// Before, it is the arity as a tagged integer, and callers ignore the upper bits.
pub const CLOSURE_INFO: usize = 1 << 56 | 2 << 1 | 1;

/// The size in words of a function within a closure, and the code that takes all its arguments at once, from
/// the function's first words. A function of several arguments (or of a tuple) begins with code that takes one
/// at a time, and has the other code in its third word (since OCaml 4.12).
pub const fn closure_function(words: [u64; 3]) -> (usize, u64) {
    let [code, info, direct] = words;
    // Signed: functions of tuples have a negative number of arguments; bytecode has 0.
    let arguments = info as i64 >> 56;
    if arguments == 0 || arguments == 1 { (2, code) } else { (3, direct) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_several_arguments_have_their_code_third() {
        let info = |arguments: i64| (arguments << 56) as u64 | 3 << 1 | 1;
        for (arguments, expected) in
            [(0, (2, 8)), (1, (2, 8)), (2, (3, 16)), (-2, (3, 16)), (100, (3, 16))]
        {
            assert_eq!(closure_function([8, info(arguments), 16]), expected, "{arguments}");
        }
        assert_eq!(closure_function([8, CLOSURE_INFO as u64, 16]), (2, 8));
    }
}
