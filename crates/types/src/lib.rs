//! Types of heap blocks, with unmodified compilers.
//!
//! OCaml erases types at compile time, but not everything is lost: the compiler leaves typed trees (`.cmt`
//! files) beside its output. A helper written in OCaml (`ocaml/types`) reads them and writes one [`Table`]: the
//! types and the representation of their values, the contents of each module's fields, and what is allocated
//! where. `docs/formats/types.md` describes the file.
//!
//! [`Typing::infer`] takes a table and a snapshot and finds the type of every block for which that is possible.
//!
//! **The caller owes** nothing. Digests tell whether a table belongs to the program; the result is reported
//! ([`Typing::units`]).
//!
//! **Promises.** No table and no snapshot makes this crate panic, hang or recurse without bounds. Memory is
//! some 20 bytes for each block and 5 for each pointer. A block never gets a type that its header contradicts.
//! If evidence contradicts itself, both sides are reported ([`Typing::conflicts`]); if there is none, the
//! reason is ([`Typing::reason`]).
//!
//! **Left out:** values. Integers and strings are in the snapshot.
//!
//! ```
//! use bactrian_snapshot::{BlockId, Columns, GroupBuilder, Info, Snapshot, Tables, Writer, tag};
//! use bactrian_types::{Category, Table, Typing};
//!
//! // A single string, about which nothing else is known.
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
//! # Ok::<(), bactrian_snapshot::SnapshotError>(())
//! ```

mod infer;
mod table;

pub use infer::*;
pub use table::*;
