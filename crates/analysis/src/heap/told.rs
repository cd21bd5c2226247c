//! Tables as scripts and the page get them: cut to as many rows as were asked for, with how many there are, and with how
//! well types are known. One place for all views, so that they tell the same.

use std::cmp::Reverse;

use serde::Serialize;

use super::{
    ClassBy, ClassFilter, ClassPaths, ClassTable, Collections, Duplicates, Fields, Found, Heap,
    NotFound, Paths, ShapesQuestion, TypeCoverage, class_paths, classes_of, collections,
    duplicates, fields, paths, type_coverage,
};

/// What is said to who asks for types without a table.
pub const NO_TABLE: &str = "types are not known without a table of them: make one with `bactrian types build DIRECTORY`, and name it with --types";

/// What rows of classes are sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassSort {
    /// Bytes of the blocks themselves.
    #[default]
    Shallow,
    /// Bytes that would be free without them.
    Dominated,
    /// How many blocks there are.
    Blocks,
}

/// Blocks by class.
#[derive(Clone, Debug, Serialize)]
pub struct ToldClasses {
    /// The table, with the rows that are told.
    #[serde(flatten)]
    pub table: ClassTable,
    /// How many rows there are.
    pub row_count: usize,
    /// How well types are known, if there are any.
    pub coverage: Option<TypeCoverage>,
}

/// Blocks by class; `limit` rows at most, 0 for all.
pub fn told_classes(
    heap: &Heap,
    by: ClassBy,
    filter: &ClassFilter,
    sort: ClassSort,
    limit: usize,
) -> ToldClasses {
    let mut table = classes_of(heap, by, filter);
    match sort {
        ClassSort::Shallow => {}
        ClassSort::Dominated => table.rows.sort_by_key(|row| Reverse(row.dominated)),
        ClassSort::Blocks => table.rows.sort_by(|a, b| b.blocks.value.total_cmp(&a.blocks.value)),
    }
    let row_count = cut(&mut table.rows, limit);
    ToldClasses { table, row_count, coverage: type_coverage(heap) }
}

/// Collections by type.
#[derive(Clone, Debug, Serialize)]
pub struct ToldCollections {
    /// The table, with the rows that are told.
    #[serde(flatten)]
    pub table: Collections,
    /// How many rows there are.
    pub row_count: usize,
    /// How well types are known.
    pub coverage: Option<TypeCoverage>,
}

/// Collections by type, `limit` rows at most, 0 for all. None if types are not known.
pub fn told_collections(heap: &Heap, limit: usize) -> Option<ToldCollections> {
    let mut table = collections(heap)?;
    let row_count = cut(&mut table.rows, limit);
    Some(ToldCollections { table, row_count, coverage: type_coverage(heap) })
}

/// What is held through each field of a type.
#[derive(Clone, Debug, Serialize)]
pub struct ToldFields {
    /// The fields that are told.
    pub fields: Fields,
    /// How many there are.
    pub row_count: usize,
    /// How well types are known, if there are any.
    pub coverage: Option<TypeCoverage>,
}

/// What is held through each field of some classes, `limit` rows at most, 0 for all.
pub fn told_fields(heap: &Heap, classes: &[u32], limit: usize) -> ToldFields {
    let mut fields = fields(heap, classes);
    let row_count = cut(&mut fields.rows, limit);
    ToldFields { fields, row_count, coverage: type_coverage(heap) }
}

/// What is there more than once.
#[derive(Clone, Debug, Serialize)]
pub struct ToldDuplicates {
    /// All of it, with the rows that are told.
    #[serde(flatten)]
    pub duplicates: Duplicates,
    /// How many classes there are.
    pub class_count: usize,
    /// How many sites there are.
    pub site_count: usize,
}

/// What is there more than once, `limit` rows of each table at most, 0 for all.
pub fn told_duplicates(heap: &Heap, limit: usize) -> ToldDuplicates {
    let most = if limit == 0 { usize::MAX } else { limit };
    let mut duplicates = duplicates(heap, most);
    let class_count = cut(&mut duplicates.classes, limit);
    let site_count = cut(&mut duplicates.sites, limit);
    ToldDuplicates { duplicates, class_count, site_count }
}

/// Why something is alive.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ToldPaths {
    /// One block.
    Block {
        /// The paths that are told.
        block: Paths,
        /// How many there are.
        row_count: usize,
    },
    /// All blocks of some classes.
    Class {
        /// The tree of paths.
        class: ClassPaths,
    },
}

/// Paths from roots to a block or to the blocks of classes; `question` says how many.
pub fn told_paths(heap: &Heap, of: &Found, question: &ShapesQuestion) -> ToldPaths {
    match of {
        Found::Node(node) => {
            let mut block = paths(heap, *node);
            let row_count = cut(&mut block.rows, question.limit);
            ToldPaths::Block { block, row_count }
        }
        Found::Classes(classes) => ToldPaths::Class { class: class_paths(heap, classes, question) },
    }
}

impl Heap {
    /// Finds the classes that a text stands for.
    ///
    /// # Errors
    /// There are none, or the text is one block or root.
    pub fn find_classes(&self, text: &str) -> Result<Vec<u32>, NotFound> {
        match self.find(text)? {
            Found::Classes(classes) => Ok(classes),
            Found::Node(_) => Err(NotFound::new(format!(
                "`{text}` is one block or root, not a type; `bactrian heap types` lists them"
            ))),
        }
    }
}

/// Cuts rows to a number, 0 for all; tells how many there were.
fn cut<T>(rows: &mut Vec<T>, limit: usize) -> usize {
    let all = rows.len();
    if limit > 0 {
        rows.truncate(limit);
    }
    all
}
