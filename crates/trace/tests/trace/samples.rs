//! Traces that memtrace wrote, read and written again.
//!
//! Run on the repository's own fixtures, and on `../shared/traces` if it exists beside the checkout.

use std::path::{Path, PathBuf};

use bactrian_trace::{Event, Index, Input, NewAlloc, Reader, Stacks, Writer};

use crate::events::{What, read};

/// Reads a trace and writes what was read.
fn rewrite(bytes: &[u8]) -> Vec<u8> {
    let index = Index::skim(bytes).expect("a readable trace");
    let mut reader = Reader::new(bytes, &index, Stacks::Decode);
    let mut writer = Writer::new(Vec::new(), index.info().clone()).expect("a writable version");
    let mut codes = Vec::new();
    while let Some((event, frames)) = reader.next_with_frames() {
        match event {
            Event::Alloc(alloc) => {
                codes.clear();
                codes.extend(alloc.stack.iter().map(|&frame| frames.code(frame)));
                let new = NewAlloc {
                    time: alloc.time,
                    domain: alloc.domain,
                    length: alloc.length,
                    samples: alloc.samples,
                    source: alloc.source,
                    stack: &codes,
                };
                assert_eq!(writer.alloc(&new, frames).expect("to memory"), alloc.id);
            }
            Event::Promote { time, domain, id } => {
                writer.promote(time, domain, id).expect("to memory");
            }
            Event::Collect { time, domain, id } => {
                writer.collect(time, domain, id).expect("to memory");
            }
        }
    }
    writer.finish().expect("to memory")
}

fn traces(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "ctf"));
    paths.sort();
    paths
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One of the repository's own traces.
pub fn fixture(name: &str) -> Input {
    Input::open(&root().join("crates/trace/tests/fixtures").join(name)).expect("readable")
}

fn all_samples() -> Vec<(String, Input)> {
    let fixtures = traces(&root().join("crates/trace/tests/fixtures"));
    assert!(fixtures.len() >= 3, "the repository's own fixtures are there");
    let all = fixtures.into_iter().chain(traces(&root().join("../shared/traces")));
    all.map(|path| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, Input::open(&path).expect("readable"))
    })
    .collect()
}

#[test]
fn sound_traces_come_out_byte_for_byte() {
    let mut compared = 0;
    for (name, input) in all_samples() {
        if name.starts_with("corrupt_") || name.starts_with("edge_deep_") || name.contains("_v1") {
            continue;
        }
        assert!(rewrite(&input) == input[..], "{name} differs when written again");
        compared += 1;
    }
    assert!(compared >= 3);
}

#[test]
fn sound_traces_have_no_losses() {
    for (name, input) in all_samples() {
        if name.starts_with("corrupt_") {
            continue;
        }
        let reading = read(&input);
        assert!(reading.losses.is_clean(), "{name}: {:?}", reading.losses);
        let index = Index::skim(&input).expect("a readable trace");
        assert_eq!(reading.allocations(), index.allocations(), "{name}");
    }
}

/// A trace of `../shared/traces`; how many allocations, promotions and collections it yields; what is reported
/// of its losses.
type Expected = (&'static str, [usize; 3], &'static [&'static str]);

const CUT_STACKS: &str =
    "229 stacks were truncated by the recorder: their innermost frames are unknown";

const ODD_TRACES: &[Expected] = &[
    (
        "corrupt_backclock_v2.ctf",
        [20_001, 0, 20_001],
        &["1 time the clock went backwards; later times were shifted by 5.000 s"],
    ),
    (
        "corrupt_longline_bytecode_v2.ctf",
        [5_542, 1, 4_654],
        &["40 location records were damaged by their writer and repaired: names may be wrong"],
    ),
    ("corrupt_tailhdr_v2.ctf", [2_117, 51, 1_993], &["20 bytes not understood"]),
    (
        "corrupt_truncated_v2.ctf",
        [1_878, 42, 1_737],
        &[
            "1 packet damaged (used up to the damage)",
            "1 byte not understood",
            "4521 bytes missing from packets",
            "239 sampled allocations lost (and what became of them)",
        ],
    ),
    ("edge_deep_v2.ctf", [2_790, 2_240, 2_769], &[CUT_STACKS]),
    ("edge_deep_v3.ctf", [2_772, 2_220, 2_750], &[CUT_STACKS]),
    ("edge_gap40s_v2.ctf", [2_392, 2_290, 2_371], &[]),
    ("edge_kill_v2.ctf", [2_372, 2_290, 1_983], &[]),
];

/// A trace of `../shared/traces`, if that exists beside the checkout.
fn shared(name: &str) -> Option<Input> {
    Input::open(&root().join("../shared/traces").join(name)).ok()
}

#[test]
fn odd_traces_yield_known_events_and_losses() {
    for &(name, counts, losses) in ODD_TRACES {
        let Some(input) = shared(name) else { continue };
        let reading = read(&input);
        let count =
            |kind: fn(&What) -> bool| reading.events.iter().filter(|seen| kind(&seen.what)).count();
        let found = [
            count(|what| matches!(what, What::Alloc { .. })),
            count(|what| *what == What::Promote),
            count(|what| *what == What::Collect),
        ];
        assert_eq!(found, counts, "{name}");
        assert_eq!(reading.losses.sentences(), losses, "{name}");
    }
}

#[test]
fn thirty_bytes_are_not_a_trace() {
    let error = Index::skim(&fixture("every_word_v2.ctf")[..30]).expect_err("not a trace");
    assert!(error.to_string().contains("ends inside its first packet header"), "{error}");
}

/// `Dune__exe__Main.f` is in `main.ml`.
#[test]
fn names_garbled_by_long_lines_are_repaired() {
    let Some(input) = shared("corrupt_longline_bytecode_v2.ctf") else { return };
    let reading = read(&input);
    let mut checked = 0;
    for (file, function, ..) in reading.frames.ids().flat_map(|frame| reading.places(frame)) {
        let (file, function) = (String::from_utf8_lossy(&file), String::from_utf8_lossy(&function));
        let module = function.split('.').next().and_then(|unit| unit.rsplit("__").next());
        let stem = file.rsplit('/').next().and_then(|base| base.strip_suffix(".ml"));
        let lower = |name: Option<&str>| name.map(str::to_lowercase);
        assert_eq!(lower(module), lower(stem), "{function} in {file}");
        checked += 1;
    }
    assert!(checked > 100, "{checked} names");
}
