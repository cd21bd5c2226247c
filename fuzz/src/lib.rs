//! What the fuzz targets check, apart from libFuzzer so that each target stays three lines long.

#![expect(clippy::missing_panics_doc, reason = "to panic is how a fuzz target reports a finding")]

pub mod reading;
pub mod rewriting;
