//! Arbitrary texts, taken as filters.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| bactrian_fuzz::filters::check(text));
