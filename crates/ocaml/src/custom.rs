//! Custom blocks: what C keeps for OCaml, and how much memory outside the heap belongs to them.
//!
//! The first word of a custom block points to its operations, whose first word points to an identifier. The
//! rest is known only to the code that made the block. This module knows the kinds that come with OCaml.

use crate::version::Version;

/// Kinds of custom blocks, by the memory that they hold outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custom {
    /// A bigarray: [`Bigarray::read`].
    Bigarray,
    /// A channel: its second word points to a [`Channel`].
    Channel,
    /// The structure to which its second word points always has this size in bytes.
    Fixed(u64),
    /// A boxed integer of this size in bytes.
    Integer(u64),
    /// It is unknown what it holds.
    Unknown,
}

impl Custom {
    /// The kind with this identifier.
    pub fn of(identifier: &[u8]) -> Custom {
        match identifier {
            // The first until 4.06; mapped files have another one.
            b"_bigarray" | b"_bigarr02" => Custom::Bigarray,
            b"_chan" => Custom::Channel,
            // Glibc's mutex; its condition; both and a flag.
            b"_mutex" => Custom::Fixed(40),
            b"_condition" => Custom::Fixed(48),
            b"_threadstatus" => Custom::Fixed(96),
            b"_i" => Custom::Integer(4),
            b"_j" | b"_n" => Custom::Integer(8),
            _ => Custom::Unknown,
        }
    }
}

/// The owner of a bigarray's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// C: it is not freed with the bigarray.
    C,
    /// The bigarray, and others that share it.
    Bigarray,
    /// A mapped file.
    File,
}

/// A bigarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bigarray {
    /// The address of its elements.
    pub data: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The owner of that memory.
    pub owner: Owner,
    /// The structure by which it shares its memory with other bigarrays, 0 if it does not: `{number of arrays,
    /// memory, bytes}`, with the bytes only for mapped files.
    pub proxy: u64,
}

impl Bigarray {
    /// Words before the lengths.
    const HEAD: usize = 5;
    const MOST_DIMENSIONS: u64 = 16;

    /// Parses the words of a custom block, beginning with its operations. None if they make no sense.
    pub fn read(words: &[u64]) -> Option<Bigarray> {
        let [_, data, dimensions, flags, proxy] = *words.first_chunk::<{ Bigarray::HEAD }>()?;
        if dimensions > Self::MOST_DIMENSIONS {
            return None;
        }
        let element = match flags & 0xff {
            0 | 6 => 4,
            1 | 7..=10 => 8,
            2 | 3 | 12 => 1,
            4 | 5 | 13 => 2,
            11 => 16,
            _ => return None,
        };
        let owner = match flags & 0x600 {
            0 => Owner::C,
            0x200 => Owner::Bigarray,
            0x400 => Owner::File,
            _ => return None,
        };
        let lengths = words.get(Self::HEAD..Self::HEAD + dimensions as usize)?;
        let bytes =
            lengths.iter().try_fold(element, |bytes: u64, length| bytes.checked_mul(*length))?;
        // At most what a process can address.
        (bytes < 1 << 47).then_some(Bigarray { data, bytes, owner, proxy })
    }
}

/// A channel's structure, which is outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Size of the structure in bytes.
    pub bytes: u64,
    /// The byte offsets in it of a pointer to the buffer's end and of one to its beginning; None if the buffer
    /// is part of the structure.
    pub buffer: Option<(u64, u64)>,
}

impl Channel {
    /// A bound that no real buffer reaches.
    pub const LONGEST_BUFFER: u64 = 1 << 20;

    /// The layout for a version.
    pub fn of(version: Version) -> Channel {
        let with_buffer = |rest: u64| Channel { bytes: rest + (64 << 10), buffer: None };
        match (version.major, version.minor) {
            // 4.12 and earlier had two more numbers.
            (..=4, ..=12) => with_buffer(88),
            (..=4, _) => with_buffer(80),
            (5, ..=1) => with_buffer(120),
            _ => Channel { bytes: 128, buffer: Some((16, 112)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bigarray_sizes_follow_from_kind_and_dimensions() {
        const OWN: u64 = 0x200;
        let check = |flags: u64, lengths: &[u64], bytes: Option<u64>| {
            let mut words = [0; 32];
            let head = [1, 2, lengths.len() as u64, flags, 0];
            for (word, value) in words.iter_mut().zip(head.iter().chain(lengths)) {
                *word = *value;
            }
            let found = Bigarray::read(&words[..head.len() + lengths.len()]);
            assert_eq!(found.map(|found| found.bytes), bytes, "{flags:#x} {lengths:?}");
        };
        check(OWN | 1, &[100], Some(800));
        check(OWN | 0x100 | 6, &[300, 200], Some(240_000));
        check(OWN | 11, &[2, 3, 4], Some(384));
        check(0x400 | 12, &[], Some(1));
        check(OWN | 13, &[7], Some(14));
        check(12, &[0], Some(0));
        // Nonsense.
        check(OWN | 14, &[1], None);
        check(0x600, &[1], None);
        check(OWN, &[u64::MAX, 2], None);
        check(OWN, &[1 << 46], None);
        check(OWN, &[1; 17], None);
        assert_eq!(Bigarray::read(&[1, 2, 1, OWN, 0]), None);
        assert_eq!(Bigarray::read(&[1, 2, 3]), None);
    }

    #[test]
    fn channel_sizes_are_those_of_io_h() {
        for (major, minor, bytes) in
            [(4, 12, 65_624), (4, 13, 65_616), (4, 14, 65_616), (5, 1, 65_656), (5, 2, 128)]
        {
            assert_eq!(Channel::of(Version::new(major, minor)).bytes, bytes);
        }
    }
}
