//! Arbitrary bytes, read as a core file.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::cores::check(bytes));
