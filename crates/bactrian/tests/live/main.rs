//! `bactrian live` on real programs: unmodified, linked with the original Ocamlviz, recorded and replayed.

mod errors;
mod ocamlviz;
mod prometheus;
mod run;
mod several;
mod unchanged;
