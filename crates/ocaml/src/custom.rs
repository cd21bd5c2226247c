//! Custom blocks: what C keeps for OCaml, and how much memory outside the heap hangs on them.
//!
//! The first word of a custom block points to its operations, whose first word points to an identifier. The rest
//! is the business of who made it. Known here is what comes with OCaml.

use crate::version::Version;

/// Kinds of custom blocks that hold memory outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custom {
    /// A bigarray: [`Bigarray::read`].
    Bigarray,
    /// A channel: its second word points to a [`Channel`].
    Channel,
    /// What its second word points to has this many bytes, always.
    Fixed(u64),
    /// A boxed integer, of so many bytes.
    Integer(u64),
    /// It is not known here what it holds.
    Unknown,
}

impl Custom {
    /// The kind with this identifier.
    pub fn of(identifier: &[u8]) -> Custom {
        match identifier {
            // Until 4.06 the first; mapped files have another one.
            b"_bigarray" | b"_bigarr02" => Custom::Bigarray,
            b"_chan" => Custom::Channel,
            // A mutex, a condition, both and a flag, as glibc has them.
            b"_mutex" => Custom::Fixed(40),
            b"_condition" => Custom::Fixed(48),
            b"_threadstatus" => Custom::Fixed(96),
            b"_i" => Custom::Integer(4),
            b"_j" | b"_n" => Custom::Integer(8),
            _ => Custom::Unknown,
        }
    }
}

/// Whose the memory of a bigarray is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// C's: it is not freed with the bigarray.
    C,
    /// The bigarray's, and that of others that share it.
    Bigarray,
    /// A mapped file's.
    File,
}

/// A bigarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bigarray {
    /// Where its elements are.
    pub data: u64,
    /// How many bytes they take.
    pub bytes: u64,
    /// Whose memory that is.
    pub owner: Owner,
    /// What it shares its memory with others by, 0 if it does not: `{number of arrays, memory, bytes}`, with the
    /// bytes only for mapped files.
    pub proxy: u64,
}

impl Bigarray {
    /// Words before the lengths.
    const HEAD: usize = 5;
    const MOST_DIMENSIONS: u64 = 16;

    /// Reads the words of a custom block, from its operations on. None if they make no sense.
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
        // No more than a process can address.
        (bytes < 1 << 47).then_some(Bigarray { data, bytes, owner, proxy })
    }
}

/// A channel's structure, which is outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Bytes of the structure.
    pub bytes: u64,
    /// Where in it a pointer to the buffer's end is, and one to its beginning, in bytes; none where the buffer is
    /// part of the structure.
    pub buffer: Option<(u64, u64)>,
}

impl Channel {
    /// Nobody has longer buffers.
    pub const LONGEST_BUFFER: u64 = 1 << 20;

    /// Channels of a version.
    pub fn of(version: Version) -> Channel {
        let with_buffer = |rest: u64| Channel { bytes: rest + (64 << 10), buffer: None };
        match (version.major, version.minor) {
            // 4.12 and before had two more numbers.
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
    fn bigarrays_tell_how_many_bytes_they_take() {
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
        // What makes no sense.
        check(OWN | 14, &[1], None);
        check(0x600, &[1], None);
        check(OWN, &[u64::MAX, 2], None);
        check(OWN, &[1 << 46], None);
        check(OWN, &[1; 17], None);
        assert_eq!(Bigarray::read(&[1, 2, 1, OWN, 0]), None);
        assert_eq!(Bigarray::read(&[1, 2, 3]), None);
    }

    #[test]
    fn channels_are_as_long_as_io_h_says() {
        for (major, minor, bytes) in
            [(4, 12, 65_624), (4, 13, 65_616), (4, 14, 65_616), (5, 1, 65_656), (5, 2, 128)]
        {
            assert_eq!(Channel::of(Version::new(major, minor)).bytes, bytes);
        }
    }
}
