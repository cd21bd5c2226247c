//! Classes of blocks whose types are unknown, from the header and the snapshot's tables: the function of a
//! closure, the identifier of a custom block, tag and size of others.
//!
//! The number of every possible class follows from the snapshot's tables alone, so that groups of blocks can
//! be read in parallel. After reading, the classes that have blocks are renumbered.

use std::collections::HashMap;

use bactrian_snapshot::{
    BlockId, Closure, ClosureCode, CodeId, Columns, Custom, CustomId, Scanned, SnapshotLocation,
    Tables, tag,
};
use bactrian_types::written;
use schemars::JsonSchema;
use serde::Serialize;

/// A class of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Class {
    /// The kind of class.
    pub kind: ClassKind,
    /// Its name, such as `string list`, `closure Main.load` or `tag 0, 3 fields`.
    pub name: String,
    /// Where the function of a closure is defined, such as `main.ml:12`.
    pub place: Option<String>,
    /// The tag of its blocks; null if they have several tags, are not blocks or could not be read.
    pub tag: Option<u8>,
    /// The type of its blocks, if it is known; also for closures.
    pub type_name: Option<String>,
}

impl Class {
    /// Its name with its place: `closure Main.load (main.ml:12)`.
    pub fn title(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({place})", self.name),
            None => self.name.clone(),
        }
    }

    fn plain(kind: ClassKind, name: String, tag: Option<u8>) -> Class {
        Class { kind, name, place: None, tag, type_name: None }
    }
}

/// Kinds of classes: what the blocks of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassKind {
    /// Blocks of one type.
    Type,
    /// Strings and bytes.
    String,
    /// Boxed floats.
    Float,
    /// Arrays and records of floats.
    FloatArray,
    /// Objects.
    Object,
    /// Lazy values that are not forced yet.
    Lazy,
    /// Forced lazy values.
    Forward,
    /// Suspended continuations.
    Continuation,
    /// Ephemerons and weak arrays.
    Ephemeron,
    /// Other abstract blocks.
    Abstract,
    /// Closures of one function.
    Closure,
    /// Custom blocks with one identifier.
    Custom,
    /// Tuples, records, constructors, arrays: blocks of the same tag and about the same size.
    Structured,
    /// Blocks in a part of the file that cannot be read.
    Unread,
    /// A root.
    Holder,
}

impl ClassKind {
    /// Its name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            ClassKind::Type => "type",
            ClassKind::String => "string",
            ClassKind::Float => "float",
            ClassKind::FloatArray => "float-array",
            ClassKind::Object => "object",
            ClassKind::Lazy => "lazy",
            ClassKind::Forward => "forward",
            ClassKind::Continuation => "continuation",
            ClassKind::Ephemeron => "ephemeron",
            ClassKind::Abstract => "abstract",
            ClassKind::Closure => "closure",
            ClassKind::Custom => "custom",
            ClassKind::Structured => "structured",
            ClassKind::Unread => "unread",
            ClassKind::Holder => "holder",
        }
    }
}

/// Classes that exist whatever the tables say. Their numbers, named below, are their indices here.
const FIXED: [(ClassKind, &str, Option<u8>); 12] = [
    (ClassKind::String, "string", Some(tag::STRING)),
    (ClassKind::Float, "float", Some(tag::DOUBLE)),
    (ClassKind::FloatArray, "float array", Some(tag::DOUBLE_ARRAY)),
    (ClassKind::Object, "object", Some(tag::OBJECT)),
    (ClassKind::Lazy, "lazy value", Some(tag::LAZY)),
    (ClassKind::Forward, "forced lazy value", Some(tag::FORWARD)),
    (ClassKind::Continuation, "continuation", Some(tag::CONTINUATION)),
    (ClassKind::Ephemeron, "ephemeron or weak array", Some(tag::ABSTRACT)),
    (ClassKind::Abstract, "abstract", Some(tag::ABSTRACT)),
    (ClassKind::Closure, "closure of no known function", Some(tag::CLOSURE)),
    (ClassKind::Unread, "not readable", None),
    (ClassKind::Holder, "root", None),
];
const STRING: u32 = number_of(ClassKind::String);
const FLOAT: u32 = number_of(ClassKind::Float);
const FLOAT_ARRAY: u32 = number_of(ClassKind::FloatArray);
const OBJECT: u32 = number_of(ClassKind::Object);
const LAZY: u32 = number_of(ClassKind::Lazy);
const FORWARD: u32 = number_of(ClassKind::Forward);
pub(super) const CONTINUATION: u32 = number_of(ClassKind::Continuation);
const EPHEMERON: u32 = number_of(ClassKind::Ephemeron);
const ABSTRACT: u32 = number_of(ClassKind::Abstract);
/// Closures without functions, which occur only in damaged heaps.
const NO_FUNCTION: u32 = number_of(ClassKind::Closure);
/// Unreadable blocks.
pub(super) const UNREAD: u32 = number_of(ClassKind::Unread);
/// Roots and other holders outside the heap.
pub(super) const HOLDER: u32 = number_of(ClassKind::Holder);

/// The index of a kind in [`FIXED`]; fails to compile for kinds that are not there.
const fn number_of(kind: ClassKind) -> u32 {
    let mut place = 0;
    while FIXED[place].0 as u8 != kind as u8 {
        place += 1;
    }
    place as u32
}

/// The number of size classes: one for each size up to 8 fields, then up to 16, 32 and so on to 2^20, then
/// all larger ones.
const SIZES: u32 = 27;
const FIRST_SHAPE: u32 = FIXED.len() as u32;
const FIRST_FUNCTION: u32 = FIRST_SHAPE + 256 * SIZES;

/// Numbers the classes of one snapshot.
pub(super) struct Classifier<'a> {
    tables: &'a Tables,
    columns: &'a Columns,
    /// For each code the representative of its class: the first with the same name and place.
    codes: Vec<CodeId>,
    /// For each custom identifier the first with the same name.
    customs: Vec<CustomId>,
}

impl<'a> Classifier<'a> {
    pub fn new(tables: &'a Tables, columns: &'a Columns) -> Classifier<'a> {
        let mut known: HashMap<SnapshotLocation, CodeId> = HashMap::new();
        let codes = (0..).map(CodeId).zip(&tables.codes).map(|(id, code)| {
            // Functions without a name are distinguished by address.
            if code.location.function.0 == 0 {
                id
            } else {
                *known.entry(code.location).or_insert(id)
            }
        });
        let codes = codes.collect();
        let mut known = HashMap::new();
        let customs = (0..).map(CustomId).zip(&tables.customs);
        let customs = customs.map(|(id, name)| *known.entry(*name).or_insert(id)).collect();
        Classifier { tables, columns, codes, customs }
    }

    /// The class of a block, as far as tag and size determine it.
    #[inline]
    pub fn of_shape(&self, tag: u8, words: u64) -> u32 {
        match tag {
            tag::STRING => STRING,
            tag::DOUBLE => FLOAT,
            tag::DOUBLE_ARRAY => FLOAT_ARRAY,
            tag::OBJECT => OBJECT,
            tag::LAZY => LAZY,
            tag::FORWARD => FORWARD,
            tag::CONTINUATION if Scanned::of(tag, self.columns) == Scanned::None => CONTINUATION,
            tag::ABSTRACT => ABSTRACT,
            tag => FIRST_SHAPE + u32::from(tag) * SIZES + size(words),
        }
    }

    /// The class of ephemerons and weak arrays, for blocks in the table of ephemerons.
    pub fn of_ephemeron(&self) -> u32 {
        EPHEMERON
    }

    /// The class of a closure, determined by its first function.
    pub fn of_closure(&self, closure: &Closure) -> u32 {
        let code = closure.codes.first().and_then(|code| self.codes.get(code.index()));
        code.map_or(NO_FUNCTION, |code| FIRST_FUNCTION + code.0)
    }

    /// The class of a custom block.
    pub fn of_custom(&self, custom: &Custom) -> u32 {
        let first = self.customs.get(custom.identifier.index());
        let first = first.map_or(self.customs.len() as u32, |first| first.0);
        FIRST_FUNCTION + self.codes.len() as u32 + first
    }

    /// The class with this number; defined for any number.
    pub fn class(&self, number: u32) -> Class {
        if let Some(&(kind, name, tag)) = FIXED.get(number as usize) {
            return Class::plain(kind, name.to_owned(), tag);
        }
        if let Some(at) = number.checked_sub(FIRST_FUNCTION) {
            return match self.tables.codes.get(at as usize) {
                Some(code) => self.closure(code),
                None => self.custom(at - self.tables.codes.len() as u32),
            };
        }
        let shape = number - FIRST_SHAPE;
        let (tag, size) = ((shape / SIZES) as u8, shape % SIZES);
        let name = format!("tag {tag}, {}", show_size(size));
        Class::plain(ClassKind::Structured, name, Some(tag))
    }

    fn closure(&self, code: &ClosureCode) -> Class {
        let name = match self.tables.names.get(code.location.function) {
            "" => format!("closure of the function at {:#x}", code.address),
            name => format!("closure {}", written(name)),
        };
        let place = place(self.tables, &code.location);
        Class { place, ..Class::plain(ClassKind::Closure, name, Some(tag::CLOSURE)) }
    }

    fn custom(&self, at: u32) -> Class {
        let name =
            self.tables.customs.get(at as usize).map_or("", |name| self.tables.names.get(*name));
        let name = match name {
            "" => "custom with unknown operations".to_owned(),
            name => format!("custom {name}"),
        };
        Class::plain(ClassKind::Custom, name, Some(tag::CUSTOM))
    }
}

/// `main.ml:12`, or the file alone if the line is not known; None without a file.
pub(crate) fn place(tables: &Tables, location: &SnapshotLocation) -> Option<String> {
    match (tables.names.get(location.file), location.line) {
        ("", _) => None,
        (file, 0) => Some(file.to_owned()),
        (file, line) => Some(format!("{file}:{line}")),
    }
}

fn size(words: u64) -> u32 {
    match words {
        0..=8 => words as u32,
        9..=0x10_0000 => 9 + (words - 1).ilog2() - 3,
        _ => SIZES - 1,
    }
}

fn show_size(size: u32) -> String {
    match size {
        1 => "1 field".to_owned(),
        0..=8 => format!("{size} fields"),
        _ if size == SIZES - 1 => "over 1048576 fields".to_owned(),
        _ => format!("{} to {} fields", (8_u64 << (size - 9)) + 1, 16_u64 << (size - 9)),
    }
}

/// Renumbers the classes that have blocks from 0, in the same order, and updates `of`. Returns their old
/// numbers.
pub(super) fn renumber(of: &mut [u32], limit: u32) -> Vec<u32> {
    let mut new = vec![u32::MAX; limit as usize];
    for &class in of.iter() {
        new[class as usize] = 0;
    }
    let used: Vec<u32> = (0..limit).filter(|&class| new[class as usize] == 0).collect();
    for (number, &class) in (0..).zip(&used) {
        new[class as usize] = number;
    }
    for class in of {
        *class = new[*class as usize];
    }
    used
}

impl Classifier<'_> {
    /// One more than the highest class number.
    pub fn limit(&self) -> u32 {
        FIRST_FUNCTION + self.codes.len() as u32 + self.customs.len() as u32 + 1
    }
}

/// The blocks that are ephemerons or weak arrays, sorted.
pub(super) fn ephemeron_blocks(tables: &Tables) -> Vec<BlockId> {
    let mut blocks: Vec<_> = tables.ephemerons.iter().map(|ephemeron| ephemeron.block).collect();
    blocks.sort_unstable();
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_get_coarser() {
        let (tables, columns) = (Tables::default(), Columns::default());
        let classifier = Classifier::new(&tables, &columns);
        let name = |tag, words| classifier.class(classifier.of_shape(tag, words)).name;
        assert_eq!(name(0, 0), "tag 0, 0 fields");
        assert_eq!(name(3, 1), "tag 3, 1 field");
        assert_eq!(name(0, 8), "tag 0, 8 fields");
        assert_eq!(name(0, 9), "tag 0, 9 to 16 fields");
        assert_eq!(name(0, 16), "tag 0, 9 to 16 fields");
        assert_eq!(name(0, 17), "tag 0, 17 to 32 fields");
        assert_eq!(name(200, 1 << 20), "tag 200, 524289 to 1048576 fields");
        assert_eq!(name(0, (1 << 20) + 1), "tag 0, over 1048576 fields");
        assert_eq!(name(tag::STRING, 3), "string");
        assert_eq!(name(tag::CONTINUATION, 1), "tag 245, 1 field");
    }

    #[test]
    fn only_classes_with_blocks_are_numbered() {
        let mut of = [7, 3, 7, 9];
        assert_eq!(renumber(&mut of, 12), [3, 7, 9]);
        assert_eq!(of, [1, 0, 1, 2]);
    }
}
