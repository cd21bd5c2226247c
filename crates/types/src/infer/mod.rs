//! What type every block of a snapshot has.

#[expect(dead_code, reason = "inference, which uses it, comes next")]
mod image;
mod typing;

pub use typing::{
    CATEGORIES, Category, ClassId, Collection, Conflict, Coverage, FieldType, Reason, TypeClass,
    Typing, UnitFate, UnitStanding,
};
