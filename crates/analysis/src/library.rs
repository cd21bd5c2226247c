//! Code that is not the user's: C primitives and the standard library.
//!
//! A program that leaks strings leaks them in `caml_create_bytes`, called by `Bytes.create`: true, but no
//! help. So what library code allocates is attributed to its caller wherever allocation sites are reported,
//! unless raw sites are requested (`--raw`). [`is_library`] is the rule.

use bactrian_snapshot::{SnapshotLocation, StackId, Tables};
pub use bactrian_trace::is_library;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which code call stacks show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LibraryOptions {
    /// Show C primitives and the standard library too; by default, what they allocate is charged to their callers
    pub raw: bool,
}

/// The allocation site of a block in a snapshot: the innermost frame outside library code, or simply the
/// innermost if `raw` is set or there is no other.
pub(crate) fn place_of(
    tables: &Tables,
    stack: Option<StackId>,
    raw: bool,
) -> Option<SnapshotLocation> {
    let is_wanted = |place: &SnapshotLocation| {
        raw || !is_library(tables.names.get(place.function), tables.names.get(place.file))
    };
    tables.innermost(stack, is_wanted)
}
