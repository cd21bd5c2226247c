//! Types of blocks of real programs, compared with what the programs themselves know, on both compilers.

#[path = "../record/compilers.rs"]
#[allow(dead_code, reason = "shared with the tests of record")]
mod compilers;
mod tables;
mod told;
mod truth;
mod values;
