//! Snapshots of OCaml heaps (`.heap`): every block that was alive at one moment, the pointers among them, and
//! the roots that hold them.
//!
//! **Purpose.** Writing a heap of a hundred million blocks while several workers walk it, into a few percent of
//! its size; reading it piece by piece, sound or damaged. The format is described in `docs/formats/heap.md`.
//!
//! **The caller owes** blocks in order of their addresses, numbered from 0, and the number of all blocks before
//! the first group is written. Where the bytes go, under which name and with which permissions, is up to the
//! caller, too.
//!
//! **Promises.** No input makes this crate panic, hang or use memory out of proportion to its size:
//! decompressed contents are at most 256 times as long as the stored ones, and there are at most 2,000 blocks
//! per byte. Damage costs only the group or table that it is in, and is reported in [`Losses`]. Numbers of
//! blocks that are read are below [`Snapshot::blocks`]; look up all other numbers with `get`.
//!
//! **Left out:** what blocks mean. Walking memory is in `bactrian-capture`, answers are in `bactrian-analysis`.
//!
//! ```
//! use bactrian_snapshot::{BlockId, Columns, Edge, GroupBuilder, Info, Module, ModuleId, Pointer, Root};
//! use bactrian_snapshot::{RootKind, Snapshot, Tables, Writer, tag};
//!
//! // [ "camel" ], and a module that holds it.
//! let columns = Columns::default();
//! let mut writer = Writer::new(Vec::new(), columns, 2, &Info::default())?;
//! let mut group = GroupBuilder::new(columns)?;
//! group.start(BlockId(0));
//! group.block(0x1008, 2, 0);
//! group.pointer(BlockId(1));
//! group.immediate(0);
//! group.block(0x1020, 1, tag::STRING);
//! group.string(2, b"camel");
//! writer.group(group.finish()?)?;
//!
//! let mut tables = Tables::default();
//! tables.modules.push(Module::named(tables.names.add("Main")));
//! let kind = RootKind::Global { module: ModuleId(0), field: 0 };
//! tables.roots.push(Root { kind, target: Pointer::to(BlockId(0)) });
//! writer.tables(&tables)?;
//! let bytes = writer.finish()?;
//!
//! let snapshot = Snapshot::from_bytes(bytes)?;
//! for index in 0..snapshot.groups().len() {
//!     let group = snapshot.group(index)?;
//!     for edge in group.fields()?.edges() {
//!         let Edge { from, field, to } = edge?;
//!         assert_eq!((from, field, to), (BlockId(0), 0, Pointer::to(BlockId(1))));
//!     }
//!     assert_eq!(group.strings()?[0].bytes, 5);
//! }
//! assert_eq!(snapshot.tables().roots, tables.roots);
//! assert!(snapshot.losses().is_clean());
//! # Ok::<(), bactrian_snapshot::SnapshotError>(())
//! ```

mod error;
mod losses;
mod model;
mod reader;
mod wire;
mod writer;

pub use error::{Result, SnapshotError};
pub use losses::{Incident, Losses};
pub use model::*;
pub use reader::{
    Block, Closure, Custom, Edge, Edges, Equal, Field, FieldValue, Fields, FieldsIter, Group,
    Snapshot, Text, is_snapshot, is_snapshot_file,
};
pub use writer::{EncodedGroup, GroupBuilder, Writer};

/// The version of the format that is read and written.
pub const VERSION: u32 = 3;
