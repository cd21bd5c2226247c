//! Numbers by stack, without a trace: what is pushed to servers of profiles, minute by minute. As pprof, and as a request of
//! OpenTelemetry's profiles (opentelemetry-proto 1.10, `v1development`), both of which have one kind of number here: servers name a
//! profile after it.

use std::collections::HashMap;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::pprof::field;
use crate::protobuf::Message;
use crate::strings::Strings;

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame<'a> {
    /// The function.
    pub function: &'a str,
    /// Its file; empty if it is not known.
    pub file: &'a str,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// Bytes by stack.
#[derive(Clone, Debug, Default)]
pub struct StackProfile<'a> {
    /// What the bytes are of: `alloc_space`, `inuse_space`.
    pub name: &'static str,
    /// Bytes that a sample stands for.
    pub period: u64,
    /// When it begins, in nanoseconds since 1970.
    pub start: u64,
    /// How long it is, in nanoseconds.
    pub duration: u64,
    /// Frames, the innermost first, and their bytes.
    pub stacks: Vec<(Vec<StackFrame<'a>>, u64)>,
}

/// Frames and their functions by number, from 0.
#[derive(Default)]
struct Numbers<'a> {
    frames: Vec<(StackFrame<'a>, usize)>,
    of_frames: HashMap<StackFrame<'a>, usize>,
    functions: Vec<(&'a str, &'a str)>,
    of_functions: HashMap<(&'a str, &'a str), usize>,
}

impl<'a> Numbers<'a> {
    fn frame(&mut self, frame: StackFrame<'a>) -> usize {
        if let Some(known) = self.of_frames.get(&frame) {
            return *known;
        }
        let name = (frame.function, frame.file);
        let function = *self.of_functions.entry(name).or_insert_with(|| {
            self.functions.push(name);
            self.functions.len() - 1
        });
        self.frames.push((frame, function));
        self.of_frames.insert(frame, self.frames.len() - 1);
        self.frames.len() - 1
    }
}

const BYTES: &str = "bytes";

impl StackProfile<'_> {
    /// A gzipped message of pprof.
    pub fn pprof(&self) -> Vec<u8> {
        // Ids are numbers from 1.
        let id = |index: usize| index as u64 + 1;
        let (mut message, mut strings) = (Message::default(), Strings::default());
        strings.number("");
        let mut kind = Message::default();
        kind.integer(1, strings.number(self.name) as u64);
        kind.integer(2, strings.number(BYTES) as u64);
        message.message(field::SAMPLE_TYPE, &kind);
        message.message(field::PERIOD_TYPE, &kind);
        message.integer(field::PERIOD, self.period.max(1));
        message.integer(field::TIME_NANOS, self.start);
        message.integer(field::DURATION_NANOS, self.duration);
        let mut numbers = Numbers::default();
        for (frames, bytes) in self.stacks.iter().filter(|(_, bytes)| *bytes > 0) {
            let frames: Vec<u64> = frames.iter().map(|frame| id(numbers.frame(*frame))).collect();
            let mut sample = Message::default();
            sample.packed(1, &frames);
            sample.packed(2, &[*bytes]);
            message.message(field::SAMPLE, &sample);
        }
        for (at, (frame, function)) in numbers.frames.iter().enumerate() {
            let mut line = Message::default();
            line.integer(1, id(*function));
            line.integer(2, frame.line.into());
            let mut location = Message::default();
            location.integer(1, id(at));
            location.message(4, &line);
            message.message(field::LOCATION, &location);
        }
        for (at, (name, file)) in numbers.functions.iter().enumerate() {
            let mut function = Message::default();
            function.integer(1, id(at));
            function.integer(2, strings.number(name) as u64);
            function.integer(4, strings.number(file) as u64);
            message.message(field::FUNCTION, &function);
        }
        for text in strings.all() {
            message.string(field::STRING, text);
        }
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        // Memory takes everything.
        let _ = message.flush(&mut out);
        out.finish().unwrap_or_default()
    }
}

/// Numbers of the fields of `ProfilesDictionary`, whose tables begin with an entry that means nothing.
mod table {
    pub const MAPPING: u64 = 1;
    pub const LOCATION: u64 = 2;
    pub const FUNCTION: u64 = 3;
    pub const LINK: u64 = 4;
    pub const STRING: u64 = 5;
    pub const ATTRIBUTE: u64 = 6;
    pub const STACK: u64 = 7;
}

/// The body of a request of OTLP (`ExportProfilesServiceRequest`) with some profiles of one program, which attributes describe.
/// `id` tells it from all others, and each profile from the others in it.
pub fn otlp_request(
    profiles: &[StackProfile<'_>],
    attributes: &[(&str, &str)],
    id: [u8; 15],
) -> Vec<u8> {
    let (mut numbers, mut strings) = (Numbers::default(), Strings::default());
    strings.number("");
    let mut stacks: Vec<Vec<u64>> = vec![Vec::new()];
    let mut of_stacks: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut scoped = Message::default();
    let mut scope = Message::default();
    scope.string(1, "bactrian");
    scope.string(2, env!("CARGO_PKG_VERSION"));
    scoped.message(1, &scope);
    for (at, profile) in profiles.iter().enumerate() {
        let mut kind = Message::default();
        kind.integer(1, strings.number(profile.name) as u64);
        kind.integer(2, strings.number(BYTES) as u64);
        let mut message = Message::default();
        message.message(1, &kind);
        for (frames, bytes) in profile.stacks.iter().filter(|(_, bytes)| *bytes > 0) {
            let frames: Vec<u64> =
                frames.iter().map(|frame| numbers.frame(*frame) as u64 + 1).collect();
            let stack = *of_stacks.entry(frames).or_insert_with_key(|frames| {
                stacks.push(frames.clone());
                stacks.len() - 1
            });
            let mut sample = Message::default();
            sample.integer(1, stack as u64);
            sample.packed(4, &[*bytes]);
            message.message(2, &sample);
        }
        message.fixed(3, profile.start);
        message.integer(4, profile.duration);
        message.message(5, &kind);
        message.integer(6, profile.period.max(1));
        message.bytes(7, &[&id[..], &[at as u8]].concat());
        scoped.message(2, &message);
    }
    let mut resource = Message::default();
    for (key, value) in attributes {
        let (mut any, mut attribute) = (Message::default(), Message::default());
        any.string(1, value);
        attribute.string(1, key);
        attribute.message(2, &any);
        resource.message(1, &attribute);
    }
    let mut of_resource = Message::default();
    of_resource.message(1, &resource);
    of_resource.message(2, &scoped);
    let dictionary = dictionary(&numbers, &stacks, strings);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.message(2, &dictionary);
    let mut body = Vec::new();
    // Memory takes everything.
    let _ = request.flush(&mut body);
    body
}

fn dictionary<'a>(numbers: &Numbers<'a>, stacks: &[Vec<u64>], mut strings: Strings<'a>) -> Message {
    let nothing = Message::default();
    let mut dictionary = Message::default();
    for of in [table::MAPPING, table::LOCATION, table::FUNCTION, table::LINK, table::ATTRIBUTE] {
        dictionary.message(of, &nothing);
    }
    for (frame, function) in &numbers.frames {
        let mut line = Message::default();
        line.integer(1, *function as u64 + 1);
        line.integer(2, frame.line.into());
        let mut location = Message::default();
        location.message(3, &line);
        dictionary.message(table::LOCATION, &location);
    }
    for (name, file) in &numbers.functions {
        let mut function = Message::default();
        function.integer(1, strings.number(name) as u64);
        function.integer(3, strings.number(file) as u64);
        dictionary.message(table::FUNCTION, &function);
    }
    for frames in stacks {
        let mut stack = Message::default();
        if !frames.is_empty() {
            stack.packed(1, frames);
        }
        dictionary.message(table::STACK, &stack);
    }
    for text in strings.all() {
        dictionary.string(table::STRING, text);
    }
    dictionary
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both formats say is read by other programs in the tests of `bactrian ship`; here is what needs none.
    #[test]
    fn nothing_is_a_message_too() {
        let profile = StackProfile { name: "inuse_space", ..StackProfile::default() };
        assert!(profile.pprof().starts_with(&[0x1f, 0x8b]));
        let request = otlp_request(&[profile], &[("service.name", "shop")], [7; 15]);
        assert!(request.windows(4).any(|bytes| bytes == b"shop"));
    }
}
