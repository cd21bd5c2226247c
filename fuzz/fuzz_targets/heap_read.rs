//! Arbitrary bytes, read as a heap snapshot.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::heaps::check(bytes));
