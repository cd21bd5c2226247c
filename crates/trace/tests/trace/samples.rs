//! Traces that memtrace wrote, read and written again.
//!
//! Run on the repository's own fixtures, and on `../shared/traces` where a checkout has it beside.

use std::path::{Path, PathBuf};

use bactrian_trace::{Event, Index, Input, NewAlloc, Reader, Stacks, Writer};

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
                writer.promote(time, domain, id, frames).expect("to memory");
            }
            Event::Collect { time, domain, id } => {
                writer.collect(time, domain, id, frames).expect("to memory");
            }
        }
    }
    writer.finish(reader.frames()).expect("to memory")
}

fn traces(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "ctf"));
    paths.sort();
    paths
}

fn all_samples() -> Vec<(String, Input)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixtures = traces(&root.join("crates/trace/tests/fixtures"));
    assert!(fixtures.len() >= 3, "the repository's own fixtures are there");
    let all = fixtures.into_iter().chain(traces(&root.join("../shared/traces")));
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
        let index = Index::skim(&input).expect("a readable trace");
        let mut reader = Reader::new(&input, &index, Stacks::Decode);
        let mut allocations = 0;
        while let Some(event) = reader.next() {
            allocations += u64::from(matches!(event, Event::Alloc(_)));
        }
        assert!(reader.losses().is_clean(), "{name}: {:?}", reader.losses());
        assert_eq!(allocations, index.allocations(), "{name}");
    }
}
