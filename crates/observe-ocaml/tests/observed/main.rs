//! OCaml programs that use the library, watched over our own protocol.

mod primitives;
mod programs;
mod trouble;
mod watch;
