//! Questions about structures: duplicates, collections, and the heap as a graph.

use std::cmp::{Ordering, Reverse};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    Around, AroundShape, Collections, Duplicates, MOST_SETS, ReducedHeap, TypeCoverage, around,
    collections, duplicates, reduced, type_coverage,
};
use super::{NO_TABLE, answer};
use crate::question::{Answer, Evidence, FileNumber, Limit, Question, QuestionError, Rows};
use crate::sorted_rows::SortRows;

/// Structures that exist more than once (strings, lists, trees), and what sharing them would save.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DuplicatesQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// How many rows of each table; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for DuplicatesQuestion {
    fn default() -> DuplicatesQuestion {
        DuplicatesQuestion { file: FileNumber::default(), number: 20 }
    }
}

/// Structures that exist more than once.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicatesAnswer {
    /// The result, with the requested rows.
    #[serde(flatten)]
    pub duplicates: Duplicates,
    /// Number of classes.
    pub class_count: usize,
    /// Number of sites.
    pub site_count: usize,
}

impl Question for DuplicatesQuestion {
    const NAME: &'static str = "heap/duplicates";
    const COMMAND: Option<&'static str> = Some("heap duplicates");
    type Answer = DuplicatesAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<DuplicatesAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let most = match evidence.at_most(self.number) {
            0 => usize::MAX,
            most => most,
        };
        let mut duplicates = duplicates(&heap, most);
        let (class_count, site_count) = (duplicates.classes.len(), duplicates.sites.len());
        duplicates.classes.truncate(most);
        duplicates.sites.truncate(most);
        Ok(answer(&heap, DuplicatesAnswer { duplicates, class_count, site_count }))
    }
}

/// Lists, arrays, hash tables, maps, sets, queues, stacks, buffers, lazy values and sequences: how many, how large, how full.
///
/// Bytes are those of the collections themselves, without their contents. `overhead` is in words per element, besides the
/// element (key and value) itself; `fill` is the share of buckets in use, or of lazy values that were forced. Elements of
/// buffers are words of their bytes. Empty lists, maps and sets are not blocks, and cannot be counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct CollectionsQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// What to sort by
    pub sort: CollectionsSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// Orders of collections, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum CollectionsSort {
    /// Size
    #[default]
    Bytes,
    /// Number of collections
    Count,
    /// Number of elements
    Elements,
    /// Average number of elements
    Mean,
    /// Number of elements of the largest
    Largest,
    /// Number of empty ones
    Empty,
    /// Number of those with one element
    Single,
    /// How full they are
    Fill,
    /// Words per element besides the element itself
    Overhead,
    /// Type
    Name,
}

/// Collections by type.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectionsAnswer {
    /// The table, with the requested rows.
    #[serde(flatten)]
    pub table: Collections,
    /// Number of rows.
    pub row_count: usize,
    /// How many types are known.
    pub coverage: Option<TypeCoverage>,
}

/// Compares numbers of which unknown ones are the smallest.
fn known(one: Option<f64>, other: Option<f64>) -> Ordering {
    one.unwrap_or(f64::NEG_INFINITY).total_cmp(&other.unwrap_or(f64::NEG_INFINITY))
}

impl Question for CollectionsQuestion {
    const NAME: &'static str = "heap/collections";
    const COMMAND: Option<&'static str> = Some("heap collections");
    type Answer = CollectionsAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<CollectionsAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let table = collections(&heap);
        let mut table = table.ok_or_else(|| QuestionError::Wrong(NO_TABLE.to_owned()))?;
        match self.sort {
            CollectionsSort::Bytes => {}
            CollectionsSort::Count => table.rows.sort_rows_by_key(|row| Reverse(row.count)),
            CollectionsSort::Elements => table.rows.sort_rows_by_key(|row| Reverse(row.elements)),
            CollectionsSort::Mean => table.rows.sort_rows_by(|a, b| b.mean.total_cmp(&a.mean)),
            CollectionsSort::Largest => table.rows.sort_rows_by_key(|row| Reverse(row.largest)),
            CollectionsSort::Empty => table.rows.sort_rows_by_key(|row| Reverse(row.empty)),
            CollectionsSort::Single => table.rows.sort_rows_by_key(|row| Reverse(row.single)),
            CollectionsSort::Fill => table.rows.sort_rows_by(|a, b| known(b.fill, a.fill)),
            CollectionsSort::Overhead => {
                table.rows.sort_rows_by(|a, b| known(b.overhead, a.overhead))
            }
            CollectionsSort::Name => table.rows.sort_rows_by(|a, b| a.name.cmp(&b.name)),
        }
        let row_count = evidence.cut(&self.rows, &mut table.rows, |row| row.name.clone());
        let coverage = type_coverage(&heap);
        Ok(answer(&heap, CollectionsAnswer { table, row_count, coverage }))
    }
}

/// The heap in one picture: the largest sets of connected blocks, with paths to them from the roots. With --around, the
/// blocks near one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct GraphQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Draw the neighbourhood of a block, block by block: 0xADDRESS, @NUMBER, or a module or value of one (Main.table, Main.3)
    #[schemars(extend("x-value" = "BLOCK"))]
    pub around: Option<String>,
    /// With --around: maximum distance in pointers, in either direction
    #[schemars(extend("x-value" = "STEPS", "x-requires" = "around"))]
    pub steps: u32,
    /// About how many sets to show; with --around, the maximum number of blocks, the nearest and largest
    #[schemars(
        range(min = 1, max = MOST_SETS),
        extend("x-value" = "SETS", "x-short" = "n", "x-alias" = "limit")
    )]
    pub nodes: usize,
}

impl Default for GraphQuestion {
    fn default() -> GraphQuestion {
        GraphQuestion { file: FileNumber::default(), around: None, steps: 2, nodes: 50 }
    }
}

/// A picture of a heap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GraphAnswer {
    /// The whole heap, reduced to a few sets.
    Reduced(ReducedHeap),
    /// The neighbourhood of a block.
    Around(Around),
}

impl Question for GraphQuestion {
    const NAME: &'static str = "heap/graph";
    const COMMAND: Option<&'static str> = Some("heap graph");
    type Answer = GraphAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<GraphAnswer>, QuestionError> {
        let heap = evidence.heap(self.file)?;
        let result = match &self.around {
            None => GraphAnswer::Reduced(reduced(&heap, self.nodes)),
            Some(centre) => {
                let centre = heap.find_node(centre)?;
                let shape = AroundShape { centre, steps: self.steps, most: self.nodes };
                GraphAnswer::Around(around(&heap, &shape))
            }
        };
        Ok(answer(&heap, result))
    }
}
