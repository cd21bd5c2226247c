//! `bactrian live` on real programs: as they are, linked with the real Ocamlviz, recorded and played again.

mod errors;
mod ocamlviz;
mod prometheus;
mod run;
mod several;
mod unchanged;
