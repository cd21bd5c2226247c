//! Reassembles frames from a stream that arrives in pieces.

use super::Malformed;

/// The longest frame that a client accepts.
pub const MAX_FRAME: usize = 16 << 20;
/// The longest frame that a program accepts from a client.
pub const MAX_REQUEST: usize = 64 << 10;

/// The size of the length field, which counts the type and the payload.
pub(super) const HEADER: usize = 4;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its payload.
    pub body: Vec<u8>,
}

/// Collects bytes and returns complete frames.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    /// The number of bytes at the start of `bytes` that were returned already.
    start: usize,
    /// The number of returned bytes that were dropped from `bytes`.
    before: u64,
    longest: usize,
}

impl Default for Frames {
    /// Accepts frames of up to [`MAX_FRAME`] bytes.
    fn default() -> Frames {
        Frames::up_to(MAX_FRAME)
    }
}

impl Frames {
    /// Accepts frames of up to `longest` bytes.
    pub fn up_to(longest: usize) -> Frames {
        Frames { bytes: Vec::new(), start: 0, before: 0, longest }
    }

    /// Appends bytes from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.before += self.start as u64;
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete frame, if there is one.
    ///
    /// # Errors
    /// If the frame is empty or too long; nothing after it can be read.
    #[allow(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Frame>, Malformed> {
        let rest = &self.bytes[self.start..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length == 0 || length > self.longest {
            let reason = if length == 0 { "an empty frame" } else { "a frame that is too long" };
            return Err(Malformed { offset: self.offset(), reason });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = Frame { kind: rest[0], body: rest[1..length].to_vec() };
        self.start += HEADER + length;
        Ok(Some(frame))
    }

    /// The number of bytes of the stream that were returned as frames.
    pub fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    /// Whether no bytes are left over.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }
}
