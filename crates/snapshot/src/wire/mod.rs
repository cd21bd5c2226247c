//! The primitives of the format: varints, sections, packed bytes. Each is read and written in one file.

mod bytes;
mod file;
mod guess;
mod pack;
mod records;
mod section;
mod shape;

pub(crate) use bytes::{Cursor, Fault, Parse, put_signed, put_varint};
pub(crate) use file::{FileHeader, MAGIC};
pub(crate) use guess::{Guess, Kinds};
pub(crate) use pack::{Packed, Packer, unpack};
pub(crate) use records::Record;
pub(crate) use section::{Header, SECTION_HEADER, SectionEntry, SectionKind, Trailer};
pub(crate) use shape::{
    FieldKind, LONG_SIZE, OTHER_TAG, shape_byte, shape_tag, shape_words, tag_nibble,
};
