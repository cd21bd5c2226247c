//! Inference: the type of every block of a snapshot.
//!
//! Each step is a file. `image` reads the heap. `units` decides which modules the table knows. `evidence` finds
//! the types of globals, variables (`variables`, and in native code `captures` and `scopes`) and samples
//! (`sites`). `spread` carries types along pointers, using what `shape` says about a type and a header. `pull`
//! learns what type variables stand for. `why` finds out why the rest has no type, and `answer` makes classes.
//! Types are `terms`; `unify` compares them and `print` writes them.

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
