//! The value that the agent has the runtime keep for each sampled block: which allocation of which recording
//! it is.

/// Bits of the allocation's number.
pub const OBJECT_BITS: u32 = 51;
/// Set for memory outside the heap, which is not promoted together with the block that owns it.
pub const EXTERNAL: u64 = 1 << OBJECT_BITS;
/// The lowest bit of the recording's number. It has the remaining bits, except the two that OCaml needs.
pub const RECORDING_SHIFT: u32 = OBJECT_BITS + 1;

/// Recordings of a process are numbered modulo this. A forked child still receives events of its parent's
/// blocks, and a process that is recorded again those of the previous recording.
pub const RECORDINGS: u64 = 1 << 10;

/// A sampled allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The number of the recording, modulo [`RECORDINGS`].
    pub recording: u64,
    /// The number of the allocation within the trace.
    pub object: u64,
}

/// Decodes the value kept by the runtime, an OCaml integer; None if it is anything else.
pub fn read(value: u64) -> Option<Token> {
    let bits = value >> 1;
    let token = Token { recording: bits >> RECORDING_SHIFT, object: bits & (EXTERNAL - 1) };
    (value & 1 == 1).then_some(token)
}
