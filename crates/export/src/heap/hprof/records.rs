//! Records of HPROF 1.0.2 (`hprof_b_spec.h` of the JDK), big-endian.

use std::io::{self, Write};

/// Size of an id in bytes.
pub const ID_BYTES: u64 = 8;
/// The stack trace without frames to which objects are attributed.
pub const NO_TRACE: u32 = 1;

/// The tag of a record.
#[derive(Clone, Copy)]
pub enum Record {
    String = 0x01,
    LoadClass = 0x02,
    Frame = 0x04,
    Trace = 0x05,
    Segment = 0x1c,
    End = 0x2c,
}

/// The tag of a record inside a heap segment.
#[derive(Clone, Copy)]
pub enum Sub {
    RootFrame = 0x03,
    RootClass = 0x05,
    RootThread = 0x08,
    Class = 0x20,
    Instance = 0x21,
    ObjectArray = 0x22,
    PrimitiveArray = 0x23,
}

/// Types of fields and elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Object = 2,
    Double = 7,
    Byte = 8,
    Long = 11,
}

impl Type {
    pub fn bytes(self) -> u64 {
        if self == Type::Byte { 1 } else { 8 }
    }
}

/// A buffer of bytes.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    pub fn u1(&mut self, value: u8) -> &mut Bytes {
        self.0.push(value);
        self
    }

    pub fn u2(&mut self, value: u16) -> &mut Bytes {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn u4(&mut self, value: u32) -> &mut Bytes {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn id(&mut self, value: u64) -> &mut Bytes {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn text(&mut self, text: &[u8]) -> &mut Bytes {
        self.0.extend_from_slice(text);
        self
    }

    fn zeros(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, 0);
    }
}

/// The size in bytes at which a segment is written.
const SEGMENT: usize = 1 << 20;

/// A file that is being written.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    segment: Bytes,
    /// Whether the current array is so large that it has a segment of its own and is written piece by piece.
    is_streaming: bool,
    /// The number of arrays that were too long for HPROF.
    cut: u64,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut dyn Write, milliseconds: u64) -> io::Result<Writer<'a>> {
        out.write_all(b"JAVA PROFILE 1.0.2\0")?;
        out.write_all(&(ID_BYTES as u32).to_be_bytes())?;
        out.write_all(&milliseconds.to_be_bytes())?;
        Ok(Writer { out, segment: Bytes::default(), is_streaming: false, cut: 0 })
    }

    /// Writes a record outside the heap. All of these must precede the heap.
    pub fn record(&mut self, kind: Record, fill: impl FnOnce(&mut Bytes)) -> io::Result<()> {
        let mut body = Bytes::default();
        fill(&mut body);
        self.head(kind, body.0.len() as u64)?;
        self.out.write_all(&body.0)
    }

    fn head(&mut self, kind: Record, length: u64) -> io::Result<()> {
        // No time. Nothing exceeds the field for its length, because arrays are cut.
        self.out.write_all(&[kind as u8, 0, 0, 0, 0])?;
        self.out.write_all(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes())
    }

    /// Writes a record of the heap.
    pub fn sub(&mut self, kind: Sub, fill: impl FnOnce(&mut Bytes)) -> io::Result<()> {
        self.segment.u1(kind as u8);
        fill(&mut self.segment);
        self.flush_if(SEGMENT)
    }

    /// Begins an array, whose elements are added by [`Writer::element`], [`Writer::bytes`] and
    /// [`Writer::zeros`]. Returns the number of elements to add.
    pub fn array(&mut self, id: u64, count: u64, of: Type, class: Option<u64>) -> io::Result<u64> {
        let head = 1 + ID_BYTES + 4 + 4 + if class.is_some() { ID_BYTES } else { 1 };
        let most = (u64::from(u32::MAX) - head) / of.bytes();
        // Readers treat the number as signed.
        let count_written = count.min(most).min(i32::MAX as u64);
        self.cut += u64::from(count_written < count);
        let length = head + count_written * of.bytes();
        if length > SEGMENT as u64 {
            self.flush_if(0)?;
            self.head(Record::Segment, length)?;
            self.is_streaming = true;
        }
        let kind = if class.is_some() { Sub::ObjectArray } else { Sub::PrimitiveArray };
        self.segment.u1(kind as u8).id(id).u4(NO_TRACE).u4(count_written as u32);
        match class {
            Some(class) => self.segment.id(class),
            None => self.segment.u1(of as u8),
        };
        Ok(count_written)
    }

    /// Adds an element that is an object.
    pub fn element(&mut self, id: u64) -> io::Result<()> {
        self.segment.id(id);
        self.flush_stream()
    }

    /// Adds elements that are bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.segment.text(bytes);
        self.flush_stream()
    }

    /// Adds this many zero bytes.
    pub fn zeros(&mut self, mut count: u64) -> io::Result<()> {
        while count > 0 {
            let part = count.min(SEGMENT as u64);
            self.segment.zeros(part as usize);
            self.flush_stream()?;
            count -= part;
        }
        Ok(())
    }

    /// Ends an array after all its elements were added.
    pub fn end_array(&mut self) -> io::Result<()> {
        match self.is_streaming {
            true => self.flush_if(0)?,
            false => self.flush_if(SEGMENT)?,
        }
        self.is_streaming = false;
        Ok(())
    }

    /// Writes out pending bytes of an array that has a segment of its own. Other arrays are not split.
    fn flush_stream(&mut self) -> io::Result<()> {
        if self.is_streaming { self.flush_if(SEGMENT) } else { Ok(()) }
    }

    /// Writes out pending bytes if there are at least `bytes`.
    fn flush_if(&mut self, bytes: usize) -> io::Result<()> {
        let length = self.segment.0.len();
        if length == 0 || length < bytes {
            return Ok(());
        }
        if !self.is_streaming {
            self.head(Record::Segment, length as u64)?;
        }
        self.out.write_all(&self.segment.0)?;
        self.segment.0.clear();
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush_if(0)?;
        self.head(Record::End, 0)?;
        Ok(self.cut)
    }
}
