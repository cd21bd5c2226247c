//! The part of the Protocol Buffers encoding that a profile needs: integers, strings, packed arrays and nested
//! messages.
//!
//! The length of a message precedes it, so a message is built completely in memory and then written. The
//! outermost message has no length: its fields are written directly.

use std::io::{self, Write};

/// The wire type of integers.
const VARINT: u64 = 0;
/// The wire type of eight bytes.
const FIXED: u64 = 1;
/// The wire type of what begins with its length.
const LENGTH_DELIMITED: u64 = 2;

/// A message being built. It can be cleared and reused.
#[derive(Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Removes all fields.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds an integer. Zero is the default of an absent field and is not written.
    pub fn integer(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
    }

    /// An integer that takes eight bytes.
    pub fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | FIXED);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Bytes.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.delimited(field, bytes);
    }

    /// A string.
    pub fn string(&mut self, field: u64, text: &str) {
        self.delimited(field, text.as_bytes());
    }

    /// Adds a nested message.
    pub fn message(&mut self, field: u64, message: &Message) {
        self.delimited(field, &message.bytes);
    }

    /// Adds a packed array of integers.
    pub fn packed(&mut self, field: u64, values: &[u64]) {
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(values.iter().map(|&value| varint_length(value)).sum());
        values.iter().for_each(|&value| self.varint(value));
    }

    /// Writes the fields as those of the outermost message, and removes them.
    pub fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.clear();
        Ok(())
    }

    fn delimited(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Seven bits per byte, the lowest first; the top bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

fn varint_length(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification of the encoding.
    #[test]
    fn fields_are_encoded_as_described() {
        let mut inner = Message::default();
        inner.integer(1, 150);
        assert_eq!(inner.bytes, [0x08, 0x96, 0x01]);

        let mut outer = Message::default();
        outer.message(3, &inner);
        assert_eq!(outer.bytes, [0x1a, 0x03, 0x08, 0x96, 0x01]);

        outer.clear();
        outer.string(2, "testing");
        assert_eq!(outer.bytes, b"\x12\x07testing");

        outer.clear();
        outer.packed(6, &[3, 270, 86942]);
        assert_eq!(outer.bytes, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
    }

    #[test]
    fn lengths_are_those_written() {
        for value in [0, 1, 127, 128, 16383, 16384, u64::MAX >> 1, u64::MAX] {
            let mut message = Message::default();
            message.varint(value);
            assert_eq!(message.bytes.len() as u64, varint_length(value), "{value}");
        }
    }
}
