//! HPROF, the format of Java's heap dumps, which Eclipse MAT, VisualVM and many others open.
//!
//! - A class of blocks is a Java class. If all its blocks have the same size, they are objects with fields
//!   `f0`, `f1`, ..; otherwise they are arrays of objects. Immediates, and words that are not values, are null.
//!   Strings are byte arrays and float arrays are arrays of doubles, of the right length; their contents are
//!   zeros, except for the beginnings of strings if the snapshot has them.
//! - The id of a block is its address with a 0 appended to its hexadecimal digits. If arrays follow each other
//!   more closely than Java's headers allow, tools conclude that references have four bytes, and show half of
//!   each size. Ids that are 16 times as far apart prevent that.
//! - Modules, C variables and so on are classes that hold blocks in static fields. Stacks are stacks of
//!   threads.
//! - Each class is a subclass of `java.lang.Object`; otherwise tools do not count its fields.
//!
//! Tools assume Java's headers: 16 bytes for objects and 24 for arrays, where OCaml has 8.

mod classes;
mod records;
mod roots;

use std::collections::HashMap;
use std::io::{self, Write};

use bactrian_analysis::heap::{ClassKind, Heap, Visit, every_block};
use bactrian_graph::Node;

use super::addresses::Addresses;
use classes::{Form, MOST_FIELDS};
use records::{ID_BYTES, NO_TRACE, Record, Sub, Type, Writer};
use roots::{Owner, Stack};

/// Classes that tools expect; the first is the superclass of all others.
const JAVA: [&str; 15] = [
    "java/lang/Object",
    "java/lang/Class",
    "java/lang/ClassLoader",
    "java/lang/String",
    "java/lang/Thread",
    "[B",
    "[D",
    "[Ljava/lang/Object;",
    "java/lang/System",
    "java/util/Properties",
    "java/lang/ref/Reference",
    "java/lang/ref/WeakReference",
    "java/lang/ref/SoftReference",
    "java/lang/ref/FinalReference",
    "java/lang/ref/PhantomReference",
];
const OBJECT: usize = 0;
const THREAD: usize = 4;
const OBJECTS: usize = 7;
const SYSTEM: usize = 8;
const PROPERTIES: usize = 9;
const REFERENCE: usize = 10;
/// VisualVM gets the size of a reference from Java's system properties and fails without them, so there are
/// empty ones. It also needs all kinds of weak references and the name of their weak field.
const PROPERTIES_ID: u64 = 12;
const TABLE_ID: u64 = 4;

/// Writes a heap. Returns how many blocks were too long for the format and were cut.
pub fn write(heap: &Heap, out: &mut dyn Write) -> io::Result<u64> {
    let (owners, stacks) = roots::roots(heap);
    let forms = classes::forms(heap);
    let fields = classes::field_names(heap, &forms);
    let dump = Dump { heap, owners, stacks, forms, fields, addresses: Addresses::of(heap) };
    let mut out = Writer::new(out, heap.snapshot().info().taken / 1000)?;
    let mut names = Names::default();
    dump.names(&mut names, &mut out)?;
    dump.load_classes(&mut names, &mut out)?;
    dump.traces(&mut names, &mut out)?;
    dump.classes(&names, &mut out)?;
    dump.properties(&mut out)?;
    dump.threads(&mut out)?;
    let mut slots = Vec::new();
    every_block(heap, |visit| dump.block(&visit, &mut slots, &mut out))?;
    out.finish()
}

/// Texts already written, by number.
#[derive(Default)]
struct Names {
    known: HashMap<String, u64>,
}

impl Names {
    /// The number of a text, which is written if it is new. All texts precede the heap.
    fn number(&mut self, text: &str, out: &mut Writer<'_>) -> io::Result<u64> {
        if let Some(&number) = self.known.get(text) {
            return Ok(number);
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(text.to_owned(), number);
        out.record(Record::String, |record| {
            record.id(number).text(text.as_bytes());
        })?;
        Ok(number)
    }

    /// The number of a text that was written before.
    fn get(&self, text: &str) -> u64 {
        self.known.get(text).copied().unwrap_or(0)
    }
}

/// Everything to be written.
struct Dump<'a> {
    heap: &'a Heap,
    owners: Vec<Owner>,
    stacks: Vec<Stack>,
    forms: Vec<Form>,
    /// The names of fields by shape; fields without a name are numbered.
    fields: Vec<Vec<String>>,
    addresses: Addresses,
}

impl Dump<'_> {
    /// The id of a block; 0 (null) if the block cannot be read.
    fn id(&self, node: Node) -> u64 {
        match self.addresses.get(node) {
            None => 0,
            Some(address) if address >> 59 == 0 => address << 4,
            // Not an address of a program; any id will do that no other block can have.
            Some(_) => (u64::from(node) + 1) << 4 | 4,
        }
    }

    /// The id of a class, never that of a block.
    fn class_id(&self, class: usize) -> u64 {
        (class as u64 + 1) << 4 | 8
    }

    /// The id of a thread.
    fn thread_id(&self, thread: usize) -> u64 {
        (thread as u64 + 1) << 4 | 12
    }

    /// All classes in order: Java's, those of blocks, those that hold blocks. Some are present only so that
    /// indices match.
    fn class_names(&self) -> impl Iterator<Item = Option<String>> {
        let java = JAVA.iter().map(|name| Some((*name).to_owned()));
        let of_blocks = self.heap.shapes().iter().zip(&self.forms);
        let of_blocks = of_blocks.map(|(class, form)| classes::name(class, *form));
        let owners = self.owners.iter().map(|owner| Some(owner.name.replace('/', "∕")));
        java.chain(of_blocks).chain(owners)
    }

    /// Writes the texts that are used within the heap.
    fn names(&self, names: &mut Names, out: &mut Writer<'_>) -> io::Result<()> {
        for name in ["props", "defaults", "table", "referent"] {
            names.number(name, out)?;
        }
        for field in 0..MOST_FIELDS {
            names.number(&classes::number(field), out)?;
        }
        for name in self.fields.iter().flatten() {
            names.number(name, out)?;
        }
        for (name, _) in self.owners.iter().flat_map(|owner| &owner.statics) {
            names.number(name, out)?;
        }
        Ok(())
    }

    fn load_classes(&self, names: &mut Names, out: &mut Writer<'_>) -> io::Result<()> {
        for (number, name) in self.class_names().enumerate() {
            let Some(name) = name else { continue };
            let name = names.number(&name, out)?;
            out.record(Record::LoadClass, |record| {
                record.u4(number as u32 + 1).id(self.class_id(number)).u4(NO_TRACE).id(name);
            })?;
        }
        Ok(())
    }

    /// Writes a stack without frames, to which all objects are attributed, and those of threads.
    fn traces(&self, names: &mut Names, out: &mut Writer<'_>) -> io::Result<()> {
        out.record(Record::Trace, |record| {
            record.u4(NO_TRACE).u4(0).u4(0);
        })?;
        let nothing = names.number("", out)?;
        let mut frame_id = 0;
        for (thread, stack) in self.stacks.iter().enumerate() {
            let first = frame_id;
            for (frame, _) in &stack.frames {
                let (function, file, line) = roots::place(frame);
                let [function, file] = [names.number(function, out)?, names.number(file, out)?];
                frame_id += 1;
                out.record(Record::Frame, |record| {
                    let class = THREAD as u32 + 1;
                    record.id(frame_id).id(function).id(nothing).id(file).u4(class).u4(line);
                })?;
            }
            out.record(Record::Trace, |record| {
                let frames = first + 1..=frame_id;
                let number = self.thread_serial(thread);
                record.u4(number).u4(number).u4(stack.frames.len() as u32);
                frames.for_each(|frame| {
                    record.id(frame);
                });
            })?;
        }
        Ok(())
    }

    /// The serial number of a thread and of its stack.
    fn thread_serial(&self, thread: usize) -> u32 {
        thread as u32 + NO_TRACE + 1
    }

    fn classes(&self, names: &Names, out: &mut Writer<'_>) -> io::Result<()> {
        let numbers: Vec<String> = (0..MOST_FIELDS).map(classes::number).collect();
        for number in 0..JAVA.len() {
            match number {
                SYSTEM => self.class(number, &[(names.get("props"), PROPERTIES_ID)], &[], out)?,
                PROPERTIES => {
                    let fields = ["defaults", "table"].map(|name| (names.get(name), Type::Object));
                    self.class(number, &[], &fields, out)?;
                }
                REFERENCE => {
                    self.class(number, &[], &[(names.get("referent"), Type::Object)], out)?;
                }
                _ => self.class(number, &[], &[], out)?,
            }
        }
        for (number, (form, named)) in (JAVA.len()..).zip(self.forms.iter().zip(&self.fields)) {
            let fields: Vec<_> = match form {
                Form::Fields(count, of) => {
                    let called = named.iter().chain(numbers.iter().skip(named.len()));
                    let called = called.map(|name| names.get(name));
                    called.take(*count as usize).map(|name| (name, *of)).collect()
                }
                Form::Elements => Vec::new(),
                Form::Bytes | Form::Doubles | Form::Nothing => continue,
            };
            self.class(number, &[], &fields, out)?;
        }
        for (number, owner) in (JAVA.len() + self.forms.len()..).zip(&self.owners) {
            let statics = owner.statics.iter();
            let statics: Vec<_> =
                statics.map(|(name, block)| (names.get(name), self.id(*block))).collect();
            self.class(number, &statics, &[], out)?;
        }
        Ok(())
    }

    /// Writes a class with the names and values of its static fields and the names and types of its instance
    /// fields.
    fn class(
        &self,
        number: usize,
        statics: &[(u64, u64)],
        fields: &[(u64, Type)],
        out: &mut Writer<'_>,
    ) -> io::Result<()> {
        let above = match number {
            OBJECT => 0,
            _ if number > REFERENCE && number < JAVA.len() => self.class_id(REFERENCE),
            _ => self.class_id(OBJECT),
        };
        out.sub(Sub::Class, |record| {
            record.id(self.class_id(number)).u4(NO_TRACE).id(above);
            // No loader, signers or protection domain; two are reserved.
            (0..5).for_each(|_| {
                record.id(0);
            });
            // No constants.
            record.u4((fields.len() as u64 * ID_BYTES) as u32).u2(0).u2(statics.len() as u16);
            for &(name, value) in statics {
                record.id(name).u1(Type::Object as u8).id(value);
            }
            record.u2(fields.len() as u16);
            for &(name, of) in fields {
                record.id(name).u1(of as u8);
            }
        })?;
        out.sub(Sub::RootClass, |record| {
            record.id(self.class_id(number));
        })
    }

    /// Writes the system properties: an object whose table is an empty array.
    fn properties(&self, out: &mut Writer<'_>) -> io::Result<()> {
        out.sub(Sub::Instance, |record| {
            record.id(PROPERTIES_ID).u4(NO_TRACE).id(self.class_id(PROPERTIES)).u4(16);
            record.id(0).id(TABLE_ID);
        })?;
        out.array(TABLE_ID, 0, Type::Object, Some(self.class_id(OBJECTS)))?;
        out.end_array()
    }

    /// Writes threads and what their stacks hold.
    fn threads(&self, out: &mut Writer<'_>) -> io::Result<()> {
        for (thread, stack) in self.stacks.iter().enumerate() {
            let (id, serial) = (self.thread_id(thread), self.thread_serial(thread));
            out.sub(Sub::Instance, |record| {
                record.id(id).u4(NO_TRACE).id(self.class_id(THREAD)).u4(0);
            })?;
            out.sub(Sub::RootThread, |record| {
                record.id(id).u4(serial).u4(serial);
            })?;
            for (number, (_, blocks)) in stack.frames.iter().enumerate() {
                for &block in blocks {
                    out.sub(Sub::RootFrame, |record| {
                        record.id(self.id(block)).u4(serial).u4(number as u32);
                    })?;
                }
            }
        }
        Ok(())
    }

    fn block(
        &self,
        visit: &Visit<'_>,
        slots: &mut Vec<u64>,
        out: &mut Writer<'_>,
    ) -> io::Result<()> {
        let node = visit.block.id.0;
        let id = self.id(node);
        let class = self.heap.shape_of().get(node as usize).map_or(0, |class| *class as usize);
        let form = self.forms.get(class).copied().unwrap_or(Form::Nothing);
        let class_id = self.class_id(JAVA.len() + class);
        let words = visit.block.words;
        match form {
            Form::Bytes => {
                let bytes = visit.text.map_or(words.saturating_mul(8), |text| text.bytes);
                let wanted = out.array(id, bytes, Type::Byte, None)?;
                let prefix = visit.text.and_then(|text| text.prefix.as_deref()).unwrap_or_default();
                let known = prefix.get(..wanted as usize).unwrap_or(prefix);
                out.bytes(known)?;
                out.zeros(wanted - known.len() as u64)?;
            }
            Form::Doubles => {
                let wanted = out.array(id, words, Type::Double, None)?;
                out.zeros(wanted * Type::Double.bytes())?;
            }
            Form::Fields(count, of) => {
                self.fill(visit, u64::from(count), slots);
                let is_object = of == Type::Object;
                return out.sub(Sub::Instance, |record| {
                    record.id(id).u4(NO_TRACE).id(class_id).u4(count * ID_BYTES as u32);
                    slots.iter().for_each(|slot| {
                        record.id(if is_object { *slot } else { 0 });
                    });
                });
            }
            Form::Elements => self.elements(visit, id, class_id, out)?,
            Form::Nothing => return Ok(()),
        }
        out.end_array()
    }

    /// Stores the ids of the targets of a block's fields in `slots`.
    fn fill(&self, visit: &Visit<'_>, count: u64, slots: &mut Vec<u64>) {
        slots.clear();
        slots.resize(count as usize, 0);
        for &(field, target) in visit.fields {
            if let Some(slot) = slots.get_mut(field as usize) {
                *slot = self.id(target);
            }
        }
    }

    /// Writes a block as an array of objects: its fields, then whatever else it holds.
    fn elements(
        &self,
        visit: &Visit<'_>,
        id: u64,
        class_id: u64,
        out: &mut Writer<'_>,
    ) -> io::Result<()> {
        let words = visit.block.words;
        let data = visit.others.first().filter(|_| words > 1 && self.is_ephemeron(visit));
        let others = if data.is_some() { &[] } else { visit.others };
        let fields = visit.fields.iter().map(|&(field, target)| (field, target));
        // The data of an ephemeron is in its field 1.
        let data = data.map(|&data| (1, data));
        let length = words.saturating_add(others.len() as u64);
        let others = (words..).zip(others.iter().copied());
        let wanted = out.array(id, length, Type::Object, Some(class_id))?;
        let mut next = 0;
        for (field, target) in fields.chain(data).chain(others) {
            if field < next || field >= wanted {
                continue;
            }
            out.zeros((field - next) * ID_BYTES)?;
            out.element(self.id(target))?;
            next = field + 1;
        }
        out.zeros((wanted - next) * ID_BYTES)
    }

    fn is_ephemeron(&self, visit: &Visit<'_>) -> bool {
        self.heap.kind(visit.block.id.0) == ClassKind::Ephemeron
    }
}
