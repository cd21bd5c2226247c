//! Arbitrary bytes, read as marshalled data.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::marshalled::check(bytes));
