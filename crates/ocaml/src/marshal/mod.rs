//! Marshalled data: what OCaml's `Marshal` and `output_value` write, read without a runtime.
//!
//! A value is a graph and may be as deep as it is long. So it is read into an arena without recursion: blocks
//! have ids in the order of the data, and fields hold integers or ids. The data uses the same order for "the
//! block n before this one", so sharing needs no table of its own.
//!
//! Memory is proportional to the data, whatever the data claims: every field takes at least one byte, so a
//! block that announces more fields than the remaining bytes can hold, for it and for all blocks that still
//! wait for theirs, is rejected before memory is allocated for it.
//!
//! Strings and arrays of floats are not copied. Code pointers are kept uninterpreted. Of custom blocks only the
//! standard library's integers are read, because only their owners know the length of others. Compressed data
//! (OCaml 5.1 and later, on request) is rejected.

mod header;
mod reader;

use alloc::vec::Vec;

use crate::error::OcamlError;

/// A block of marshalled data, numbered by its position in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

impl BlockId {
    /// The number of blocks that begin before it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The contents of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer, a character, or a constructor without arguments.
    Int(i64),
    /// A block without fields (an empty array), by its tag.
    Atom(u8),
    /// A block.
    Block(BlockId),
    /// A pointer into a closure that several functions share.
    Infix {
        /// The closure.
        block: BlockId,
        /// Byte offset from its beginning.
        offset: u32,
    },
    /// A code address, as a byte offset from the code's beginning. Which code fragment that is does not matter
    /// here.
    Code(u32),
}

/// The contents of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block<'a> {
    /// Fields; [`Data::fields`] returns them.
    Fields {
        /// Its tag.
        tag: u8,
    },
    /// A string, not necessarily text.
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
    /// The elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let is_big_endian = self.is_big_endian;
        self.bytes.as_chunks().0.iter().map(move |bytes| double(*bytes, is_big_endian))
    }
}

fn double(bytes: [u8; 8], is_big_endian: bool) -> f64 {
    if is_big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
}

/// A block, and the range of its fields among all fields.
#[derive(Clone, Copy, Debug)]
struct Stored<'a> {
    block: Block<'a>,
    first_field: u32,
    field_count: u32,
}

/// A marshalled value and everything reachable from it.
#[derive(Clone, Debug)]
pub struct Data<'a> {
    root: Value,
    blocks: Vec<Stored<'a>>,
    fields: Vec<Value>,
}

impl<'a> Data<'a> {
    /// Reads the value that begins at `offset`, and returns where it ends. Offsets in errors count from the
    /// beginning of `bytes`.
    ///
    /// # Errors
    /// If there is no marshalled value, or one that is cut, damaged or unsupported.
    pub fn read(bytes: &'a [u8], offset: usize) -> Result<(Data<'a>, usize), OcamlError> {
        reader::read(bytes, offset)
    }

    /// The value itself.
    pub fn root(&self) -> Value {
        self.root
    }

    /// The number of blocks reachable from it.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block that a value refers to; None if it is not a block.
    pub fn block(&self, value: Value) -> Option<&Block<'a>> {
        self.stored(value).map(|stored| &stored.block)
    }

    /// The fields of a block; empty if it has none.
    pub fn fields(&self, value: Value) -> &[Value] {
        let Some(Stored { first_field, field_count, .. }) = self.stored(value) else { return &[] };
        let first = *first_field as usize;
        self.fields.get(first..first + *field_count as usize).unwrap_or(&[])
    }

    /// A field of a block, if it has that many.
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

    /// The elements of a list, in order. Anything that is not a list ends it; a cyclic list ends after as many
    /// elements as there are blocks.
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
