//! Arbitrary bytes, read as a file of OCaml 5's runtime_events.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::rings::check(bytes));
