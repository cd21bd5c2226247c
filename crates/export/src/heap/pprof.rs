//! The merged dominator tree in the format of pprof: holders take the place of callers.
//!
//! Each entry is a sample with its own blocks and bytes, and with the stack of the entries above it. So what
//! pprof calls cumulative is the retained size of an entry.

use std::io::{self, Write};

use bactrian_analysis::heap::{Heap, MergedKind, MergedLimits, WORD, merged_dominators};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::pprof::field;
use crate::protobuf::Message;
use crate::strings::Strings;
use crate::whole::MOST;

const MAPPING_ID: u64 = 1;

/// Writes a heap. Returns the number of entries.
pub fn write(heap: &Heap, limits: &MergedLimits, out: &mut dyn Write) -> io::Result<usize> {
    let mut out = GzEncoder::new(out, Compression::fast());
    let entries = merged_dominators(heap, limits);
    let labels: Vec<Label> = entries.iter().map(|entry| Label::of(heap, entry.kind)).collect();
    let info = heap.snapshot().info();
    let comment = format!("bactrian {}, host {}", env!("CARGO_PKG_VERSION"), info.host);
    let mut strings = Strings::default();
    strings.number("");
    let mut message = Message::default();
    head(info.taken, &comment, &mut strings, &mut message);
    message.flush(&mut out)?;

    // A location for each label, and a function for each location.
    let mut locations = Strings::default();
    let numbers: Vec<u64> =
        labels.iter().map(|label| locations.number(&label.whole) as u64 + 1).collect();
    let mut stack: Vec<usize> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        // Entries are in depth-first order, so the parent is on the stack.
        while stack.last().is_some_and(|&last| Some(last) != entry.parent) {
            stack.pop();
        }
        stack.push(index);
        if entry.own_blocks == 0 {
            continue;
        }
        let mut sample = Message::default();
        let path: Vec<u64> = stack.iter().rev().map(|&entry| numbers[entry]).collect();
        sample.packed(1, &path);
        let bytes = entry.own_words.saturating_mul(WORD);
        sample.packed(2, &[entry.own_blocks.min(MOST), bytes.min(MOST)]);
        message.message(field::SAMPLE, &sample);
        message.flush(&mut out)?;
    }
    mapping(&info.program, &mut strings, &mut message);
    let mut written = 0;
    for (label, &number) in labels.iter().zip(&numbers) {
        if number <= written {
            continue;
        }
        written = number;
        label.write(number, &mut strings, &mut message);
        message.flush(&mut out)?;
    }
    for text in strings.all() {
        message.string(field::STRING, text);
        message.flush(&mut out)?;
    }
    out.finish()?;
    Ok(entries.len())
}

/// The name and source location of a frame.
struct Label {
    whole: String,
    name: String,
    file: String,
    line: u64,
}

impl Label {
    fn of(heap: &Heap, kind: MergedKind) -> Label {
        let whole = heap.describe_merged(kind);
        let class = match kind {
            MergedKind::Class(class) => heap.classes().get(class as usize),
            _ => None,
        };
        let place = class.and_then(|class| class.place.as_deref()).unwrap_or_default();
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        let name = class.map_or_else(|| whole.clone(), |class| class.name.clone());
        Label { whole, name, file: file.to_owned(), line: line.parse().unwrap_or(0) }
    }

    fn write<'a>(&'a self, number: u64, strings: &mut Strings<'a>, message: &mut Message) {
        let mut line = Message::default();
        line.integer(1, number);
        line.integer(2, self.line);
        let mut location = Message::default();
        location.integer(1, number);
        location.integer(2, MAPPING_ID);
        location.message(4, &line);
        message.message(field::LOCATION, &location);
        let mut function = Message::default();
        function.integer(1, number);
        function.integer(2, strings.number(&self.name) as u64);
        function.integer(4, strings.number(&self.file) as u64);
        message.message(field::FUNCTION, &function);
    }
}

fn head<'a>(taken: u64, comment: &'a str, strings: &mut Strings<'a>, message: &mut Message) {
    for (name, unit) in [("inuse_objects", "count"), ("inuse_space", "bytes")] {
        let mut value_type = Message::default();
        value_type.integer(1, strings.number(name) as u64);
        value_type.integer(2, strings.number(unit) as u64);
        message.message(field::SAMPLE_TYPE, &value_type);
    }
    message.integer(field::TIME_NANOS, taken.saturating_mul(1000).min(MOST));
    message.integer(field::COMMENT, strings.number(comment) as u64);
    message.integer(field::DEFAULT_SAMPLE_TYPE, strings.number("inuse_space") as u64);
}

/// Tells pprof that names need not be looked up.
fn mapping<'a>(program: &'a str, strings: &mut Strings<'a>, message: &mut Message) {
    let mut mapping = Message::default();
    mapping.integer(1, MAPPING_ID);
    mapping.integer(5, strings.number(program) as u64);
    for has in [7, 8, 9, 10] {
        mapping.integer(has, 1);
    }
    message.message(field::MAPPING, &mapping);
}
