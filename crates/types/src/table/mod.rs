//! What the compiler knew of a program, in one file (`.types`).

mod ids;
mod model;
mod read;
pub(crate) mod wire;
mod write;

pub use ids::{DeclarationId, ExtensionId, LayoutId, TypeId, UnitId};
pub use model::{
    Builtin, Captured, Case, Constructor, Declaration, DeclarationKind, Extension, Failure, Field,
    Function, Layout, Lines, ModuleField, ModuleItem, Representation, Site, SiteKind, Table, Text,
    Type, Unit, Variable,
};
pub use read::TypeTableError;

/// The version of the format that is read and written here.
pub const VERSION: u64 = 3;

/// The first bytes of every table.
const MAGIC: &[u8; 8] = b"\x89TYPES\r\n";
