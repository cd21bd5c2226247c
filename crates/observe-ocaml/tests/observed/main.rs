//! OCaml programs that use the library, observed over our own protocol.

mod client;
mod compatible;
mod idle;
mod moments;
mod ppx;
mod primitives;
mod programs;
mod trouble;
mod watch;
