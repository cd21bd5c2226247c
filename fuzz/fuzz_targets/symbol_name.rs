//! Arbitrary text, taken for the symbol of a function.

#![no_main]

libfuzzer_sys::fuzz_target!(|symbol: &str| bactrian_fuzz::symbols::check(symbol));
