//! A strict reader of HPROF files that accepts only what the specification allows, and prints what it reads.

use std::collections::HashMap;
use std::fmt::Write;

/// The result of reading a file.
#[derive(Debug, Default)]
pub struct Read {
    /// All records, one per line.
    pub text: String,
    /// The number of instances and arrays.
    pub objects: u64,
    strings: HashMap<u64, String>,
    /// Names of classes, and the types of their fields.
    classes: HashMap<u64, (String, Vec<u8>)>,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

fn size(of: u8) -> usize {
    match of {
        4 | 8 => 1,
        5 | 9 => 2,
        6 | 10 => 4,
        2 | 7 | 11 => 8,
        other => panic!("there is no type {other}"),
    }
}

/// Reads a file; panics if it is invalid.
pub fn read(file: &[u8]) -> Read {
    let mut read = Read::default();
    let mut bytes = Bytes(file);
    assert_eq!(bytes.take(19), b"JAVA PROFILE 1.0.2\0");
    assert_eq!(bytes.number(4), 8);
    writeln!(read.text, "milliseconds {}", bytes.number(8)).expect("strings take everything");
    loop {
        let (kind, _time, length) = (bytes.number(1), bytes.number(4), bytes.number(4));
        let mut body = Bytes(bytes.take(length as usize));
        if kind == 0x2c {
            break;
        }
        while !body.0.is_empty() {
            let line = match kind {
                0x1c => sub(&mut read, &mut body),
                _ => record(&mut read, kind, &mut body),
            };
            writeln!(read.text, "{line}").expect("strings take everything");
        }
    }
    assert!(bytes.0.is_empty(), "something stands after the end");
    read
}

fn record(read: &mut Read, kind: u64, body: &mut Bytes<'_>) -> String {
    match kind {
        0x01 => {
            let id = body.number(8);
            let text = String::from_utf8(body.take(body.0.len()).to_vec()).expect("it is UTF-8");
            read.strings.insert(id, text.clone());
            format!("string {id} {text:?}")
        }
        0x02 => {
            let (serial, id) = (body.number(4), body.number(8));
            let (_trace, name) = (body.number(4), read.strings[&body.number(8)].clone());
            read.classes.insert(id, (name.clone(), Vec::new()));
            format!("load class {serial} {id:#x} {name:?}")
        }
        0x04 => {
            let id = body.number(8);
            let [method, _signature, file] = [0; 3].map(|_| read.strings[&body.number(8)].clone());
            let (class, line) = (body.number(4), body.number(4));
            format!("frame {id} {method:?} {file:?}:{line} of class {class}")
        }
        0x05 => {
            let (serial, thread, count) = (body.number(4), body.number(4), body.number(4));
            let frames: Vec<_> = (0..count).map(|_| body.number(8)).collect();
            format!("trace {serial} of thread {thread}: {frames:?}")
        }
        other => panic!("there is no record {other:#x}"),
    }
}

fn sub(read: &mut Read, body: &mut Bytes<'_>) -> String {
    let kind = body.number(1);
    let id = body.number(8);
    match kind {
        0x03 => format!("root {id:#x} in frame {1} of thread {0}", body.number(4), body.number(4)),
        0x05 => format!("root class {:?}", read.classes[&id].0),
        0x08 => format!("root thread {id:#x} {} with trace {}", body.number(4), body.number(4)),
        0x20 => class(read, id, body),
        0x21 => {
            read.objects += 1;
            let (_trace, class, length) = (body.number(4), body.number(8), body.number(4));
            let (name, types) = &read.classes[&class];
            let fields: Vec<_> =
                types.iter().map(|of| format!("{:#x}", body.number(size(*of)))).collect();
            assert_eq!(length as usize, types.iter().map(|of| size(*of)).sum::<usize>());
            format!("instance {id:#x} of {name:?}: {}", fields.join(" "))
        }
        0x22 => {
            read.objects += 1;
            let (_trace, count, class) = (body.number(4), body.number(4), body.number(8));
            let elements: Vec<_> = (0..count).map(|_| format!("{:#x}", body.number(8))).collect();
            format!("array {id:#x} of {:?}: {}", read.classes[&class].0, elements.join(" "))
        }
        0x23 => {
            read.objects += 1;
            let (_trace, count, of) = (body.number(4), body.number(4), body.number(1) as u8);
            let elements = body.take(count as usize * size(of));
            format!("array {id:#x} of {count} of type {of}: {}", elements.escape_ascii())
        }
        other => panic!("there is no record {other:#x} within the heap"),
    }
}

fn class(read: &mut Read, id: u64, body: &mut Bytes<'_>) -> String {
    let (_trace, above) = (body.number(4), body.number(8));
    for _ in 0..5 {
        assert_eq!(body.number(8), 0);
    }
    let (size_of_fields, constants) = (body.number(4), body.number(2));
    assert_eq!(constants, 0);
    let mut line = format!("class {id:#x} below {above:#x}, {size_of_fields} bytes");
    for _ in 0..body.number(2) {
        let name = &read.strings[&body.number(8)];
        let of = body.number(1) as u8;
        let value = body.number(size(of));
        write!(line, ", static {name:?} = {value:#x}").expect("strings take everything");
    }
    let count = body.number(2);
    let mut types = Vec::new();
    for _ in 0..count {
        let name = &read.strings[&body.number(8)];
        let of = body.number(1) as u8;
        write!(line, ", {name}: {of}").expect("strings take everything");
        types.push(of);
    }
    read.classes.get_mut(&id).expect("it was loaded").1 = types;
    line
}
