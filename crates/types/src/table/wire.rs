//! The encoding of tables: one declaration per record, for reading and writing.

use std::collections::HashMap;

use super::model::{
    Builtin, Captured, Case, Constructor, Declaration, DeclarationKind, Extension, Failure, Field,
    Function, Layout, Lines, ModuleField, ModuleItem, Representation, Site, SiteKind, Text, Type,
    Unit, Variable,
};
use super::{DeclarationId, ExtensionId, LayoutId, TypeId, UnitId};

/// The result of decoding; the error says what is wrong.
pub(crate) type Parse<T> = Result<T, &'static str>;

const SHORT: &str = "it ends inside a record";

/// Bytes that are read from the front. Earlier texts are referred to by their numbers.
pub(crate) struct Source<'a> {
    rest: &'a [u8],
    texts: Vec<Text>,
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Source<'a> {
        Source { rest: bytes, texts: Vec::new() }
    }

    pub fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, count: usize) -> Parse<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn varint(&mut self) -> Parse<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is longer than 63 bits")
    }

    /// The number of items of a list, each of which takes at least one byte.
    fn count(&mut self) -> Parse<usize> {
        let count = usize::try_from(self.varint()?).map_err(|_| SHORT)?;
        if count <= self.left() { Ok(count) } else { Err("a list is longer than the data") }
    }
}

/// Bytes that are being written.
#[derive(Default)]
pub(crate) struct Sink {
    pub bytes: Vec<u8>,
    texts: HashMap<Text, u64>,
}

impl Sink {
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// A part of a table.
pub(crate) trait Record: Sized {
    fn get(source: &mut Source<'_>) -> Parse<Self>;
    fn put(&self, sink: &mut Sink);
}

impl Record for u32 {
    fn get(source: &mut Source<'_>) -> Parse<u32> {
        u32::try_from(source.varint()?).map_err(|_| "a number is longer than 32 bits")
    }

    fn put(&self, sink: &mut Sink) {
        sink.varint(u64::from(*self));
    }
}

impl Record for u8 {
    fn get(source: &mut Source<'_>) -> Parse<u8> {
        Ok(source.take(1)?[0])
    }

    fn put(&self, sink: &mut Sink) {
        sink.bytes.push(*self);
    }
}

impl Record for bool {
    fn get(source: &mut Source<'_>) -> Parse<bool> {
        match u8::get(source)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("neither true nor false"),
        }
    }

    fn put(&self, sink: &mut Sink) {
        u8::from(*self).put(sink);
    }
}

/// Hashes of cases, zigzag-coded so that negative ones are not longer.
impl Record for i32 {
    fn get(source: &mut Source<'_>) -> Parse<i32> {
        let value = u32::get(source)?;
        Ok((value >> 1) as i32 ^ -((value & 1) as i32))
    }

    fn put(&self, sink: &mut Sink) {
        ((*self << 1 ^ *self >> 31) as u32).put(sink);
    }
}

impl Record for [u8; 16] {
    fn get(source: &mut Source<'_>) -> Parse<[u8; 16]> {
        source.take(16)?.try_into().map_err(|_| SHORT)
    }

    fn put(&self, sink: &mut Sink) {
        sink.bytes.extend_from_slice(self);
    }
}

/// 0, then the length and the bytes of a text that occurs for the first time; otherwise its number among the
/// texts so far, from 1.
impl Record for Text {
    fn get(source: &mut Source<'_>) -> Parse<Text> {
        match source.varint()? {
            0 => {
                let length = source.count()?;
                let text = Text::from(String::from_utf8_lossy(source.take(length)?));
                source.texts.push(Text::clone(&text));
                Ok(text)
            }
            number => {
                let known = usize::try_from(number - 1).ok().and_then(|at| source.texts.get(at));
                known.cloned().ok_or("a text that did not come before")
            }
        }
    }

    fn put(&self, sink: &mut Sink) {
        if let Some(&number) = sink.texts.get(self) {
            return sink.varint(number);
        }
        sink.varint(0);
        sink.varint(self.len() as u64);
        sink.bytes.extend_from_slice(self.as_bytes());
        let number = sink.texts.len() as u64 + 1;
        sink.texts.insert(Text::clone(self), number);
    }
}

impl<T: Record> Record for Option<T> {
    fn get(source: &mut Source<'_>) -> Parse<Option<T>> {
        bool::get(source)?.then(|| T::get(source)).transpose()
    }

    fn put(&self, sink: &mut Sink) {
        self.is_some().put(sink);
        self.iter().for_each(|item| item.put(sink));
    }
}

impl<T: Record> Record for Vec<T> {
    fn get(source: &mut Source<'_>) -> Parse<Vec<T>> {
        let count = source.count()?;
        // The announced number is not trusted: memory is allocated as items arrive.
        let mut items = Vec::with_capacity(count.min(1 << 12));
        for _ in 0..count {
            items.push(T::get(source)?);
        }
        items.shrink_to_fit();
        Ok(items)
    }

    fn put(&self, sink: &mut Sink) {
        sink.varint(self.len() as u64);
        self.iter().for_each(|item| item.put(sink));
    }
}

/// Typed numbers are encoded as numbers.
macro_rules! ids {
    ($($name:ident)*) => {$(
        impl Record for $name {
            fn get(source: &mut Source<'_>) -> Parse<$name> {
                u32::get(source).map($name)
            }

            fn put(&self, sink: &mut Sink) {
                self.0.put(sink);
            }
        }
    )*};
}

ids! { UnitId TypeId DeclarationId ExtensionId LayoutId }
pub(crate) use ids;

/// A struct is the sequence of its fields.
macro_rules! structures {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Record for $name {
            fn get(source: &mut Source<'_>) -> Parse<$name> {
                Ok($name { $($field: Record::get(source)?),* })
            }

            fn put(&self, sink: &mut Sink) {
                $(self.$field.put(sink);)*
            }
        }
    )*};
}

pub(crate) use structures;

structures! {
    Unit { name, source, file, interface, implementation, layout }
    Declaration { name, arity, kind, generic }
    Field { name, is_mutable, of }
    Constructor { name, tag, arguments, result }
    Case { name, hash, of }
    Extension { name, extends, result, arguments }
    Layout { name, fields, public }
    ModuleField { name, item }
    Site { unit, file, line, start, end, kind, tag, words, of, name }
    Variable { unit, stamp, name, item, scope }
    Lines { file, first, last, of_parameter }
    Function { unit, file, first, last, captured }
    Captured { name, of }
    Failure { file, reason }
}

/// An enum is a byte, followed by the fields of the case.
macro_rules! choices {
    ($($name:ident { $($number:literal $case:ident $(($($item:ident),*))? $({$($field:ident),*})?),* $(,)? })*) => {$(
        impl Record for $name {
            fn get(source: &mut Source<'_>) -> Parse<$name> {
                match u8::get(source)? {
                    $($number => Ok($name::$case
                        $(($({ let $item = Record::get(source)?; $item }),*))?
                        $({ $($field: Record::get(source)?),* })?
                    ),)*
                    _ => Err("an unknown choice"),
                }
            }

            fn put(&self, sink: &mut Sink) {
                match self {
                    $($name::$case $(($($item),*))? $({ $($field),* })? => {
                        sink.bytes.push($number);
                        $($($item.put(sink);)*)?
                        $($($field.put(sink);)*)?
                    })*
                }
            }
        }
    )*};
}

choices! {
    Type {
        0 Variable(number),
        1 Constructed { declaration, arguments },
        2 Tuple(of),
        3 Arrow { label, argument, result },
        4 Package { name, layout },
        5 Object(text),
        6 Opaque(text),
    }
    DeclarationKind {
        0 Abstract(why),
        1 Alias(of),
        2 Record(representation, fields),
        3 Variant(representation, constructors),
        4 Cases { cases, is_closed },
        5 Open,
        6 Builtin(which),
    }
    Representation { 0 Boxed, 1 Unboxed, 2 Floats }
    Builtin {
        0 Immediate, 1 String, 2 Bytes, 3 Float, 4 Int32, 5 Int64, 6 Nativeint, 7 Array, 8 Floatarray, 9 Lazy,
    }
    ModuleItem { 0 Value(of), 1 Extension(which), 2 Module(layout), 3 Other(text) }
    SiteKind {
        0 Constructor, 1 Record, 2 Tuple, 3 Array, 4 Case, 5 Extension, 6 Closure, 7 Lazy, 8 Object, 9 Module,
        10 Primitive, 11 Partial, 12 Other,
    }
}
