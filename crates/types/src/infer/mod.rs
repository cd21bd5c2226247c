//! What type every block of a snapshot has.
//!
//! Each step is a file: `image` reads the heap, `units` decides which modules the table knows, `evidence` says what
//! globals, variables (`variables`, and in native code `captures` and `scopes`) and samples are (`sites`), `spread` takes types along pointers with what `shape` says of a
//! type and a header, `pull` learns what variables are, `why` finds out why the rest has no type, and `answer` makes
//! classes of it all. Types are `terms`; `unify` compares them and `print` writes them.

mod allocated;
mod answer;
mod captures;
mod collections;
mod eliminate;
mod evidence;
mod hash;
mod image;
mod keep;
mod print;
mod pull;
mod scopes;
mod shape;
mod sites;
mod spread;
mod terms;
mod typing;
mod unify;
mod units;
mod variables;
mod why;

pub use allocated::{Allocated, Allocation, Allocations};
pub use keep::{Overview, TypingColumns};
pub use typing::{
    CATEGORIES, Category, ClassId, Collection, Conflict, Coverage, FieldType, Reason, TypeClass,
    Typing, UnitFate, UnitStanding,
};
pub use units::written;
