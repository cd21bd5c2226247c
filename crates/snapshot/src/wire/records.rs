//! Records of tables. One declaration describes both writing and reading, so that they cannot diverge.
//!
//! A record is the sequence of its fields. A number is a varint, a text its length and its bytes, an option a
//! byte 0 or 1 and the contents, a list its length and its items, a variant of an enum its number and its
//! fields.

use super::{Cursor, Fault, Parse, SectionEntry, put_signed, put_varint};
use crate::model::*;

/// Something that can be written to a table and read from it.
pub(crate) trait Record: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Record for $type {
            fn put(&self, out: &mut Vec<u8>) {
                put_varint(out, u64::from(*self));
            }
            fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
                Self::try_from(cursor.varint()?).map_err(|_| Fault("a number is too large"))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

impl Record for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_signed(out, i64::from(*self));
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        Self::try_from(cursor.signed()?).map_err(|_| Fault("a number is too large"))
    }
}

impl Record for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        cursor.array().map(f64::from_le_bytes)
    }
}

impl Record for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        match cursor.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault("a truth value is neither true nor false")),
        }
    }
}

/// Digests.
impl Record for [u8; 16] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        cursor.array()
    }
}

impl Record for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        out.extend_from_slice(self.as_bytes());
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        let length = usize::get(cursor)?;
        let bytes = cursor.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Fault("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

/// Lengths; not for values that depend on the machine.
impl Record for usize {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, *self as u64);
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        Self::try_from(cursor.varint()?).map_err(|_| Fault("a number is too large"))
    }
}

impl<T: Record> Record for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        if bool::get(cursor)? { T::get(cursor).map(Some) } else { Ok(None) }
    }
}

impl<T: Record> Record for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for item in self {
            item.put(out);
        }
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        let length = usize::get(cursor)?;
        // Every item takes at least one byte, so this bounds the effect of a wrong length.
        if length > cursor.left() {
            return Err(Fault("a list is longer than the data"));
        }
        // Grown item by item: an item may take much more memory than its byte.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(T::get(cursor)?);
        }
        Ok(items)
    }
}

impl Record for Names {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for text in self.iter() {
            put_varint(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
    fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
        let texts: Vec<String> = Vec::get(cursor)?;
        let mut texts = texts.into_iter();
        if texts.next().as_deref() != Some("") {
            return Err(Fault("the first text is not the empty one"));
        }
        let mut names = Names::default();
        for text in texts {
            names.push(text.into_boxed_str());
        }
        Ok(names)
    }
}

macro_rules! ids {
    ($($type:ident),*) => {$(
        impl Record for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
                u32::get(cursor).map($type)
            }
        }
    )*};
}
ids!(BlockId, NameId, ModuleId, ThreadId, FrameId, CodeId, CustomId, StackId, VariableId);

macro_rules! structs {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl Record for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
                $(let $field = Record::get(cursor)?;)*
                Ok($type { $($field),* })
            }
        }
    )*};
}

macro_rules! enums {
    ($($type:ident { $($number:literal = $variant:ident $(($value:ident))? $({ $($field:ident),* })?,)* })*) => {$(
        impl Record for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($type::$variant $(($value))? $({ $($field),* })? => {
                        out.push($number);
                        $($value.put(out);)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn get(cursor: &mut Cursor<'_>) -> Parse<Self> {
                match cursor.byte()? {
                    $($number => {
                        $(let $value = Record::get(cursor)?;)?
                        $($(let $field = Record::get(cursor)?;)*)?
                        Ok($type::$variant $(($value))? $({ $($field),* })?)
                    })*
                    _ => Err(Fault(concat!("there is no such ", stringify!($type)))),
                }
            }
        }
    )*};
}

structs! {
    Info {
        writer, program, arguments, pid, host, ocaml, code, taken, since_start, reason, name, sequence, way,
        pause, skipped, trace
    }
    Skipped { copies, memory, disk }
    Columns { immediates, strings, equals, continuations }
    SectionEntry { kind, number, offset }
    GroupFacts { first, blocks, edges, words, first_address, last_address }
    Pointer { block, infix }
    Root { kind, target }
    Finaliser { kind, value, function }
    Ephemeron { block, data, keys }
    Continuation { block, first_frame, frames, held }
    StackValue { frame, slot, target }
    FiberStack { address, bytes, owner }
    SizeClass { most_words, used_blocks, used_words, free_blocks, free_words }
    Sample { block, allocation, samples, stack, time }
    Sampling { rate_bits, halved }
    Space { kind, start, end }
    Memory {
        resident_bytes, mapped_heap_words, free_words, fragment_words, unreachable_words, minor_words,
        ring_bytes, external_bytes
    }
    Statistic { name, value }
    Module { name, fields, interface, implementation }
    Thread { number, domain, system_id, name, first_frame, frames }
    SnapshotLocation { function, file, line, start_char, end_char }
    Frame { location, return_address, is_inlined }
    ClosureCode { address, location }
    Variables { all, environments, slots }
    Variable { module, name, stamp }
    Environment { code, fields }
    FieldVariable { field, variable }
    SlotVariable { slot, variable }
    Label { block, name }
    StackNode { caller, location }
    Oddity { what, count }
}

enums! {
    CodeKind { 0 = Native, 1 = Bytecode, }
    Reason { 0 = Asked, 1 = Major, 2 = Every, 3 = Signal, 4 = Exit, 5 = Peak, 6 = Call, }
    SnapshotMethod { 0 = Agent, 1 = Attach, 2 = Copy, 3 = Core, }
    RootKind {
        0 = Global { module, field },
        1 = DynamicGlobal { module, field },
        2 = Stack { thread, frame, slot },
        3 = Local { thread },
        4 = CGlobal { address, name },
        5 = Finaliser { kind, part },
        6 = ThreadField { thread, what },
        7 = Hook { what },
        8 = Sampler { what },
        9 = Unknown { address },
    }
    FiberOwner { 0 = Continuation(block), 1 = Thread(thread), 2 = Cache { domain }, }
    FinaliserKind { 0 = First, 1 = Last, 2 = Pending, }
    FinaliserPart { 0 = Function, 1 = Value, }
    WeakSlot { 0 = Empty, 1 = Other, 2 = Block(pointer), 3 = Dead, }
    SpaceKind { 0 = Minor, 1 = Major, 2 = Static, }
    Number { 0 = Whole(number), 1 = Real(number), }
}
