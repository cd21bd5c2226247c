//! The answer: a type for each block, where it comes from, and how much is known in all.

use bactrian_snapshot::{BlockId, Snapshot};

use super::hash::Map;
use super::image::Form;
use crate::{DeclarationId, Table, Text};

/// An entry of [`Typing::classes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The same number, to index with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How the type of a block is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// From a global, step by step along pointers; or the block itself says it, as strings and floats do.
    Exact,
    /// It was sampled when it was allocated, or something that points to it was.
    Sample,
    /// Nothing else fits.
    Inference,
    /// Only what its header says.
    TagOnly,
    /// Nothing.
    Unknown,
}

/// All categories, the best known first.
pub const CATEGORIES: [Category; 5] =
    [Category::Exact, Category::Sample, Category::Inference, Category::TagOnly, Category::Unknown];

/// A type that blocks have; or, where no type is known, what their headers say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeClass {
    /// The type as a person writes it; or as `closure`, `block of tag 3`.
    pub name: String,
    /// Whether `name` is a type.
    pub is_type: bool,
    /// Whether there are variables in it.
    pub is_polymorphic: bool,
    /// The declaration, if the type is a declared one, in the table.
    pub declaration: Option<DeclarationId>,
    /// What collection it is, if it is one.
    pub collection: Option<Collection>,
    /// The classes of its arguments; no block need be of them.
    pub arguments: Vec<ClassId>,
    /// What its values are called that are not blocks, in order of the integers that stand for them.
    pub constants: Vec<(i64, Text)>,
    /// Whether it is `char`.
    pub is_char: bool,
}

/// Collections of the standard library, and types like them.
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

/// A field of a block as its type tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Its name; empty if it has none.
    pub name: Text,
    /// The class of its type, if that is known; no block need be of it.
    pub class: Option<ClassId>,
}

/// Two types for one block, or a type for a block that does not look like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The block.
    pub block: BlockId,
    /// What it was found to be first. `None`: its header alone contradicts the other.
    pub kept: Option<String>,
    /// Where that came from.
    pub kept_origin: String,
    /// What it was found to be as well.
    pub other: String,
    /// Where that came from.
    pub other_origin: String,
    /// The block's tag.
    pub tag: u8,
    /// Its size without its header.
    pub words: u32,
}

/// How many blocks and words are known how well. Words are those of blocks with their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// By category, in the order of [`CATEGORIES`]: blocks and words.
    pub categories: [(u64, u64); 5],
    /// Of those with a type: blocks and words whose type has variables in it.
    pub polymorphic: (u64, u64),
    /// Why others have no type, most words first.
    pub reasons: Vec<Reason>,
    /// How many conflicts there were, also those that are not kept.
    pub conflicts: u64,
}

impl Coverage {
    /// Words in all.
    pub fn words(&self) -> u64 {
        self.categories.iter().map(|(_, words)| words).sum()
    }

    /// Words of blocks whose type is known in some way.
    pub fn typed_words(&self) -> u64 {
        self.categories[..3].iter().map(|(_, words)| words).sum()
    }
}

/// Why blocks have no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As `held by stacks only`.
    pub text: String,
    /// How many blocks.
    pub blocks: u64,
    /// How many words, with headers.
    pub words: u64,
}

/// What became of a module of the program.
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
    /// All of its fields are known.
    Whole,
    /// Only those that others can see.
    Public,
    /// Only what is allocated in it: its block has other fields than the table knows.
    SitesOnly,
    /// None: whether the table knows this version of it cannot be told.
    Unchecked,
    /// None: the table knows nothing of it.
    Missing,
    /// None: the table knows another version of it.
    Stale,
    /// None: the table knows several of this name.
    Ambiguous,
}

/// What is known of the fields of blocks that look alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub constructor: Option<Text>,
    /// Fields in order; if `is_repeated`, one that stands for all.
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
    /// For blocks whose contents decide, in order of blocks.
    pub(crate) special: Vec<(u32, u32)>,
    pub(crate) contents: Vec<Outline>,
    /// By class and what the contents say.
    pub(crate) content_numbers: Map<(u32, u32), u32>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) coverage: Coverage,
    pub(crate) units: Vec<UnitStanding>,
}

impl Typing {
    /// Finds the types of all blocks. Never fails: what is damaged or not known has no type.
    pub fn infer(table: &Table, snapshot: &Snapshot, progress: &mut dyn FnMut(f64)) -> Typing {
        super::answer::infer(table, snapshot, progress)
    }

    /// All classes.
    pub fn classes(&self) -> &[TypeClass] {
        &self.classes
    }

    /// The class of a block. Blocks that are not there are of the class of those that could not be read.
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

    /// Where a block's type comes from, as `global Main.table` or `sampled at main.ml:12`.
    pub fn origin(&self, block: BlockId) -> Option<&str> {
        let origin = *self.origin_of.get(block.index())?;
        self.origins.get(origin as usize).map(String::as_str)
    }

    /// The constructor that a block was made with.
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

    /// What collection the blocks of a class are, or are the heads of.
    pub fn collection(&self, class: ClassId) -> Option<Collection> {
        self.class(class)?.collection
    }

    /// How well blocks are known.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Conflicts, in the order in which they were found: the first 10,000. [`Coverage::conflicts`] counts all.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// What became of the program's modules.
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
