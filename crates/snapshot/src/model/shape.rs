//! What a tag determines: which fields of a block are values, and what else is recorded of it.

/// Tags that mean something to the format.
pub mod tag {
    /// Suspended continuations on OCaml 5; the tag of ordinary blocks before.
    pub const CONTINUATION: u8 = 245;
    /// Lazy values.
    pub const LAZY: u8 = 246;
    /// Closures.
    pub const CLOSURE: u8 = 247;
    /// Objects.
    pub const OBJECT: u8 = 248;
    /// Forwarded lazy values.
    pub const FORWARD: u8 = 250;
    /// Blocks with this tag or a higher one have no fields that are values.
    pub const ABSTRACT: u8 = 251;
    /// Strings and bytes.
    pub const STRING: u8 = 252;
    /// Boxed floats.
    pub const DOUBLE: u8 = 253;
    /// Arrays and records of floats.
    pub const DOUBLE_ARRAY: u8 = 254;
    /// Custom blocks.
    pub const CUSTOM: u8 = 255;
}

/// What a snapshot records of its blocks besides shapes and pointers, and how to interpret tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Whether the values of immediates are recorded.
    pub immediates: bool,
    /// How many bytes of each string are recorded at most; None if none are.
    pub strings: Option<u32>,
    /// Whether blocks without values refer to an earlier block with the same contents.
    pub equals: bool,
    /// Whether tag 245 is that of continuations, as on OCaml 5.
    pub continuations: bool,
}

/// Which fields of a block are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// All of them.
    All,
    /// None of them.
    None,
    /// Those of a closure's environment; the closure itself says where it begins.
    Environment,
}

impl Scanned {
    /// Which fields of blocks with this tag are values.
    #[inline]
    pub fn of(tag: u8, columns: &Columns) -> Scanned {
        match tag {
            tag::CLOSURE => Scanned::Environment,
            tag::ABSTRACT.. => Scanned::None,
            tag::CONTINUATION if columns.continuations => Scanned::None,
            _ => Scanned::All,
        }
    }
}
