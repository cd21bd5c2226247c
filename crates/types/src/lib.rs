//! Types of heap blocks, on stock compilers.
//!
//! OCaml forgets types when it compiles, but not everything is lost: the compiler leaves typed trees (`.cmt` files)
//! beside its output. A helper written in OCaml (`ocaml/types`) reads them and writes one [`Table`]: which
//! types there are and how their values look, what each field of each module is, and what is allocated where.
//! `docs/formats/types.md` describes the file.
//!
//! [`Typing::infer`] takes a table and a snapshot, and finds the type of every block that can be known.

mod infer;
mod table;

pub use infer::*;
pub use table::*;
