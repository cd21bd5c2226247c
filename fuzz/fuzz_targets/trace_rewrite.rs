//! Arbitrary bytes, read as a trace, written and read again.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::rewriting::check(bytes));
