//! Arbitrary bytes, read as a bytecode program.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::bytecode::check(bytes));
