//! Arbitrary bytes, asked every question there is to a trace.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::answering::check(bytes));
