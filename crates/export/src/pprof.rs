//! The format of pprof: a gzipped protobuf message `Profile` (profile.proto of github.com/google/pprof).
//!
//! Samples come first and strings last, so that samples can be streamed. pprof reads fields in any order.

use std::io::{self, Write};

use bactrian_analysis::units::Bytes;
use bactrian_analysis::{Measure, Of, Profile, Unit};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::about::About;
use crate::frames::{self, Frames};
use crate::functions::{Function, Functions};
use crate::path::every_stack;
use crate::protobuf::Message;
use crate::strings::Strings;
use crate::whole::{MOST, Rounding};

/// Numbers of the fields of `Profile`.
pub mod field {
    pub const SAMPLE_TYPE: u64 = 1;
    pub const SAMPLE: u64 = 2;
    pub const MAPPING: u64 = 3;
    pub const LOCATION: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const STRING: u64 = 6;
    pub const TIME_NANOS: u64 = 9;
    pub const DURATION_NANOS: u64 = 10;
    pub const PERIOD_TYPE: u64 = 11;
    pub const PERIOD: u64 = 12;
    pub const COMMENT: u64 = 13;
    pub const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// The program is the only mapping; pprof's ids begin at 1.
const MAPPING_ID: u64 = 1;

pub fn write(profile: &Profile, about: &About, out: &mut impl Write) -> io::Result<()> {
    // As in Go's runtime: the files are large, and compress well at any level.
    let mut out = GzEncoder::new(out, Compression::fast());
    let comments = comments(profile, about);
    let frames = Frames::new(profile);
    let functions = Functions::new(&frames);
    let mut message = Message::default();
    let mut strings = Strings::default();
    // The first string must be the empty one.
    strings.number("");

    head(profile, about, &comments, &mut strings, &mut message);
    message.flush(&mut out)?;
    samples(profile, &frames, &mut out)?;
    mapping(about, &mut strings, &mut message);
    for (at, (label, function)) in frames.iter().zip(&functions.of_frames).enumerate() {
        let mut line = Message::default();
        line.integer(1, id(*function));
        line.integer(2, label.line.unwrap_or(0).into());
        line.integer(3, frames::column(label).unwrap_or(0).into());
        let mut location = Message::default();
        location.integer(1, id(at));
        location.integer(2, MAPPING_ID);
        location.message(4, &line);
        message.message(field::LOCATION, &location);
        message.flush(&mut out)?;
    }
    for (at, Function { name, file }) in functions.all.iter().enumerate() {
        let mut function = Message::default();
        function.integer(1, id(at));
        function.integer(2, strings.number(name) as u64);
        // The system name stays empty: if it equalled the name, pprof would demangle the name as if it came
        // from C++.
        function.integer(4, strings.number(file.unwrap_or_default()) as u64);
        message.message(field::FUNCTION, &function);
        message.flush(&mut out)?;
    }
    for text in strings.all() {
        message.string(field::STRING, text);
        message.flush(&mut out)?;
    }
    out.finish()?;
    Ok(())
}

fn head<'a>(
    profile: &Profile,
    about: &About,
    comments: &'a [String],
    strings: &mut Strings<'a>,
    message: &mut Message,
) {
    let mut value_type = |name: &'a str, unit: &'a str| {
        let mut value_type = Message::default();
        value_type.integer(1, strings.number(name) as u64);
        value_type.integer(2, strings.number(unit) as u64);
        value_type
    };
    for column in &profile.columns {
        let unit = unit_name(column.measure.unit);
        message.message(field::SAMPLE_TYPE, &value_type(type_name(column.measure), unit));
    }
    message.message(field::PERIOD_TYPE, &value_type("space", "bytes"));
    let Bytes(word_size) = about.word_size;
    let period = (word_size as f64 / about.sample_rate).round() as u64;
    message.integer(field::PERIOD, period.min(MOST));
    message.integer(field::TIME_NANOS, nanoseconds(about.start.0));
    message.integer(field::DURATION_NANOS, nanoseconds(about.duration.0));
    for comment in comments {
        message.integer(field::COMMENT, strings.number(comment) as u64);
    }
    // Otherwise pprof shows the last one by default.
    let measures = || profile.columns.iter().map(|column| column.measure);
    let default = measures().find(|measure| measure.unit == Unit::Bytes).or(measures().next());
    if let Some(measure) = default {
        let name = strings.number(type_name(measure));
        message.integer(field::DEFAULT_SAMPLE_TYPE, name as u64);
    }
}

fn samples(profile: &Profile, frames: &Frames<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut roundings = vec![Rounding::default(); profile.columns.len()];
    let (mut message, mut sample) = (Message::default(), Message::default());
    let (mut values, mut locations) = (Vec::new(), Vec::new());
    for stack in every_stack(&profile.tree) {
        values.clear();
        let columns = profile.columns.iter().zip(&mut roundings);
        values.extend(columns.map(|(column, rounding)| rounding.own(column, stack)));
        if values.iter().all(|&value| value == 0) {
            continue;
        }
        locations.clear();
        locations.extend(frames.labels_innermost_first(stack).map(id));
        sample.clear();
        sample.packed(1, &locations);
        sample.packed(2, &values);
        message.message(field::SAMPLE, &sample);
        message.flush(out)?;
    }
    Ok(())
}

/// Tells pprof which program it is, and that names need not be looked up.
fn mapping<'a>(about: &'a About, strings: &mut Strings<'a>, message: &mut Message) {
    let mut mapping = Message::default();
    mapping.integer(1, MAPPING_ID);
    mapping.integer(5, strings.number(&about.program) as u64);
    for has in [7, 8, 9, 10] {
        // Functions, file names, line numbers, inlined frames.
        mapping.integer(has, 1);
    }
    message.message(field::MAPPING, &mapping);
}

/// Comments, which pprof shows above its tables.
fn comments(profile: &Profile, about: &About) -> Vec<String> {
    let mut comments = vec![format!("bactrian {}, host {}", about.version, about.host)];
    if about.sample_rate < 1.0 {
        let rate = about.sample_rate;
        comments.push(format!("Values are estimates: {rate} of all words were sampled."));
    }
    if !profile.losses.is_clean() || profile.tree.cut() > 0 {
        comments.push("Some of the trace is missing: see bactrian info.".to_owned());
    }
    comments
}

/// The names in Go's heap profiles, and more in the same style.
fn type_name(Measure { unit, of }: Measure) -> &'static str {
    match (of, unit) {
        (Of::Allocated, Unit::Objects) => "alloc_objects",
        (Of::Allocated, Unit::Bytes) => "alloc_space",
        (Of::LiveAtEnd, Unit::Objects) => "inuse_objects",
        (Of::LiveAtEnd, Unit::Bytes) => "inuse_space",
        (Of::LiveAtPeak, Unit::Objects) => "peak_objects",
        (Of::LiveAtPeak, Unit::Bytes) => "peak_space",
        (Of::Promoted, Unit::Objects) => "promoted_objects",
        (Of::Promoted, Unit::Bytes) => "promoted_space",
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Objects => "count",
    }
}

/// pprof's ids begin at 1.
fn id(index: usize) -> u64 {
    index as u64 + 1
}

/// Limited to what pprof's signed integers can hold.
fn nanoseconds(micros: u64) -> u64 {
    micros.saturating_mul(1000).min(MOST)
}
