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

/// Equal structures (strings, lists, trees): what would be saved if each were there once.
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

/// What is there more than once.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicatesAnswer {
    /// All of it, with the rows that were asked for.
    #[serde(flatten)]
    pub duplicates: Duplicates,
    /// How many classes there are.
    pub class_count: usize,
    /// How many sites there are.
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
/// Bytes are those of the collections themselves, without what they hold. `overhead` is in words for each element, beside
/// the element (key and value) itself; `fill` the part of buckets that is used, or of lazy values that was forced. Elements
/// of buffers are words of their bytes. Empty lists, maps and sets are no blocks, and cannot be counted.
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

/// What collections are sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum CollectionsSort {
    /// Their bytes
    #[default]
    Bytes,
    /// How many there are
    Count,
    /// How many elements they have
    Elements,
    /// How many elements each has on average
    Mean,
    /// How many elements the largest has
    Largest,
    /// How many have no element
    Empty,
    /// How many have one element
    Single,
    /// How full they are
    Fill,
    /// Words for each element beside the element itself
    Overhead,
    /// Their types
    Name,
}

/// Collections by type.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectionsAnswer {
    /// The table, with the rows that were asked for.
    #[serde(flatten)]
    pub table: Collections,
    /// How many rows there are.
    pub row_count: usize,
    /// How well types are known.
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
            CollectionsSort::Count => table.rows.sort_by_key(|row| Reverse(row.count)),
            CollectionsSort::Elements => table.rows.sort_by_key(|row| Reverse(row.elements)),
            CollectionsSort::Mean => table.rows.sort_by(|a, b| b.mean.total_cmp(&a.mean)),
            CollectionsSort::Largest => table.rows.sort_by_key(|row| Reverse(row.largest)),
            CollectionsSort::Empty => table.rows.sort_by_key(|row| Reverse(row.empty)),
            CollectionsSort::Single => table.rows.sort_by_key(|row| Reverse(row.single)),
            CollectionsSort::Fill => table.rows.sort_by(|a, b| known(b.fill, a.fill)),
            CollectionsSort::Overhead => table.rows.sort_by(|a, b| known(b.overhead, a.overhead)),
            CollectionsSort::Name => table.rows.sort_by(|a, b| a.name.cmp(&b.name)),
        }
        let row_count = evidence.cut(&self.rows, &mut table.rows, |row| row.name.clone());
        let coverage = type_coverage(&heap);
        Ok(answer(&heap, CollectionsAnswer { table, row_count, coverage }))
    }
}

/// The heap in one picture: what hangs together is one, the largest sets are shown with ways from the roots. Or, with
/// --around, the blocks near one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct GraphQuestion {
    /// The heap snapshot
    pub file: FileNumber,
    /// Draw what is around a block, block by block: 0xADDRESS, @NUMBER, or a module or value of one (Main.table, Main.3)
    #[schemars(extend("x-value" = "BLOCK"))]
    pub around: Option<String>,
    /// With --around: how many pointers away, whichever way they go
    #[schemars(extend("x-value" = "STEPS", "x-requires" = "around"))]
    pub steps: u32,
    /// About how many sets to show; with --around, how many blocks at most, the nearest and largest
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

/// A heap as a picture.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GraphAnswer {
    /// All of it, in a few sets.
    Reduced(ReducedHeap),
    /// What is around a block.
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
