//! What the agent has the runtime keep for each sampled block: which allocation of which recording it is.

/// Bits for the number of the allocation.
pub const OBJECT_BITS: u32 = 51;
/// Set if it is memory outside the heap, which is not promoted when the block that keeps it is.
pub const EXTERNAL: u64 = 1 << OBJECT_BITS;
/// Where the recording's number begins. It has the rest, but for the two bits that OCaml needs.
pub const RECORDING_SHIFT: u32 = OBJECT_BITS + 1;

/// Recordings of a process are counted up to this, and then again from 0: a forked child still gets to hear of its parent's
/// blocks, and a process that is recorded again of those of the recording before.
pub const RECORDINGS: u64 = 1 << 10;

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
    let token = Token { recording: bits >> RECORDING_SHIFT, object: bits & (EXTERNAL - 1) };
    (value & 1 == 1).then_some(token)
}
