//! Arbitrary bytes, read as a trace.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::reading::check(bytes));
