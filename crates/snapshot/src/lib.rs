//! Snapshots of OCaml heaps (`.heap`): every block that was alive at one moment, who points to it, and
//! what holds it.

mod error;
mod model;
mod wire;
mod writer;

pub use error::{Error, Result};
pub use model::*;
pub use writer::{EncodedGroup, GroupBuilder, Writer};

/// The version of the format that is read and written.
pub const VERSION: u32 = 1;
