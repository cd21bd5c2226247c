//! Arbitrary bytes, read as Ocamlviz's protocol.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bactrian_fuzz::live::check_ocamlviz(bytes));
