//! Arbitrary bytes, taken for a heap snapshot of which everything is asked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::indexes::check_heap(bytes));
