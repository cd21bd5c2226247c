//! `bactrian live` on real programs: as they are, linked with the real Ocamlviz, recorded and played again.

#[path = "../record/compilers.rs"]
#[allow(dead_code, reason = "shared with the tests of record")]
mod compilers;
mod errors;
mod ocamlviz;
mod run;
mod unchanged;
