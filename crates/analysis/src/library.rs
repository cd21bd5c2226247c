//! Code that is not the user's: primitives in C and the standard library.
//!
//! A program that leaks strings leaks them in `caml_create_bytes`, called by `Bytes.create`; that is true and helps nobody. So
//! what library code allocates counts to whoever called it, wherever places are told, unless all is wanted (`--raw`). The rule
//! itself is [`is_library`].

use bactrian_snapshot::{Location, StackId, Tables};
pub use bactrian_trace::is_library;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of stacks is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LibraryOptions {
    /// Show C primitives and the standard library too; otherwise what they allocate counts to their callers
    pub raw: bool,
}

/// The place that allocated a block of a snapshot: the innermost that is not library code, if all is not wanted and there is one.
pub(crate) fn place_of(tables: &Tables, stack: Option<StackId>, raw: bool) -> Option<Location> {
    let is_wanted = |place: &Location| {
        raw || !is_library(tables.names.get(place.function), tables.names.get(place.file))
    };
    tables.innermost(stack, is_wanted)
}
