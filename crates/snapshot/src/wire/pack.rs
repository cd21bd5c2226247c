//! Compressed contents of sections, with a bounded ratio.
//!
//! zstd can expand a few bytes to gigabytes, so a reader could not trust any announced length. Here contents
//! are never more than [`MAX_RATIO`] times as long as the stored bytes: a writer that compresses better adds a
//! skippable frame of zeros, and a reader rejects anything that announces more. That costs next to nothing and
//! bounds every reader's memory by the size of its file.

use std::io;

use super::{Fault, Parse};

/// The maximum ratio of contents to stored bytes.
pub(crate) const MAX_RATIO: u64 = 256;
/// Shorter contents are not compressed.
const SHORTEST: usize = 64;
/// Begins a frame that zstd decoders skip: a magic number, followed by a length.
const SKIPPABLE: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
const SKIPPABLE_HEADER: usize = 8;

/// Contents of a section, ready to be stored.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub bytes: Vec<u8>,
    /// Length before compression.
    pub raw: u64,
    pub is_compressed: bool,
    /// CRC-32 of `bytes`.
    pub sum: u32,
}

impl Packed {
    /// Uncompressed contents.
    pub fn plain(bytes: Vec<u8>) -> Packed {
        let (raw, sum) = (bytes.len() as u64, crc32fast::hash(&bytes));
        Packed { bytes, raw, is_compressed: false, sum }
    }
}

/// A compressor. It holds zstd's context, which takes a while to create.
pub(crate) struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    pub fn new(level: i32) -> io::Result<Packer> {
        zstd::bulk::Compressor::new(level).map(Packer)
    }

    pub fn pack(&mut self, raw: &[u8]) -> io::Result<Packed> {
        if raw.len() < SHORTEST {
            return Ok(Packed::plain(raw.to_vec()));
        }
        let mut bytes = self.0.compress(raw)?;
        if bytes.len() >= raw.len() {
            return Ok(Packed::plain(raw.to_vec()));
        }
        let least = (raw.len() as u64).div_ceil(MAX_RATIO) as usize;
        if bytes.len() < least {
            let padding = (least - bytes.len()).saturating_sub(SKIPPABLE_HEADER);
            bytes.extend_from_slice(&SKIPPABLE);
            bytes.extend_from_slice(&(padding as u32).to_le_bytes());
            bytes.resize(bytes.len() + padding, 0);
        }
        let sum = crc32fast::hash(&bytes);
        Ok(Packed { bytes, raw: raw.len() as u64, is_compressed: true, sum })
    }
}

/// The contents of a section that was stored as `bytes`.
pub(crate) fn unpack(bytes: &[u8], raw: u64, is_compressed: bool) -> Parse<Vec<u8>> {
    if !is_compressed {
        let same = bytes.len() as u64 == raw;
        return if same { Ok(bytes.to_vec()) } else { Err(Fault("its lengths disagree")) };
    }
    if raw > bytes.len() as u64 * MAX_RATIO {
        return Err(Fault("its announced length is impossible"));
    }
    let Ok(contents) = zstd::bulk::decompress(bytes, raw as usize) else {
        return Err(Fault("it cannot be decompressed"));
    };
    match contents.len() as u64 == raw {
        true => Ok(contents),
        false => Err(Fault("its length is not the announced one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(raw: &[u8]) -> Packed {
        let packed = Packer::new(1).and_then(|mut packer| packer.pack(raw)).expect("it packs");
        assert_eq!(unpack(&packed.bytes, packed.raw, packed.is_compressed).as_deref(), Ok(raw));
        packed
    }

    #[test]
    fn packed_contents_round_trip() {
        assert!(!round(b"").is_compressed);
        assert!(!round(&[7; SHORTEST - 1]).is_compressed);
        assert!(round(&[7; 1000]).is_compressed);
        let noise: Vec<u8> =
            (0..1000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        round(&noise);
    }

    #[test]
    fn the_ratio_holds_whatever_is_packed() {
        for length in [64, 300, 4096, 70_000, 1 << 20, 10_000_000] {
            let packed = round(&vec![0; length]);
            assert!(packed.raw <= packed.bytes.len() as u64 * MAX_RATIO, "{length}");
            assert!(packed.bytes.len() < length / 128 + 100, "{length}");
        }
    }

    #[test]
    fn exaggerated_lengths_are_rejected() {
        let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 1).expect("zstd compresses");
        assert!(unpack(&bomb, 1 << 20, true).is_err());
        assert!(unpack(&bomb, 1000, true).is_err());
        assert!(unpack(&bomb, u64::MAX, true).is_err());
        assert!(unpack(b"", 0, true).is_ok_and(|contents| contents.is_empty()));
        assert!(unpack(b"abc", 4, false).is_err());
    }
}
