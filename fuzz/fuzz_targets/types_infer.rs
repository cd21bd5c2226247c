//! Arbitrary bytes, taken for a table of types and a snapshot.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::tables::check_inference(bytes));
