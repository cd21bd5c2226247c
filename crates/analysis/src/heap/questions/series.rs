//! Questions about several snapshots: what changed, and how the heap evolved.

use bactrian_snapshot::Losses;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    BlockFilter, ClassBy, ClassChange, Evolution, EvolutionOrder, EvolutionShape, EvolutionUnit,
    HeapDiff, HeapDiffFlame, HeapSums, HolderTrees, LeakSearch, Leaks, Series, TypeCoverage,
    evolution, evolution_names, type_coverage,
};
use super::{as_named, in_order};
use crate::question::{
    Answer, Evidence, EvidenceLosses, FileNumber, Limit, Question, QuestionError, Rows, Text,
    Written,
};
use crate::sorted_rows::SortRows;

/// How sizes change over snapshots: of types, modules, functions or allocation sites.
///
/// Snapshots are shown in the order in which they were taken. Allocation sites are known for sampled blocks only: numbers by
/// module, function and site are estimates, unless all blocks were sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct EvolutionQuestion {
    /// The heap snapshots
    pub files: Vec<FileNumber>,
    /// What to group by
    pub by: EvolutionBy,
    /// Which blocks
    #[serde(flatten)]
    pub blocks: BlockFilter,
    /// What to count
    #[schemars(extend("x-value" = "UNIT"))]
    pub unit: SizeUnit,
    /// What to sort by: average, growth, or the size in one snapshot (its position in the series, from 1)
    pub sort: Text<EvolutionOrder>,
    /// Also show this row, whatever its place
    #[schemars(extend("x-value" = "NAME"))]
    pub also: Vec<String>,
    /// How many rows; 0 for all
    #[schemars(with = "Limit")]
    pub number: usize,
}

impl Default for EvolutionQuestion {
    fn default() -> EvolutionQuestion {
        EvolutionQuestion {
            files: Vec::new(),
            by: EvolutionBy::default(),
            blocks: BlockFilter::default(),
            unit: SizeUnit::default(),
            sort: Text::default(),
            also: Vec::new(),
            number: 20,
        }
    }
}

/// What blocks are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "WHAT"))]
pub enum EvolutionBy {
    /// Type; without a table of types, tag and size
    #[default]
    Type,
    /// Module that allocated them
    Module,
    /// Function that allocated them
    Function,
    /// Allocation site
    Site,
}

/// Units of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeUnit {
    /// Bytes, with headers
    #[default]
    Bytes,
    /// Words of eight bytes, with headers
    Words,
    /// Number of blocks
    Blocks,
}

impl std::fmt::Display for EvolutionOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvolutionOrder::Average => f.write_str("average"),
            EvolutionOrder::Growth => f.write_str("growth"),
            EvolutionOrder::At(place) => write!(f, "{}", place + 1),
        }
    }
}

impl std::str::FromStr for EvolutionOrder {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<EvolutionOrder, &'static str> {
        match text {
            "average" => Ok(EvolutionOrder::Average),
            "growth" => Ok(EvolutionOrder::Growth),
            _ => match text.parse::<usize>() {
                Ok(place @ 1..) => Ok(EvolutionOrder::At(place - 1)),
                _ => Err("not average, growth, or the position of a snapshot, from 1"),
            },
        }
    }
}

impl Written for EvolutionOrder {
    const VALUE: &'static str = "ORDER";
    const EXAMPLE: &'static str = "growth";
}

impl EvolutionQuestion {
    fn shape(&self, evidence: &dyn Evidence) -> EvolutionShape {
        EvolutionShape {
            by: match self.by {
                EvolutionBy::Type => ClassBy::Type,
                EvolutionBy::Module => ClassBy::Module,
                EvolutionBy::Function => ClassBy::Function,
                EvolutionBy::Site => ClassBy::Site,
            },
            filter: self.blocks.clone(),
            unit: match self.unit {
                SizeUnit::Bytes | SizeUnit::Words => EvolutionUnit::Bytes,
                SizeUnit::Blocks => EvolutionUnit::Blocks,
            },
            order: self.sort.0,
            number: evidence.at_most(self.number),
            also: self.also.clone(),
        }
    }

    /// The sums of the snapshots, in the order in which they were taken.
    fn sums(
        &self,
        evidence: &dyn Evidence,
    ) -> Result<Vec<(FileNumber, std::sync::Arc<HeapSums>)>, QuestionError> {
        let files = in_order(evidence, &self.files)?;
        files.into_iter().map(|file| Ok((file, evidence.sums(file)?))).collect()
    }
}

impl Question for EvolutionQuestion {
    const NAME: &'static str = "heap/evolution";
    const COMMAND: Option<&'static str> = Some("heap evolution");
    type Answer = Evolution;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<Evolution>, QuestionError> {
        let sums = self.sums(evidence)?;
        if let EvolutionOrder::At(place) = self.sort.0
            && place >= sums.len()
        {
            let why = format!("snapshots are numbered from 1 to {}", sums.len());
            let value = (place + 1).to_string();
            return Err(QuestionError::Parameter { name: "sort".to_owned(), value, why });
        }
        let all: Vec<&HeapSums> = sums.iter().map(|(_, sums)| &**sums).collect();
        let answer = evolution(&all, &self.shape(evidence));
        let losses = sums.iter().map(|(file, sums)| (*file, sums.losses().clone().into()));
        Ok(Answer::new(answer, as_named(losses.collect())))
    }
}

/// Names of rows that contain a text, in the order of the rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct EvolutionNamesQuestion {
    /// The text to look for
    pub like: String,
    /// The rows to search
    #[serde(flatten)]
    pub of: EvolutionQuestion,
}

/// Names of rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvolutionNamesAnswer {
    /// The names.
    pub names: Vec<String>,
}

/// The most names offered as completions.
const NAMES: usize = 30;

impl Question for EvolutionNamesQuestion {
    const NAME: &'static str = "heap/evolution-names";
    const COMMAND: Option<&'static str> = None;
    type Answer = EvolutionNamesAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<EvolutionNamesAnswer>, QuestionError> {
        let sums = self.of.sums(evidence)?;
        let all: Vec<&HeapSums> = sums.iter().map(|(_, sums)| &**sums).collect();
        let names = evolution_names(&all, &self.of.shape(evidence), &self.like, NAMES);
        Ok(Answer::new(EvolutionNamesAnswer { names }, []))
    }
}

/// What changed from snapshot to snapshot: classes that grow, blocks that are new, gone or surviving.
///
/// A block of the first and one of the last snapshot are the same if they have the same address, class and size; after a
/// compaction they cannot be matched. Rates are by least squares over all snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct HeapDiffQuestion {
    /// The heap snapshots
    pub files: Vec<FileNumber>,
    /// Predict when all blocks together will reach this size
    pub max: Option<Text<crate::units::Bytes>>,
    /// What to sort by
    pub sort: HeapDiffSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// Orders of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum HeapDiffSort {
    /// Growth in bytes, the largest first; rows that are left out are those that changed least
    #[default]
    Change,
    /// Size in the last snapshot
    Last,
    /// Name
    Name,
}

/// What changed from snapshot to snapshot.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeapDiffAnswer {
    /// The comparison, with the requested changes.
    pub diff: HeapDiff,
    /// Number of rows.
    pub row_count: usize,
    /// When the heap will reach the size given as `max`; null if none was given.
    pub limit: Option<GrowthLimit>,
    /// How many types of the last snapshot are known.
    pub coverage: Option<TypeCoverage>,
}

/// When a heap will reach a size.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct GrowthLimit {
    /// The size in bytes.
    pub bytes: u64,
    /// Seconds after the last snapshot; null if it is never reached at this rate.
    pub seconds: Option<f64>,
}

impl Question for HeapDiffQuestion {
    const NAME: &'static str = "heap/diff";
    const COMMAND: Option<&'static str> = Some("heap diff");
    type Answer = HeapDiffAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<HeapDiffAnswer>, QuestionError> {
        let files = two_or_more(evidence, &self.files)?;
        let mut series = Series::default();
        let mut losses = Vec::new();
        let mut coverage = None;
        for (at, &file) in files.iter().enumerate() {
            let heap = evidence.heap(file)?;
            losses.push((file, heap.losses().clone().into()));
            coverage = type_coverage(&heap);
            series.add(heap, at + 1 == files.len());
        }
        let mut diff = series.finish();
        match self.sort {
            HeapDiffSort::Change => {}
            HeapDiffSort::Last => {
                diff.rows.sort_rows_by_key(|row| std::cmp::Reverse(row.bytes.last().copied()));
            }
            HeapDiffSort::Name => diff.rows.sort_rows_by(|a, b| a.class.cmp(&b.class)),
        }
        let row_count = match self.sort == HeapDiffSort::Change && self.rows.offset == 0 {
            true => {
                let all = Rows { number: 0, ..self.rows.clone() };
                let row_count = all.cut(&mut diff.rows, |row| row.class.clone());
                keep_largest(&mut diff.rows, evidence.at_most(self.rows.number));
                row_count
            }
            false => evidence.cut(&self.rows, &mut diff.rows, |row| row.class.clone()),
        };
        let limit =
            self.max.map(|max| GrowthLimit { bytes: max.0.0, seconds: diff.time_to(max.0.0) });
        Ok(Answer::new(HeapDiffAnswer { diff, row_count, limit, coverage }, as_named(losses)))
    }
}

/// Flame graph of two heaps: retained sizes in the last one, compared with the first.
///
/// Frames are rows of the dominator tree, in which all blocks of a class below one holder are one row. Rows of the two heaps
/// match if they and all rows above them have the same names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct HeapDiffFlameQuestion {
    /// The heap snapshots
    pub files: Vec<FileNumber>,
}

impl Question for HeapDiffFlameQuestion {
    const NAME: &'static str = "heap/diff-flame";
    const COMMAND: Option<&'static str> = Some("heap diff --flame flame.svg");
    type Answer = HeapDiffFlame;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<HeapDiffFlame>, QuestionError> {
        let files = two_or_more(evidence, &self.files)?;
        let mut trees = HolderTrees::default();
        let mut losses = Vec::new();
        // One heap at a time: each may take half of the memory.
        let mut take_in = |file| -> Result<_, QuestionError> {
            let heap = evidence.heap(file)?;
            losses.push((file, heap.losses().clone().into()));
            Ok(trees.take_in(&heap))
        };
        let [before, after] = [take_in(files[0])?, take_in(files[files.len() - 1])?];
        Ok(Answer::new(trees.compare(&before, &after), as_named(losses)))
    }
}

/// The snapshots to compare, in their order.
fn two_or_more(
    evidence: &dyn Evidence,
    files: &[FileNumber],
) -> Result<Vec<FileNumber>, QuestionError> {
    let files = in_order(evidence, files)?;
    match files.len() {
        0 | 1 => Err(QuestionError::Wrong("to compare, name at least two snapshots".to_owned())),
        _ => Ok(files),
    }
}

/// Blocks that appeared between the first snapshot and the second, and still exist in the third.
///
/// Take one snapshot before a piece of work, one after it, and one after the same work again: what the first round left behind is
/// listed by class, with the root that holds it and the place that allocated it. Of more than three, the first, the middle and
/// the last are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LeaksQuestion {
    /// The heap snapshots: three or more of one process
    pub files: Vec<FileNumber>,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
}

/// Blocks that appeared and stayed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeaksAnswer {
    /// The result, with the requested rows.
    #[serde(flatten)]
    pub leaks: Leaks,
    /// Number of rows.
    pub row_count: usize,
    /// The names of the three snapshots that were compared.
    pub compared: [String; 3],
}

impl Question for LeaksQuestion {
    const NAME: &'static str = "heap/leaks";
    const COMMAND: Option<&'static str> = Some("heap leaks");
    type Answer = LeaksAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<LeaksAnswer>, QuestionError> {
        let files = in_order(evidence, &self.files)?;
        let (&[first, .., third], [_, _, _, ..]) = (&files[..], &files[..]) else {
            let why = format!("three snapshots are needed, but there are {}", files.len());
            return Err(QuestionError::Wrong(why));
        };
        let second = files[files.len() / 2];
        let mut hunt = LeakSearch::default();
        let left_out = files.iter().filter(|&file| ![first, second, third].contains(file));
        let nothing = || EvidenceLosses::Snapshot(Losses::default());
        let mut losses: Vec<_> = left_out.map(|file| (*file, nothing())).collect();
        for file in [first, second] {
            let heap = evidence.heap(file)?;
            losses.push((file, heap.losses().clone().into()));
            hunt.add(&heap);
        }
        let heap = evidence.heap(third)?;
        losses.push((third, heap.losses().clone().into()));
        let mut leaks = hunt.finish(&heap).map_err(|why| {
            QuestionError::Wrong(format!(
                "blocks cannot be matched: {why}; take three new snapshots"
            ))
        })?;
        let row_count = evidence.cut(&self.rows, &mut leaks.rows, |row| row.class.clone());
        let mut compared = [const { String::new() }; 3];
        for (name, file) in compared.iter_mut().zip([first, second, third]) {
            let path = evidence.path(file)?;
            *name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        }
        Ok(Answer::new(LeaksAnswer { leaks, row_count, compared }, as_named(losses)))
    }
}

/// Keeps the rows with the largest absolute changes, in their order.
fn keep_largest(rows: &mut Vec<ClassChange>, number: usize) {
    if number == 0 || rows.len() <= number {
        return;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(rows[at].change.unsigned_abs()));
    let mut is_kept = vec![false; rows.len()];
    order.iter().take(number).for_each(|&at| is_kept[at] = true);
    let mut is_kept = is_kept.into_iter();
    rows.retain(|_| is_kept.next().unwrap_or(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_words_or_snapshot_numbers() {
        assert_eq!("growth".parse(), Ok(EvolutionOrder::Growth));
        assert_eq!("3".parse(), Ok(EvolutionOrder::At(2)));
        assert!("0".parse::<EvolutionOrder>().is_err());
        assert!("size".parse::<EvolutionOrder>().is_err());
    }

    #[test]
    fn rows_that_changed_most_are_kept_in_their_order() {
        let row = |change: i64| ClassChange {
            class: String::new(),
            blocks: Vec::new(),
            bytes: Vec::new(),
            change,
            grows_always: false,
            rate: None,
            new: None,
            gone: None,
            surviving: None,
        };
        let check = |changes: &[i64], number: usize, expected: &[i64]| {
            let mut rows: Vec<_> = changes.iter().copied().map(row).collect();
            keep_largest(&mut rows, number);
            assert_eq!(rows.iter().map(|row| row.change).collect::<Vec<_>>(), expected);
        };
        check(&[5, 3, 3, -10], 2, &[5, -10]);
        // Of equal changes the first is kept, and never instead of a larger change.
        check(&[3, 3, -10], 2, &[3, -10]);
        check(&[3, 3, -10], 0, &[3, 3, -10]);
        check(&[3], 2, &[3]);
    }
}
