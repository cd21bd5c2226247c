//! The formats, as text for review.

use bactrian_export::Format;

use crate::golden::check;
use crate::traces::{exported, tiny};

fn text(format: Format) -> String {
    String::from_utf8(exported(&tiny(), format)).expect("text is UTF-8")
}

/// Indented JSON.
fn indented(format: Format) -> String {
    let value: serde_json::Value = serde_json::from_str(&text(format)).expect("it is JSON");
    format!("{value:#}\n")
}

#[test]
fn folded() {
    check("tiny.folded", &text(Format::Folded));
}

#[test]
fn csv() {
    check("tiny.csv", &text(Format::Csv));
}

#[test]
fn json() {
    check("tiny.json", &indented(Format::Json));
}

#[test]
fn speedscope() {
    check("tiny.speedscope.json", &indented(Format::Speedscope));
}

#[test]
fn firefox() {
    check("tiny.firefox.json", &indented(Format::Firefox));
}
