//! Arbitrary bytes, taken for the index of a heap snapshot.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::indexes::check(bytes));
