//! Arbitrary bytes, read as an executable.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::executables::check(bytes));
