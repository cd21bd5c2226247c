//! What the agent has the runtime keep for each sampled block: which allocation of which recording it is.

/// Bits for the number of the allocation. The rest, but for the two that OCaml needs, is the recording's.
pub const OBJECT_BITS: u32 = 52;

/// An allocation that was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Recordings of a process are counted: a forked child still has its parent's blocks.
    pub recording: u64,
    /// The number of the allocation in the trace.
    pub object: u64,
}

/// Reads what the runtime keeps, an OCaml integer; none if it is something else.
pub fn read(value: u64) -> Option<Token> {
    let bits = value >> 1;
    let token = Token { recording: bits >> OBJECT_BITS, object: bits & ((1 << OBJECT_BITS) - 1) };
    (value & 1 == 1).then_some(token)
}
