//! What must hold of every parser for any input. A check reports a finding by a panic.
//!
//! The checks are a crate of the main workspace, separate from libFuzzer, so that the tests can replay every
//! corpus with their own build (`tests/corpus.rs`); `fuzz/src/main.rs` passes them to libFuzzer.

pub mod answering;
pub mod bytecode;
pub mod cores;
pub mod executables;
pub mod filters;
pub mod gc_results;
pub mod heaps;
pub mod indexes;
pub mod language_server;
pub mod live;
pub mod marshalled;
pub mod reading;
pub mod rewriting;
pub mod rings;
pub mod symbols;
pub mod tables;

/// A check that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The folder in `fuzz/corpus` with its initial inputs.
    pub corpus: &'static str,
    /// Panics if something does not hold for these bytes.
    pub check: fn(&[u8]),
}

const fn target(name: &'static str, corpus: &'static str, check: fn(&[u8])) -> Target {
    Target { name, corpus, check }
}

/// All targets; each parser has at least one.
pub const TARGETS: &[Target] = &[
    target("trace_read", "trace", reading::check),
    target("trace_rewrite", "trace", rewriting::check),
    target("trace_answers", "trace", answering::check),
    target("filter_options", "filter", |bytes| as_text(bytes, filters::check)),
    target("executable_read", "executable", executables::check),
    target("symbol_name", "symbol", |bytes| as_text(bytes, symbols::check)),
    target("marshal_read", "marshal", marshalled::check),
    target("bytecode_read", "bytecode", bytecode::check),
    target("heap_read", "heap", heaps::check),
    target("heap_answers", "heap", indexes::check_heap),
    target("heap_index", "heap_index", indexes::check),
    target("core_read", "core", cores::check),
    target("runtime_events", "runtime_events", rings::check),
    target("types_read", "types", tables::check),
    target("types_infer", "types_infer", tables::check_inference),
    target("gc_result", "gc_result", gc_results::check),
    target("live_wire", "live_wire", live::check_wire),
    target("live_ocamlviz", "live_ocamlviz", live::check_ocamlviz),
    target("language_server", "language_server", language_server::check),
];

/// Checks text; other bytes are ignored.
fn as_text(bytes: &[u8], check: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}
