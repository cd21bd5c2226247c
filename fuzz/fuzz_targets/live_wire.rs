//! Arbitrary bytes, read as our live protocol and recordings.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::live::check_wire(bytes));
