//! The Firefox Profiler's own format ("processed profile").
//!
//! Each column becomes a thread, whose call tree shows it. All samples of a thread are at the moment that its
//! measure refers to, the peak or the end, because what a stack allocated in the whole run has no single point
//! in time. A memory track shows the course of time.
//!
//! The version is the first one in which threads share their tables; before it, the stacks would have to be
//! written once per column. The profiler reads this and every older version.

mod memory;
mod tables;

use std::io::{self, Write};
use std::iter::{once, repeat_n};

use bactrian_analysis::{Column, Of, Profile, Unit};
use bactrian_trace::Micros;
use serde::Serialize;
use serde_json::{Value, json};

use crate::about::{About, LivePoint};
use crate::frames::Frames;
use crate::stream::Stream;
use crate::whole;

use memory::Counter;
use tables::{StackNumbers, shared_tables};

/// Version of processed profiles.
const PROCESSED_VERSION: u32 = 60;
/// The corresponding version of Firefox's raw profiles.
const RAW_VERSION: u32 = 30;

#[derive(Serialize)]
struct Document<S, T> {
    meta: Value,
    libs: [(); 0],
    counters: Vec<Counter>,
    shared: S,
    threads: T,
}

pub fn write(
    profile: &Profile,
    about: &About,
    timeline: &[LivePoint],
    out: &mut impl Write,
) -> io::Result<()> {
    let frames = Frames::new(profile);
    let numbers = StackNumbers::new(&frames);
    let document = Document {
        meta: meta(about),
        libs: [],
        counters: Counter::new(about, timeline).into_iter().collect(),
        shared: shared_tables(&profile.tree, &frames, numbers),
        threads: Stream(|| {
            let columns = profile.columns.iter().enumerate();
            columns.map(|(at, column)| thread(profile, about, numbers, at, column))
        }),
    };
    serde_json::to_writer(out, &document)?;
    Ok(())
}

fn meta(about: &About) -> Value {
    json!({
        "version": RAW_VERSION,
        "preprocessedProfileVersion": PROCESSED_VERSION,
        "product": about.title(),
        "importedFrom": format!("bactrian {}", about.version),
        "processType": 0,
        "startTime": milliseconds(about.start),
        // Samples have no interval, and zero is not allowed.
        "interval": 1,
        "stackwalk": 1,
        "symbolicated": true,
        "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
        "markerSchema": [],
        "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a, S> {
    process_type: &'a str,
    process_startup_time: u32,
    process_shutdown_time: (),
    register_time: u32,
    unregister_time: (),
    paused_ranges: [(); 0],
    name: String,
    process_name: &'a str,
    is_main_thread: bool,
    pid: String,
    tid: usize,
    samples: S,
    markers: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples<S, T, W> {
    length: usize,
    stack: S,
    time: T,
    weight: W,
    weight_type: &'static str,
}

fn thread<'a>(
    profile: &'a Profile,
    about: &'a About,
    numbers: StackNumbers,
    at: usize,
    column: &'a Column,
) -> impl Serialize + 'a {
    let values = move || whole::nonzero(&profile.tree, column);
    let count = values().count();
    let now = milliseconds(moment(profile, about, column));
    // The profiler shows the time range of the samples. Two empty samples extend it to the whole run.
    let (start, end) = (0.0, milliseconds(about.duration));
    let samples = Samples {
        length: 1 + count + 1,
        stack: Stream(move || {
            let stacks = values().map(move |(stack, _)| Some(numbers.of(stack)));
            once(None).chain(stacks).chain(once(None))
        }),
        time: Stream(move || once(start).chain(repeat_n(now, count)).chain(once(end))),
        weight: Stream(move || {
            let weights = values().map(|(_, value)| value);
            once(0).chain(weights).chain(once(0))
        }),
        weight_type: match column.measure.unit {
            Unit::Bytes => "bytes",
            // The profiler has no unit for objects.
            Unit::Objects => "samples",
        },
    };
    Thread {
        process_type: "default",
        process_startup_time: 0,
        process_shutdown_time: (),
        register_time: 0,
        unregister_time: (),
        paused_ranges: [],
        name: column.measure.title(),
        process_name: about.title(),
        is_main_thread: at == 0,
        pid: about.pid.to_string(),
        tid: at,
        samples,
        markers: json!({
            "length": 0,
            "data": [],
            "name": [],
            "startTime": [],
            "endTime": [],
            "phase": [],
            "category": [],
        }),
    }
}

/// The moment that a measure refers to.
fn moment(profile: &Profile, about: &About, column: &Column) -> Micros {
    match (column.measure.of, profile.peak) {
        (Of::LiveAtPeak, Some(peak)) => peak.time,
        _ => about.duration,
    }
}

fn milliseconds(time: Micros) -> f64 {
    time.seconds() * 1e3
}
