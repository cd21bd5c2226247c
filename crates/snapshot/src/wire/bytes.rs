//! Variable-length numbers (LEB128), and a cursor that never reads past the end.

/// Why bytes could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub &'static str);

pub(crate) type Parse<T> = Result<T, Fault>;

const SHORT: Fault = Fault("it ends inside a number");
const LONG: Fault = Fault("a number is longer than 64 bits");

/// Appends an unsigned number: seven bits per byte, the lowest first.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    // Bytes are appended together: one check for room, one store.
    let more = |shift: u32| (value >> shift) as u8 | 0x80;
    let last = |shift: u32| (value >> shift) as u8;
    if value < 1 << 7 {
        out.push(last(0));
    } else if value < 1 << 14 {
        out.extend_from_slice(&[more(0), last(7)]);
    } else if value < 1 << 21 {
        out.extend_from_slice(&[more(0), more(7), last(14)]);
    } else if value < 1 << 28 {
        out.extend_from_slice(&[more(0), more(7), more(14), last(21)]);
    } else {
        put_long(out, value);
    }
}

#[cold]
fn put_long(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number: small ones of either sign are short.
#[inline]
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, zigzag(value));
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A position in a slice. Nothing is read past its end.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// The number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub fn byte(&mut self) -> Parse<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(SHORT)?;
        self.rest = rest;
        Ok(byte)
    }

    pub fn take(&mut self, count: usize) -> Parse<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Parse<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub fn u16(&mut self) -> Parse<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Parse<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Parse<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub fn varint(&mut self) -> Parse<u64> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            [first, second, ref rest @ ..] if second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first & 0x7F) | u64::from(second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Parse<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return Err(LONG);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(LONG)
    }

    #[inline]
    pub fn signed(&mut self) -> Parse<i64> {
        self.varint().map(unzigzag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for value in [0, 1, 0x7F, 0x80, 0x3FFF, 0x4000, 1 << 35, 1 << 63, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.varint(), Ok(value));
            assert!(cursor.at_end());
            for cut in 0..bytes.len() {
                assert_eq!(Cursor::new(&bytes[..cut]).varint(), Err(SHORT), "{value} cut at {cut}");
            }
        }
        for value in [0, -1, 1, 63, -64, 64, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(-1), zigzag(1), zigzag(-64)), (1, 2, 127));
    }

    #[test]
    fn a_number_has_64_bits_at_most() {
        assert_eq!(Cursor::new(&[0xFF; 11]).varint(), Err(LONG));
        let mut too_large = [0xFF; 10];
        too_large[9] = 2;
        assert_eq!(Cursor::new(&too_large).varint(), Err(LONG));
    }
}
