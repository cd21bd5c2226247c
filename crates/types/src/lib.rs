//! Types of heap blocks, on stock compilers.
//!
//! OCaml forgets types when it compiles, but not everything is lost: the compiler leaves typed trees (`.cmt` files)
//! beside its output. A helper written in OCaml (`ocaml/types`) reads them and writes one [`Table`]: which
//! types there are and how their values look, what each field of each module is, and what is allocated where.
//! `docs/formats/types.md` describes the file.
//!
//! [`Typing::infer`] takes a table and a snapshot, and finds the type of every block that can be known.
//!
//! The caller owes: nothing. Whether a table is of the program is checked by digests, and told
//! ([`Typing::units`]).
//!
//! Promises: no table and no snapshot makes this crate panic, hang or recurse without bounds; memory is some 20 bytes for
//! each block and 5 for each pointer. A type that a block's header contradicts is not given to it. Where evidence
//! contradicts itself, both sides are told ([`Typing::conflicts`]); where there is none, why ([`Typing::reason`]).
//!
//! Left out: values. What an integer or a string is, is in the snapshot.
//!
//! ```
//! use bactrian_snapshot::{BlockId, Columns, GroupBuilder, Info, Snapshot, Tables, Writer, tag};
//! use bactrian_types::{Category, Table, Typing};
//!
//! // One string, of which nobody knows what it is for.
//! let columns = Columns::default();
//! let mut writer = Writer::new(Vec::new(), columns, 1, &Info::default())?;
//! let mut group = GroupBuilder::new(columns)?;
//! group.start(BlockId(0));
//! group.block(0x1008, 1, tag::STRING);
//! group.string(2, b"camel");
//! writer.group(group.finish()?)?;
//! writer.tables(&Tables::default())?;
//! let snapshot = Snapshot::from_bytes(writer.finish()?)?;
//!
//! let typing = Typing::infer(&Table::default(), &snapshot, &mut |_| {});
//! let class = typing.class_of(BlockId(0));
//! assert_eq!(typing.classes()[class.index()].name, "string or bytes");
//! assert_eq!(typing.category(BlockId(0)), Category::Exact);
//! # Ok::<(), bactrian_snapshot::Error>(())
//! ```

mod infer;
mod table;

pub use infer::*;
pub use table::*;
