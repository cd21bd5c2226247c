//! Decodes bytes into the arena, one code after the other.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Block, BlockId, Data, Doubles, Stored, Value, double, header};
use crate::error::OcamlError;

/// Codes in the first byte of a value; smaller ones are in `Reader::item`.
const SMALL_BLOCK: u8 = 0x80;
const SMALL_INT: u8 = 0x40;
const SMALL_STRING: u8 = 0x20;
/// The maximum length of a name that is still believed.
const LONGEST_CUSTOM_NAME: usize = 64;

pub(super) fn marshalled(offset: usize, reason: impl Into<String>) -> OcamlError {
    OcamlError::Marshalled { offset: offset as u64, reason: reason.into() }
}

/// Reads the value at `offset` and returns where it ends.
pub(super) fn read(bytes: &[u8], offset: usize) -> Result<(Data<'_>, usize), OcamlError> {
    let mut cursor = Cursor { bytes, at: offset };
    let length = header::read(&mut cursor)?;
    let end = usize::try_from(length).ok().and_then(|length| cursor.at.checked_add(length));
    let Some(bytes) = end.and_then(|end| bytes.get(..end)) else {
        let left = bytes.len() - cursor.at;
        return Err(marshalled(cursor.at, format!("{length} bytes of data, but {left} follow")));
    };
    if u32::try_from(length).is_err() {
        return Err(marshalled(offset, format!("{length} bytes of data are too much")));
    }
    let cursor = Cursor { bytes, at: cursor.at };
    let mut reader = Reader { cursor, blocks: Vec::new(), fields: Vec::new(), owed: 0 };
    let root = reader.all()?;
    let Reader { cursor, blocks, fields, .. } = reader;
    match bytes.len() - cursor.at {
        0 => Ok((Data { root, blocks, fields }, cursor.at)),
        left => Err(marshalled(cursor.at, format!("{left} bytes are left over"))),
    }
}

/// A position in bytes.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], OcamlError> {
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| self.bytes.get(self.at..)?.get(..length))
            .ok_or_else(|| marshalled(self.bytes.len(), "it is cut here"))?;
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn skip(&mut self, length: u64) -> Result<(), OcamlError> {
        self.take(length).map(drop)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], OcamlError> {
        let bytes = self.take(N as u64)?;
        // As long as requested.
        Ok(bytes.try_into().unwrap_or([0; N]))
    }

    fn byte(&mut self) -> Result<u8, OcamlError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, OcamlError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, OcamlError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, OcamlError> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}

/// Fields of a block that are still to be read.
struct Waiting {
    next: usize,
    end: usize,
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    blocks: Vec<Stored<'a>>,
    fields: Vec<Value>,
    /// The number of fields still to be read in all blocks. Each takes at least one byte.
    owed: usize,
}

/// A value that was read, and the fields that come next if it is a block with fields.
struct Item {
    value: Value,
    fields: Option<Waiting>,
}

impl From<Value> for Item {
    fn from(value: Value) -> Item {
        Item { value, fields: None }
    }
}

impl<'a> Reader<'a> {
    fn all(&mut self) -> Result<Value, OcamlError> {
        let Item { value: root, fields } = self.item()?;
        let mut stack: Vec<Waiting> = fields.into_iter().collect();
        while let Some(waiting) = stack.last_mut() {
            let place = waiting.next;
            waiting.next += 1;
            if waiting.next == waiting.end {
                stack.pop();
            }
            self.owed -= 1;
            let Item { value, fields } = self.item()?;
            if let Some(field) = self.fields.get_mut(place) {
                *field = value;
            }
            stack.extend(fields);
        }
        Ok(root)
    }

    /// Reads one value, up to the fields of a block.
    fn item(&mut self) -> Result<Item, OcamlError> {
        let at = self.cursor.at;
        let code = self.cursor.byte()?;
        if code >= SMALL_BLOCK {
            return self.with_fields(at, code & 0xf, u64::from(code >> 4 & 7));
        }
        if code >= SMALL_INT {
            return Ok(Value::Int(i64::from(code & 0x3f)).into());
        }
        if code >= SMALL_STRING {
            return self.text(u64::from(code & 0x1f));
        }
        let cursor = &mut self.cursor;
        match code {
            0x00 => Ok(Value::Int(i8::from_be_bytes(cursor.array()?).into()).into()),
            0x01 => Ok(Value::Int(i16::from_be_bytes(cursor.array()?).into()).into()),
            0x02 => Ok(Value::Int(i32::from_be_bytes(cursor.array()?).into()).into()),
            0x03 => Ok(Value::Int(i64::from_be_bytes(cursor.array()?)).into()),
            0x04 => cursor.byte().and_then(|back| self.shared(at, back.into())),
            0x05 => cursor.u16().and_then(|back| self.shared(at, back.into())),
            0x06 => cursor.u32().and_then(|back| self.shared(at, back.into())),
            0x14 => cursor.u64().and_then(|back| self.shared(at, back)),
            0x08 => {
                let header = cursor.u32()?;
                self.with_fields(at, header as u8, u64::from(header >> 10))
            }
            0x13 => {
                let header = cursor.u64()?;
                self.with_fields(at, header as u8, header >> 10)
            }
            0x09 => cursor.byte().and_then(|length| self.text(length.into())),
            0x0a => cursor.u32().and_then(|length| self.text(length.into())),
            0x15 => cursor.u64().and_then(|length| self.text(length)),
            0x0b | 0x0c => {
                let bytes = cursor.array()?;
                self.without_fields(Block::Double(double(bytes, code == 0x0b)))
            }
            0x0d | 0x0e => cursor.byte().and_then(|n| self.doubles(n.into(), code == 0x0d)),
            0x0f | 0x07 => cursor.u32().and_then(|n| self.doubles(n.into(), code == 0x0f)),
            0x16 | 0x17 => cursor.u64().and_then(|n| self.doubles(n, code == 0x16)),
            0x10 => {
                let offset = cursor.u32()?;
                // The digest of the code fragment that it points into.
                cursor.skip(16)?;
                Ok(Value::Code(offset).into())
            }
            0x11 => self.infix(at),
            0x12 | 0x18 | 0x19 => self.custom(at, code),
            _ => Err(marshalled(at, format!("no value begins with {code:02x}"))),
        }
    }

    fn add(&mut self, block: Block<'a>, first_field: u32, field_count: u32) -> BlockId {
        // There are fewer blocks than bytes, and the number of bytes was checked.
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(Stored { block, first_field, field_count });
        id
    }

    fn without_fields(&mut self, block: Block<'a>) -> Result<Item, OcamlError> {
        Ok(Value::Block(self.add(block, 0, 0)).into())
    }

    fn with_fields(&mut self, at: usize, tag: u8, count: u64) -> Result<Item, OcamlError> {
        if count == 0 {
            return Ok(Value::Atom(tag).into());
        }
        let left = self.cursor.left() - self.owed.min(self.cursor.left());
        if count > left as u64 {
            let reason = format!("a block of {count} fields where {left} more can follow");
            return Err(marshalled(at, reason));
        }
        // There are no more fields than bytes, so the numbers fit.
        let (first, count) = (self.fields.len(), count as usize);
        self.owed += count;
        self.fields.resize(first + count, Value::Int(0));
        let id = self.add(Block::Fields { tag }, first as u32, count as u32);
        let fields = Some(Waiting { next: first, end: first + count });
        Ok(Item { value: Value::Block(id), fields })
    }

    fn text(&mut self, length: u64) -> Result<Item, OcamlError> {
        let bytes = self.cursor.take(length)?;
        self.without_fields(Block::String(bytes))
    }

    fn doubles(&mut self, count: u64, is_big_endian: bool) -> Result<Item, OcamlError> {
        let bytes = self.cursor.take(count.saturating_mul(8))?;
        self.without_fields(Block::Doubles(Doubles { bytes, is_big_endian }))
    }

    fn shared(&self, at: usize, back: u64) -> Result<Item, OcamlError> {
        let before = self.blocks.len() as u64;
        match before.checked_sub(back) {
            // Ids have 32 bits, so the number of an earlier block has, too.
            Some(index) if back > 0 => Ok(Value::Block(BlockId(index as u32)).into()),
            _ => Err(marshalled(at, format!("block {back} before this one, of {before}"))),
        }
    }

    fn infix(&mut self, at: usize) -> Result<Item, OcamlError> {
        let offset = self.cursor.u32()?;
        // Two in a row would make this recursive.
        if self.cursor.bytes.get(self.cursor.at) == Some(&0x11) {
            return Err(marshalled(at, "the inside of the inside of a closure"));
        }
        match self.item()? {
            Item { value: Value::Block(block), fields } => {
                Ok(Item { value: Value::Infix { block, offset }, fields })
            }
            _ => Err(marshalled(at, "the inside of something that is no closure")),
        }
    }

    fn custom(&mut self, at: usize, code: u8) -> Result<Item, OcamlError> {
        let rest = self.cursor.bytes.get(self.cursor.at..).unwrap_or(&[]);
        let end = rest.iter().take(LONGEST_CUSTOM_NAME).position(|&byte| byte == 0);
        let Some(name) = end.and_then(|end| rest.get(..end)) else {
            return Err(marshalled(at, "a custom block whose name does not end"));
        };
        self.cursor.skip(name.len() as u64 + 1)?;
        if code == 0x18 {
            // Its sizes in memory, with 32 and with 64 bits.
            self.cursor.skip(12)?;
        }
        let cursor = &mut self.cursor;
        let block = match name {
            b"_i" => Block::Int32(i32::from_be_bytes(cursor.array()?)),
            b"_j" => Block::Int64(i64::from_be_bytes(cursor.array()?)),
            b"_n" => Block::NativeInt(match cursor.byte()? {
                1 => i32::from_be_bytes(cursor.array()?).into(),
                2 => i64::from_be_bytes(cursor.array()?),
                other => return Err(marshalled(at, format!("a nativeint of kind {other}"))),
            }),
            other => {
                let name = String::from_utf8_lossy(other);
                return Err(marshalled(at, format!("a custom block {name:?}, not read here")));
            }
        };
        self.without_fields(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let mut bytes = [0x8495_a6be, length, 0, 0, 0].map(u32::to_be_bytes).concat();
        bytes.extend(data);
        bytes
    }

    fn whole(data: &[u8]) -> Result<(Data<'static>, usize), OcamlError> {
        read(small(data).leak(), 0)
    }

    #[track_caller]
    fn root(data: &[u8]) -> Data<'static> {
        whole(data).expect("sound").0
    }

    #[track_caller]
    fn reason(data: &[u8]) -> (u64, String) {
        match whole(data) {
            Err(OcamlError::Marshalled { offset, reason }) => (offset - 20, reason),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn integers_of_every_width() {
        for (data, expected) in [
            (&[0x40][..], 0),
            (&[0x7f], 63),
            (&[0, 0xff], -1),
            (&[1, 0x7f, 0xff], 32767),
            (&[2, 0x80, 0, 0, 0], i64::from(i32::MIN)),
            (&[3, 0x40, 0, 0, 0, 0, 0, 0, 1], (1 << 62) + 1),
        ] {
            assert_eq!(root(data).root(), Value::Int(expected), "{data:x?}");
        }
    }

    #[test]
    fn blocks_of_every_code_share() {
        // (1, "ab", the string again, itself)
        let data = root(&[0xc0, 0x41, 0x22, b'a', b'b', 4, 1, 4, 2]);
        let [one, text, again, own] = *data.fields(data.root()) else { panic!("{data:?}") };
        assert_eq!((one.int(), data.string(text)), (Some(1), Some(&b"ab"[..])));
        assert_eq!((text, own), (again, data.root()));
        for block in [&[8, 0, 0, 8, 5][..], &[0x13, 0, 0, 0, 0, 0, 0, 8, 5]] {
            let data = root(&[block, &[0x41, 0x42]].concat());
            assert_eq!(data.block(data.root()), Some(&Block::Fields { tag: 5 }));
            assert_eq!(data.fields(data.root()), [Value::Int(1), Value::Int(2)]);
        }
        assert_eq!(root(&[0x83]).root(), Value::Atom(3));
        for string in [&[9, 1][..], &[10, 0, 0, 0, 1], &[0x15, 0, 0, 0, 0, 0, 0, 0, 1]] {
            let data = root(&[string, b"x"].concat());
            assert_eq!(data.string(data.root()), Some(&b"x"[..]));
        }
    }

    #[test]
    fn floats_of_both_byte_orders() {
        let (big, little) = (2.5_f64.to_be_bytes(), 2.5_f64.to_le_bytes());
        for (code, bytes) in [(&[0x0b][..], big), (&[0x0c], little)] {
            let data = root(&[code, &bytes].concat());
            assert_eq!(data.block(data.root()), Some(&Block::Double(2.5)));
        }
        for (code, bytes) in [
            (&[0x0d, 2][..], big),
            (&[0x0e, 2], little),
            (&[0x0f, 0, 0, 0, 2], big),
            (&[0x07, 0, 0, 0, 2], little),
            (&[0x16, 0, 0, 0, 0, 0, 0, 0, 2], big),
            (&[0x17, 0, 0, 0, 0, 0, 0, 0, 2], little),
        ] {
            let data = root(&[code, &bytes, &bytes].concat());
            let Some(Block::Doubles(all)) = data.block(data.root()) else { panic!("{code:?}") };
            assert_eq!(all.iter().collect::<Vec<_>>(), [2.5, 2.5]);
        }
    }

    #[test]
    fn custom_integers_and_no_other_custom_blocks() {
        for (data, expected) in [
            (&b"\x19_i\0\xff\xff\xff\xfe"[..], Block::Int32(-2)),
            (b"\x19_j\0\0\0\0\0\0\0\0\x07", Block::Int64(7)),
            (b"\x19_n\0\x01\0\0\0\x07", Block::NativeInt(7)),
            (b"\x18_n\0\0\0\0\x04\0\0\0\0\0\0\0\x08\x02\0\0\0\0\0\0\0\x07", Block::NativeInt(7)),
            (b"\x12_i\0\0\0\0\x07", Block::Int32(7)),
        ] {
            let read = root(data);
            assert_eq!(read.block(read.root()), Some(&expected));
        }
        assert_eq!(reason(b"\x18_bigarr02\0").0, 10 + 1);
        assert!(reason(b"\x18_bigarr02\0\0\0\0\0\0\0\0\0\0\0\0\0").1.contains("_bigarr02"));
        assert!(reason(&[b"\x19"[..].to_vec(), [b'x'; 99].to_vec()].concat()).1.contains("name"));
    }

    #[test]
    fn closures_are_opaque() {
        let code = [&[0x10, 0, 0, 0, 40][..], &[7; 16]].concat();
        let closure = [&[8, 0, 0, 8, 247][..], &code, &[0x41]].concat();
        let data = root(&closure);
        assert_eq!(data.fields(data.root()), [Value::Code(40), Value::Int(1)]);
        let data = root(&[&[0x11, 0, 0, 0, 24][..], &closure].concat());
        assert!(matches!(data.root(), Value::Infix { offset: 24, .. }));
        assert_eq!(data.fields.len(), 2);
        assert!(reason(&[0x11, 0, 0, 0, 24, 0x41]).1.contains("no closure"));
        assert!(reason(&[0x11, 0, 0, 0, 24, 0x11, 0, 0, 0, 24, 0x41]).1.contains("inside of the"));
    }

    #[test]
    fn deep_values_need_no_stack() {
        let mut data = [0x90].repeat(1_000_000);
        data.push(0x40);
        assert_eq!(root(&data).block_count(), 1_000_000);
        // A list that is its own tail.
        let data = root(&[0xa0, 0x41, 4, 1]);
        assert_eq!(data.list(data.root()).count(), 1);
    }

    #[test]
    fn announced_sizes_are_checked_against_the_data() {
        // A block of a thousand fields inside a block of as many, and so on: no memory is allocated for them.
        let block = [8, 0, 0xf, 0xa0, 0];
        let data = [&block[..], &block, &[0x40; 1500]].concat();
        assert_eq!(reason(&data), (5, "a block of 1000 fields where 501 more can follow".into()));
        assert_eq!(reason(&[0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]).0, 0);
        assert_eq!(reason(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]).0, 9);
        assert_eq!(reason(&[0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]).0, 9);
        for (data, at) in [
            (&[][..], 0),
            (&[0x1a], 0),
            (&[4, 1], 0),
            (&[0xa0, 0x41, 4, 0], 2),
            (&[0xa0, 0x41, 4, 2], 2),
            (&[0x40, 0x40], 1),
        ] {
            assert_eq!(reason(data).0, at, "{data:x?}");
        }
    }

    #[test]
    fn headers_of_every_kind() {
        let mut big = [0x8495_a6bf_u32, 0].map(u32::to_be_bytes).concat();
        big.extend([1_u64, 0, 0].map(u64::to_be_bytes).concat());
        big.push(0x45);
        let (data, end) = read(&big, 0).expect("sound");
        assert_eq!((data.root(), end), (Value::Int(5), 33));
        for end in 0..big.len() {
            assert!(read(&big[..end], 0).is_err());
        }
        big[8] = 0xff;
        assert!(read(&big, 0).is_err());
        let refused = read(&[0x84, 0x95, 0xa6, 0xbd, 0, 0], 0).expect_err("it is compressed");
        assert!(std::string::ToString::to_string(&refused).contains("zstd"));
        assert!(read(b"Caml", 0).is_err());
        assert!(read(b"", 5).is_err());
        // What follows is ignored, and offsets count from the beginning.
        let two = [&b"12"[..], &small(&[0x41]), &small(&[0x1f])].concat();
        let (first, end) = read(&two, 2).expect("sound");
        assert_eq!(first.root(), Value::Int(1));
        assert!(matches!(read(&two, end), Err(OcamlError::Marshalled { offset: 43, .. })));
    }
}
