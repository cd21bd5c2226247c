//! What the fuzz targets check, apart from libFuzzer so that each target stays three lines long. A check
//! reports a finding by a panic.

pub mod answering;
pub mod bytecode;
pub mod cores;
pub mod executables;
pub mod filters;
pub mod heaps;
pub mod indexes;
pub mod live;
pub mod marshalled;
pub mod reading;
pub mod rewriting;
pub mod rings;
pub mod symbols;
pub mod tables;
