//! Marshalled data: what OCaml's `Marshal` and `output_value` write, read without a runtime.
//!
//! A value is a graph, and may be as deep as it is long. So it is read into an arena: blocks have ids in the
//! order in which they stand in the data, fields hold integers or ids, and nothing here calls itself. That
//! order is also what the data means by "the block n before this one", so sharing needs no table of its own.
//!
//! Memory is in proportion to the data, whatever it claims: every field is at least one byte, so a block that
//! promises more fields than there are bytes left, for it and for all blocks that are still waiting for
//! theirs, is refused before room is made for it.
//!
//! Strings and arrays of floats are not copied. Code pointers are kept without being understood; of custom
//! blocks those of the standard library's integers are read, because only their owners know how long others
//! are. Compressed data (OCaml 5.1 and later, if it was asked for) is refused.

mod header;
mod reader;

use alloc::vec::Vec;

use crate::error::Error;

/// A block of marshalled data, by its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

impl BlockId {
    /// How many blocks begin before it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer, a character, or a constructor without arguments.
    Int(i64),
    /// A block without fields, by its tag: an empty array.
    Atom(u8),
    /// A block.
    Block(BlockId),
    /// The inside of a closure that several functions share.
    Infix {
        /// The closure.
        block: BlockId,
        /// Bytes from its beginning.
        offset: u32,
    },
    /// An address in code, as bytes from its beginning. Whose code it is does not matter here.
    Code(u32),
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block<'a> {
    /// Fields, which [`Data::fields`] tells.
    Fields {
        /// Its tag.
        tag: u8,
    },
    /// A string, not always of text.
    String(&'a [u8]),
    /// A float.
    Double(f64),
    /// An array of floats, or a record of them.
    Doubles(Doubles<'a>),
    /// An `int32`.
    Int32(i32),
    /// An `int64`.
    Int64(i64),
    /// A `nativeint`.
    NativeInt(i64),
}

/// An array of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubles<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl Doubles<'_> {
    /// They, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let is_big_endian = self.is_big_endian;
        self.bytes.as_chunks().0.iter().map(move |bytes| double(*bytes, is_big_endian))
    }
}

fn double(bytes: [u8; 8], is_big_endian: bool) -> f64 {
    if is_big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
}

/// A block, and where its fields stand among all.
#[derive(Clone, Copy, Debug)]
struct Stored<'a> {
    block: Block<'a>,
    first_field: u32,
    field_count: u32,
}

/// One marshalled value and all that it reaches.
#[derive(Clone, Debug)]
pub struct Data<'a> {
    root: Value,
    blocks: Vec<Stored<'a>>,
    fields: Vec<Value>,
}

impl<'a> Data<'a> {
    /// Reads the value that begins at `offset` and tells where it ends. Offsets in errors count from the
    /// beginning of `bytes`.
    ///
    /// # Errors
    /// If no marshalled value is there, or one that is cut, damaged, or not read here.
    pub fn read(bytes: &'a [u8], offset: usize) -> Result<(Data<'a>, usize), Error> {
        reader::read(bytes, offset)
    }

    /// The value itself.
    pub fn root(&self) -> Value {
        self.root
    }

    /// How many blocks it has.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block that a value is; none if it is none.
    pub fn block(&self, value: Value) -> Option<&Block<'a>> {
        self.stored(value).map(|stored| &stored.block)
    }

    /// The fields of a block; none if it is not one with fields.
    pub fn fields(&self, value: Value) -> &[Value] {
        let Some(Stored { first_field, field_count, .. }) = self.stored(value) else { return &[] };
        let first = *first_field as usize;
        self.fields.get(first..first + *field_count as usize).unwrap_or(&[])
    }

    /// One field of a block, if it has so many.
    pub fn field(&self, value: Value, index: usize) -> Option<Value> {
        self.fields(value).get(index).copied()
    }

    /// The bytes of a string, if the value is one.
    pub fn string(&self, value: Value) -> Option<&'a [u8]> {
        match self.block(value)? {
            Block::String(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements of a list, in order. What is no list ends it; one that comes back to itself ends after as
    /// many elements as there are blocks.
    pub fn list(&self, list: Value) -> impl Iterator<Item = Value> {
        let mut rest = list;
        let elements = core::iter::from_fn(move || match *self.fields(rest) {
            [first, next] => {
                rest = next;
                Some(first)
            }
            _ => None,
        });
        elements.take(self.blocks.len())
    }

    fn stored(&self, value: Value) -> Option<&Stored<'a>> {
        match value {
            Value::Block(id) => self.blocks.get(id.index()),
            _ => None,
        }
    }
}

impl Value {
    /// The integer, if it is one.
    pub fn int(self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }
}
