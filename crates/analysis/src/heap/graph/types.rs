//! Types of blocks, if there is a type table from the compiler.
//!
//! Every block has a *shape*, which says what kind of block it is, and a *class*, which is what users see.
//! Without types they are the same. With types, the class of a block is its type, whatever its shape: all
//! cells of a list are one class, and so is a variant with all its constructors. A closure is still
//! classified by its function, which says more than its type.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use bactrian_snapshot::{BlockId, Snapshot};
use bactrian_types::{ClassId, Coverage, Overview, Table, TypeClass, Typing, UnitStanding};

use super::Heap;
use super::classes::{Class, ClassKind, Classifier, HOLDER, UNREAD};
use super::index::{Index, IndexSection};

/// A type table with which heaps can be opened.
#[derive(Clone, Debug)]
pub struct Types {
    table: Arc<Table>,
    digest: u64,
}

impl Types {
    /// Prepares a table.
    pub fn new(table: Table) -> Types {
        let mut hasher = DefaultHasher::new();
        hasher.write(&table.to_bytes());
        // 0 means no table.
        Types { table: Arc::new(table), digest: hasher.finish().max(1) }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Identifies the table.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }
}

/// Marks a missing type.
pub(super) const NO_TYPE: u32 = u32::MAX;

/// What the blocks of a shape have in common: the class number from headers and tables, and the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ShapeKey {
    pub number: u32,
    pub of: u32,
}

/// Classes and shapes of nodes.
pub(super) struct NodeClasses {
    pub class_of: Vec<u32>,
    /// None if shapes and classes are the same, which is the case without types.
    pub shape_of: Option<Vec<u32>>,
    pub keys: Vec<ShapeKey>,
}

impl NodeClasses {
    /// `of` has for each node the index into `numbers`; its last element is the first holder's. `plain`
    /// returns the class with a number, as headers and tables determine it.
    pub fn new(
        of: Vec<u32>,
        numbers: &[u32],
        typing: Option<&Typing>,
        plain: impl Fn(u32) -> Class,
    ) -> NodeClasses {
        let Some(typing) = typing else {
            let keys = numbers.iter().map(|&number| ShapeKey { number, of: NO_TYPE }).collect();
            return NodeClasses { class_of: of, shape_of: None, keys };
        };
        let (shape_of, keys) = by_type(of, numbers, typing);
        let named = Named::new(&keys, plain, Some(typing.classes()));
        let class_of = shape_of.iter().map(|&shape| named.class_of_shape[shape as usize]).collect();
        NodeClasses { class_of, shape_of: Some(shape_of), keys }
    }

    /// Adds holders, which all have the same class, up to this number of nodes.
    pub fn resize(&mut self, nodes: usize) {
        for column in [Some(&mut self.class_of), self.shape_of.as_mut()].into_iter().flatten() {
            let last = column.last().copied().unwrap_or(0);
            column.resize(nodes, last);
        }
    }
}

/// Splits shapes by type.
fn by_type(mut of: Vec<u32>, numbers: &[u32], typing: &Typing) -> (Vec<u32>, Vec<ShapeKey>) {
    let mut keys: Vec<ShapeKey> = Vec::new();
    let mut known: HashMap<ShapeKey, u32> = HashMap::new();
    let is_type: Vec<bool> = typing.classes().iter().map(|class| class.is_type).collect();
    let mut last = None;
    for (block, class) in (0..).zip(&mut of) {
        let number = numbers.get(*class as usize).copied().unwrap_or(UNREAD);
        let found = typing.class_of(BlockId(block));
        let is_typed =
            is_type.get(found.index()) == Some(&true) && ![UNREAD, HOLDER].contains(&number);
        let key = ShapeKey { number, of: if is_typed { found.0 } else { NO_TYPE } };
        // Consecutive blocks often have the same shape.
        let shape = match last {
            Some((last, shape)) if last == key => shape,
            _ => *known.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            }),
        };
        last = Some((key, shape));
        *class = shape;
    }
    (of, keys)
}

/// Classes and shapes with their names, and the class of each shape.
pub(super) struct Named {
    pub classes: Vec<Class>,
    pub shapes: Vec<Class>,
    pub class_of_shape: Vec<u32>,
}

impl Named {
    /// For the blocks of a snapshot.
    pub fn of_snapshot(
        snapshot: &Snapshot,
        keys: &[ShapeKey],
        overview: Option<&Overview>,
    ) -> Named {
        let classifier = Classifier::new(snapshot.tables(), snapshot.columns());
        let types = overview.map(|overview| &*overview.classes);
        Named::new(keys, |number| classifier.class(number), types)
    }

    /// `plain` returns the class with a number, as headers and tables determine it.
    pub fn new(
        keys: &[ShapeKey],
        plain: impl Fn(u32) -> Class,
        types: Option<&[TypeClass]>,
    ) -> Named {
        let mut named =
            Named { classes: Vec::new(), shapes: Vec::new(), class_of_shape: Vec::new() };
        let mut known: HashMap<ShapeKey, u32> = HashMap::new();
        for &key in keys {
            let mut shape = plain(key.number);
            let of = types.and_then(|types| types.get(key.of as usize));
            let (whole, class) = match of {
                None => (key, shape.clone()),
                Some(TypeClass { name, .. }) if shape.kind == ClassKind::Closure => {
                    shape.type_name = Some(name.clone());
                    (ShapeKey { of: NO_TYPE, ..key }, shape.clone())
                }
                Some(TypeClass { name, .. }) => {
                    shape.name = name.clone();
                    let class = Class {
                        kind: ClassKind::Type,
                        name: name.clone(),
                        place: None,
                        tag: None,
                        type_name: Some(name.clone()),
                    };
                    (ShapeKey { number: u32::MAX, ..key }, class)
                }
            };
            let next = named.classes.len() as u32;
            let number = *known.entry(whole).or_insert(next);
            match named.classes.get_mut(number as usize) {
                None => named.classes.push(class),
                // Closures of one function may have different types, or none.
                Some(known) if known.type_name != class.type_name => known.type_name = None,
                Some(_) => {}
            }
            named.shapes.push(shape);
            named.class_of_shape.push(number);
        }
        named
    }
}

/// What is known of a heap's types.
pub(super) struct Known {
    pub types: Types,
    pub overview: Overview,
    /// The types of all blocks, computed or loaded on first use.
    pub typing: OnceLock<Typing>,
}

impl Known {
    /// From a new inference.
    pub fn found(types: Option<&Types>, typing: Option<Typing>) -> Option<Known> {
        let (types, typing) = types.cloned().zip(typing)?;
        Some(Known { types, overview: typing.overview(), typing: typing.into() })
    }

    /// From an index.
    pub fn kept(types: Option<&Types>, overview: Option<Overview>) -> Option<Known> {
        let (types, overview) = types.cloned().zip(overview)?;
        Some(Known { types, overview, typing: OnceLock::new() })
    }
}

impl Heap {
    /// How much of the heap has known types; None if it was opened without types.
    pub fn coverage(&self) -> Option<&Coverage> {
        self.known.as_ref().map(|known| &known.overview.coverage)
    }

    /// The status of the program's modules; empty if the heap was opened without types.
    pub fn units(&self) -> &[UnitStanding] {
        self.known.as_ref().map_or(&[], |known| &known.overview.units)
    }

    /// The type table.
    pub fn table(&self) -> Option<&Table> {
        self.known.as_ref().map(|known| known.types.table())
    }

    /// The types of all blocks; None if the heap was opened without types.
    pub fn typing(&self) -> Option<&Typing> {
        let known = self.known.as_ref()?;
        Some(known.typing.get_or_init(|| {
            let infer = || Typing::infer(known.types.table(), self.snapshot(), &mut |_| {});
            self.kept_or(|index| load(index, &known.overview, self.blocks()), infer)
        }))
    }

    /// Whether a block's contents, not its tag, determine its constructor: so for exceptions and polymorphic
    /// variants. Blocks of one shape may then have different fields.
    pub fn contents_decide(&self, block: u32) -> bool {
        let declaration = self.type_class(block).and_then(|(_, of)| of.declaration);
        let found = self.table().zip(declaration);
        let found = found.and_then(|(table, id)| table.declarations.get(id.index()));
        found.is_some_and(|found| {
            matches!(
                found.kind,
                bactrian_types::DeclarationKind::Open
                    | bactrian_types::DeclarationKind::Cases { .. }
            )
        })
    }

    /// The type of a block, if known.
    pub fn type_class(&self, block: u32) -> Option<(ClassId, &TypeClass)> {
        let known = self.known.as_ref()?;
        let shape = self.shape_of().get(block as usize)?;
        let of = self.shape_keys.get(*shape as usize)?.of;
        Some((ClassId(of), known.overview.classes.get(of as usize)?))
    }
}

/// Loads the types of all blocks from an index.
fn load(index: &Index, overview: &Overview, blocks: usize) -> Option<Typing> {
    let classes = index.column::<u32>(IndexSection::TypeOf)?;
    let categories = index.column::<u8>(IndexSection::Categories)?;
    let origins = index.column::<u32>(IndexSection::Origins)?;
    let reasons = index.column::<u16>(IndexSection::Reasons)?;
    let forms = index.column::<u16>(IndexSection::Forms)?;
    let words = index.column::<u32>(IndexSection::BlockWords)?;
    let details = index.column::<u8>(IndexSection::TypeDetails)?;
    let columns = bactrian_types::TypingColumns {
        classes: &classes,
        categories: &categories,
        origins: &origins,
        reasons: &reasons,
        forms: &forms,
        words: &words,
    };
    let typing = Typing::from_kept(overview.clone(), &details, &columns);
    typing.filter(|_| classes.len() == blocks)
}
