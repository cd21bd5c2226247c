//! Exports in the real tools: each accepts the file and shows Bactrian's totals.
//!
//! `cargo xtask consumers` gets the tools, says where they are, and runs these tests.

use std::fs;
use std::path::{Path, PathBuf};

use bactrian_analysis::{Column, Measure, Of, TraceFile, Unit};
use bactrian_export::Format;
use serde_json::Value;

use crate::golden;
use crate::hostile::{self, hostile};
use crate::tools::{ask_node, pprof};
use crate::traces::{exported, profile, tiny};

/// Writes an export where tools can open it.
fn file(name: &str, trace: &TraceFile, format: Format) -> PathBuf {
    let name = format!("{name}.{}", format.extension());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, exported(trace, format)).expect("the folder for such files is there");
    path
}

/// Bactrian's own total.
fn total(trace: &TraceFile, measure: Measure) -> u64 {
    let profile = profile(trace, Format::Json);
    let column = |column: &&Column| column.measure == measure;
    let column = profile.columns.iter().find(column).expect("JSON has all usual measures");
    column.estimate(column.total()).value.round() as u64
}

const TYPES: &[(&str, Measure)] = &[
    ("alloc_objects", Measure { unit: Unit::Objects, of: Of::Allocated }),
    ("alloc_space", Measure { unit: Unit::Bytes, of: Of::Allocated }),
    ("inuse_objects", Measure { unit: Unit::Objects, of: Of::LiveAtEnd }),
    ("inuse_space", Measure { unit: Unit::Bytes, of: Of::LiveAtEnd }),
];

#[test]
#[ignore = "needs pprof: cargo xtask consumers"]
fn pprof_shows_it() {
    let tiny = tiny();
    golden::check("tiny.pprof.txt", &pprof(&file("tiny", &tiny, Format::Pprof), &["-raw"]));

    for (name, trace) in [("tiny", tiny), ("hostile", hostile())] {
        let file = file(name, &trace, Format::Pprof);
        for &(index, measure) in TYPES {
            let top = pprof(&file, &["-top", "-unit=B", &format!("-sample_index={index}")]);
            let shown = format!("Total samples = {}B", total(&trace, measure));
            assert!(top.contains(&shown), "{name}, {index}: no `{shown}` in\n{top}");
        }
        assert!(pprof(&file, &["-top"]).contains("\nType: alloc_space\n"));
        pprof(&file, &["-traces"]);
    }
}

/// What Speedscope and the Firefox Profiler show for every column.
fn check_columns(shown: &Value, trace: &TraceFile, format: Format) {
    let shown = shown.as_array().expect("one for each column");
    assert_eq!(shown.len(), format.measures().len());
    for (shown, &measure) in shown.iter().zip(format.measures()) {
        assert_eq!(shown["name"], measure.title(), "{shown}");
        assert_eq!(shown["unit"], "bytes", "{shown}");
        assert_eq!(shown["total"], total(trace, measure), "{shown}");
    }
}

#[test]
#[ignore = "needs Speedscope: cargo xtask consumers"]
fn speedscope_shows_it() {
    for (name, trace) in [("tiny", tiny()), ("hostile", hostile())] {
        let shown = ask_node("speedscope.mjs", &file(name, &trace, Format::Speedscope));
        assert_eq!(shown["name"], "tiny.exe");
        assert_eq!(shown["said"], Value::Array(Vec::new()), "{name}");
        check_columns(&shown["profiles"], &trace, Format::Speedscope);
        if name == "hostile" {
            let frames = shown["frames"].as_array().expect("names");
            assert!(hostile::shown_names().all(|name| frames.contains(&name.into())), "{shown}");
        }
    }
}

#[test]
#[ignore = "needs the Firefox Profiler: cargo xtask consumers"]
fn firefox_shows_it() {
    for (name, trace) in [("tiny", tiny()), ("hostile", hostile())] {
        let shown = ask_node("firefox.mjs", &file(name, &trace, Format::Firefox));
        assert_eq!(shown["name"], "tiny.exe");
        check_columns(&shown["threads"], &trace, Format::Firefox);
        let track = serde_json::json!([
            { "category": "Memory", "unit": "bytes", "points": 3, "range": 3200 }
        ]);
        assert_eq!(shown["counters"], track, "{name}");
    }
}
