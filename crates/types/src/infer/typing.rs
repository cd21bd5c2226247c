//! The answer: a type for each block, where it comes from, and how much of the heap is known.

use bactrian_snapshot::{BlockId, Snapshot};

use super::hash::Map;
use super::image::Form;
use crate::{DeclarationId, Table, Text};

/// An entry of [`Typing::classes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The same number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How the type of a block is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// From a global, step by step along pointers; or from the block itself, as for strings and floats.
    Exact,
    /// The block, or another block that leads to it, was sampled when it was allocated.
    Sample,
    /// By inference: nothing else fits.
    Inference,
    /// Only its header is known.
    TagOnly,
    /// Nothing is known.
    Unknown,
}

/// All categories, the best known first.
pub const CATEGORIES: [Category; 5] =
    [Category::Exact, Category::Sample, Category::Inference, Category::TagOnly, Category::Unknown];

/// A type of blocks; for blocks without a known type, a class by what their headers say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeClass {
    /// The type in OCaml syntax; otherwise for example `closure`, `block of tag 3`.
    pub name: String,
    /// Whether `name` is a type.
    pub is_type: bool,
    /// Whether the type contains variables.
    pub is_polymorphic: bool,
    /// The declaration in the table, if the type is a declared one.
    pub declaration: Option<DeclarationId>,
    /// The collection that it is, if any.
    pub collection: Option<Collection>,
    /// The classes of its arguments, even if no block is of them.
    pub arguments: Vec<ClassId>,
    /// The names of its immediate values, in order of the integers that represent them.
    pub constants: Vec<(i64, Text)>,
    /// Whether it is `char`.
    pub is_char: bool,
}

/// Collections of the standard library, and similar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collection {
    /// `list`
    List,
    /// `array`, `floatarray`
    Array,
    /// `Hashtbl.t` and `Hashtbl.Make(..).t`
    Hashtbl,
    /// `Map.Make(..).t`
    Map,
    /// `Set.Make(..).t`
    Set,
    /// `Queue.t`
    Queue,
    /// `Stack.t`
    Stack,
    /// `Buffer.t`
    Buffer,
    /// `lazy_t`
    Lazy,
    /// `Seq.node`
    Seq,
}

/// A field of a block, according to its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Its name; empty if it has none.
    pub name: Text,
    /// The class of its type if that is known, even if no block is of it.
    pub class: Option<ClassId>,
}

/// Two types for one block, or a type that contradicts a block's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The block.
    pub block: BlockId,
    /// The type that was found first. `None` if the block's header alone contradicts the other.
    pub kept: Option<String>,
    /// Where that type came from.
    pub kept_origin: String,
    /// The other type.
    pub other: String,
    /// Where the other type came from.
    pub other_origin: String,
    /// The block's tag.
    pub tag: u8,
    /// Its size in words, without its header.
    pub words: u32,
}

/// How many blocks and words are known how well. Words include headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Blocks and words by category, in the order of [`CATEGORIES`].
    pub categories: [(u64, u64); 5],
    /// Blocks and words with a type that contains variables.
    pub polymorphic: (u64, u64),
    /// Why other blocks have no type, most words first.
    pub reasons: Vec<Reason>,
    /// The number of conflicts, including those that are not kept.
    pub conflicts: u64,
}

impl Coverage {
    /// All words.
    pub fn words(&self) -> u64 {
        self.categories.iter().map(|(_, words)| words).sum()
    }

    /// Words of blocks that have a type, of whatever category.
    pub fn typed_words(&self) -> u64 {
        self.categories[..3].iter().map(|(_, words)| words).sum()
    }
}

/// Why blocks have no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The reason, such as `held by stacks only`.
    pub text: String,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of words, headers included.
    pub words: u64,
}

/// How a module of the program matches the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitStanding {
    /// The module, as the snapshot names it.
    pub name: String,
    /// Whether and how its types are used.
    pub fate: UnitFate,
}

/// Whether and how a module's types are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitFate {
    /// All its fields are known.
    Whole,
    /// Only its public fields are known.
    Public,
    /// Only its allocation sites are used: its block has other fields than the table says.
    SitesOnly,
    /// Not used: there is no digest to compare.
    Unchecked,
    /// Not used: the table does not contain it.
    Missing,
    /// Not used: the table contains another version of it.
    Stale,
    /// Not used: the table contains several units of this name.
    Ambiguous,
}

/// What is known of the fields of blocks that look alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub constructor: Option<Text>,
    /// Fields in order; if `is_repeated`, a single one that stands for all.
    pub fields: Vec<FieldType>,
    pub is_repeated: bool,
}

/// Types of all blocks of a snapshot.
#[derive(Debug, Default)]
pub struct Typing {
    pub(crate) classes: Vec<TypeClass>,
    pub(crate) class_of: Vec<u32>,
    pub(crate) category_of: Vec<u8>,
    pub(crate) origin_of: Vec<u32>,
    pub(crate) origins: Vec<String>,
    pub(crate) reason_of: Vec<u16>,
    pub(crate) reasons: Vec<String>,
    pub(crate) forms: Vec<Form>,
    pub(crate) words: Vec<u32>,
    /// By class, form and size.
    pub(crate) outlines: Map<(u32, Form, u32), Outline>,
    /// For blocks that are described by their contents, in order of blocks.
    pub(crate) special: Vec<(u32, u32)>,
    pub(crate) contents: Vec<Outline>,
    /// By class and key of the contents.
    pub(crate) content_numbers: Map<(u32, u32), u32>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) coverage: Coverage,
    pub(crate) units: Vec<UnitStanding>,
}

impl Typing {
    /// Finds the types of all blocks. Never fails: damaged or unknown blocks have no type.
    pub fn infer(table: &Table, snapshot: &Snapshot, progress: &mut dyn FnMut(f64)) -> Typing {
        super::answer::infer(table, snapshot, progress)
    }

    /// All classes.
    pub fn classes(&self) -> &[TypeClass] {
        &self.classes
    }

    /// The class of a block. Blocks that do not exist have the class of unreadable ones.
    pub fn class_of(&self, block: BlockId) -> ClassId {
        ClassId(self.class_of.get(block.index()).copied().unwrap_or(0))
    }

    /// A class by its number.
    pub fn class(&self, class: ClassId) -> Option<&TypeClass> {
        self.classes.get(class.index())
    }

    /// How the type of a block is known.
    pub fn category(&self, block: BlockId) -> Category {
        let known = self.category_of.get(block.index());
        known.map_or(Category::Unknown, |&number| CATEGORIES[usize::from(number).min(4)])
    }

    /// Why a block has no type.
    pub fn reason(&self, block: BlockId) -> Option<&str> {
        let reason = *self.reason_of.get(block.index())?;
        self.reasons.get(usize::from(reason)).map(String::as_str)
    }

    /// Where a block's type comes from, such as `global Main.table` or `sampled at main.ml:12`.
    pub fn origin(&self, block: BlockId) -> Option<&str> {
        let origin = *self.origin_of.get(block.index())?;
        self.origins.get(origin as usize).map(String::as_str)
    }

    /// The constructor with which a block was made.
    pub fn constructor(&self, block: BlockId) -> Option<&str> {
        self.outline(block)?.constructor.as_deref()
    }

    /// The name of a block's field.
    pub fn field_name(&self, block: BlockId, field: u64) -> Option<&str> {
        let name = &*self.field(block, field)?.name;
        (!name.is_empty()).then_some(name)
    }

    /// What is known of a block's field.
    pub fn field(&self, block: BlockId, field: u64) -> Option<&FieldType> {
        let outline = self.outline(block)?;
        let at = if outline.is_repeated { 0 } else { usize::try_from(field).ok()? };
        outline.fields.get(at)
    }

    /// The collection that blocks of a class are, or are the heads of.
    pub fn collection(&self, class: ClassId) -> Option<Collection> {
        self.class(class)?.collection
    }

    /// How many blocks and words are known how well.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// The first 10,000 conflicts, in the order in which they were found. [`Coverage::conflicts`] counts all.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// How the program's modules match the table.
    pub fn units(&self) -> &[UnitStanding] {
        &self.units
    }

    fn outline(&self, block: BlockId) -> Option<&Outline> {
        if let Ok(found) = self.special.binary_search_by_key(&block.0, |(block, _)| *block) {
            return self.contents.get(self.special[found].1 as usize);
        }
        let at = block.index();
        let key = (*self.class_of.get(at)?, *self.forms.get(at)?, *self.words.get(at)?);
        self.outlines.get(&key)
    }
}
