//! Fields read from a slice.

/// Why bytes could not be read as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The packet ends inside a field.
    Short,
    /// A location event where another event was expected.
    Location,
    /// An unknown event code.
    EventCode(u8),
    /// A trace-info event after the first packet.
    SecondInfo,
    /// A negative size or number of samples.
    Negative,
    /// An unknown allocation source.
    SourceCode(u8),
    /// A name refers to an empty position of the move-to-front list.
    NameCode,
    /// A promotion or collection of a block before the first one.
    ObjectId,
    /// An event of another kind, or at another time, in the middle of locations.
    NotALocation,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Fault::Short => write!(f, "the packet ends inside an event"),
            Fault::Location => write!(f, "a location among other events"),
            Fault::EventCode(code) => write!(f, "unknown event code {code}"),
            Fault::SecondInfo => write!(f, "a second trace-info event"),
            Fault::Negative => write!(f, "a size or a number of samples below zero"),
            Fault::SourceCode(code) => write!(f, "unknown allocation source {code}"),
            Fault::NameCode => write!(f, "a name that was never written"),
            Fault::ObjectId => write!(f, "an object number below zero"),
            Fault::NotALocation => write!(f, "locations out of step"),
        }
    }
}

pub(crate) type Parse<T> = Result<T, Fault>;

/// A position in a slice. Nothing is read past its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// Where `rest` ends, as an offset in the whole slice.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at `pos` of `bytes`; reading ends with the slice.
    #[inline]
    pub fn at(bytes: &'a [u8], pos: usize) -> Cursor<'a> {
        Cursor { rest: &bytes[pos..], end: bytes.len() }
    }

    #[inline]
    pub fn pos(&self) -> usize {
        self.end - self.rest.len()
    }

    /// The number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes `N` bytes and converts them at once: if they were passed on as bytes, the compiler would load them
    /// one by one.
    #[inline(always)]
    fn take<const N: usize, T>(&mut self, convert: impl FnOnce([u8; N]) -> T) -> Parse<T> {
        match self.rest.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.rest = rest;
                Ok(convert(*field))
            }
            None => Err(Fault::Short),
        }
    }

    #[inline]
    pub fn u8(&mut self) -> Parse<u8> {
        self.take(|[byte]| byte)
    }

    /// The next byte if `there` is set, otherwise another value; compiles to moves instead of a branch.
    #[inline]
    pub fn u8_or(&mut self, there: bool, otherwise: u8) -> Parse<u8> {
        let byte = self.rest.first().copied().unwrap_or(otherwise);
        self.rest = self.rest.get(usize::from(there)..).ok_or(Fault::Short)?;
        Ok(if there { byte } else { otherwise })
    }

    #[inline]
    pub fn u16(&mut self) -> Parse<u16> {
        self.take(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Parse<u32> {
        self.take(u32::from_le_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Parse<u64> {
        self.take(u64::from_le_bytes)
    }

    /// A variable-length integer. The 32-bit form is signed, as in memtrace.
    #[inline]
    pub fn vint(&mut self) -> Parse<i64> {
        let first = self.u8()?;
        if first <= 252 { Ok(i64::from(first)) } else { self.long_vint(first) }
    }

    fn long_vint(&mut self, first: u8) -> Parse<i64> {
        match first {
            253 => self.u16().map(i64::from),
            254 => self.u32().map(|v| i64::from(v as i32)),
            _ => self.u64().map(|v| v as i64),
        }
    }

    /// A string up to its NUL, which is consumed.
    pub fn string(&mut self) -> Parse<&'a [u8]> {
        let len = self.rest.iter().position(|&b| b == 0).ok_or(Fault::Short)?;
        let text = &self.rest[..len];
        self.rest = &self.rest[len + 1..];
        Ok(text)
    }

    /// Skips `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Parse<()> {
        self.rest = self.rest.get(n..).ok_or(Fault::Short)?;
        Ok(())
    }
}
