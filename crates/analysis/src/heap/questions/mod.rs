//! The questions about heap snapshots: parameters as users give them, translated for the modules that answer.

mod blocks;
mod classes;
mod holders;
mod series;
mod structures;

use super::{Found, Heap, Info, NotFound};
use crate::question::{Answer, Evidence, EvidenceLosses, FileInfo, FileNumber, QuestionError};
use crate::sorted_rows::SortRows;

pub use blocks::{
    BlocksAnswer, BlocksQuestion, BlocksSort, FindAnswer, FindQuestion, ShowQuestion,
};
pub use classes::{
    ClassSort, ClassesAnswer, ClassesQuestion, FieldsAnswer, FieldsQuestion, FieldsSort,
};
pub use holders::{
    DominatorsQuestion, FinalisersAnswer, FinalisersQuestion, FirstRootsQuestion, PathsAnswer,
    PathsQuestion, RootsQuestion, SummaryQuestion, SuspectsAnswer, SuspectsQuestion, WhatIfAnswer,
    WhatIfQuestion,
};
pub use series::{
    EvolutionBy, EvolutionNamesAnswer, EvolutionNamesQuestion, EvolutionQuestion, GrowthLimit,
    HeapDiffAnswer, HeapDiffFlameQuestion, HeapDiffQuestion, HeapDiffSort, LeaksAnswer,
    LeaksQuestion, SizeUnit,
};
pub use structures::{
    CollectionsAnswer, CollectionsQuestion, CollectionsSort, DuplicatesAnswer, DuplicatesQuestion,
    GraphAnswer, GraphQuestion,
};

/// The answer to a question about types if there is no table of them.
pub const NO_TABLE: &str = "types are unknown without a table of types: build one with `bactrian \
    types build DIRECTORY`, and name it with --types";

impl From<NotFound> for QuestionError {
    fn from(error: NotFound) -> QuestionError {
        QuestionError::NotFound(error.to_string())
    }
}

/// An answer about a heap, with the losses of the snapshot and a note on unreachable blocks.
fn answer<T>(heap: &Heap, result: T) -> Answer<T> {
    Answer::new(result, [heap.losses().clone().into()]).with_notes(heap.unreached_note())
}

impl Heap {
    /// The note on unreachable blocks; None if there are none.
    pub fn unreached_note(&self) -> Option<String> {
        let blocks = self.unreached_if_known().filter(|blocks| *blocks > 0)?;
        Some(format!(
            "{blocks} blocks cannot be reached from any root that the snapshot has; they are attributed to no root"
        ))
    }

    /// Finds the classes that a text names.
    ///
    /// # Errors
    /// If there are none, or the text names one block or root.
    pub fn find_classes(&self, text: &str) -> Result<Vec<u32>, NotFound> {
        match self.find(text)? {
            Found::Classes(classes) => Ok(classes),
            Found::Node(_) => Err(NotFound::new(format!(
                "`{text}` is one block or root, not a type; `bactrian heap types` lists them"
            ))),
        }
    }
}

/// The snapshots that a question names, or all.
fn named_or_all(evidence: &dyn Evidence, files: &[FileNumber]) -> Vec<FileNumber> {
    if files.is_empty() { evidence.snapshots() } else { files.to_vec() }
}

/// The named snapshots of a series, or all. Snapshots of one process are sorted by time, whatever order the
/// shell's expansion has. Those of several processes stay in the given order, because the first is what the
/// others are compared with.
fn in_order(
    evidence: &dyn Evidence,
    files: &[FileNumber],
) -> Result<Vec<FileNumber>, QuestionError> {
    let mut all = Vec::new();
    for file in named_or_all(evidence, files) {
        match evidence.info(file)? {
            FileInfo::Snapshot(info) => all.push((info, file)),
            FileInfo::Trace(_) => {
                let path = evidence.path(file)?.display();
                return Err(QuestionError::Wrong(format!("{path} is not a heap snapshot")));
            }
        }
    }
    sort_by_time(&mut all, |(info, _)| info);
    Ok(all.into_iter().map(|(_, file)| file).collect())
}

/// Sorts snapshots by the time they were taken, if all are of one process.
pub fn sort_by_time<T>(all: &mut [T], info: impl Fn(&T) -> &Info) {
    let process = |one: &T| (info(one).pid, info(one).program.clone(), info(one).host.clone());
    if all.windows(2).all(|two| process(&two[0]) == process(&two[1])) {
        all.sort_rows_by(|one, other| info(one).taken.total_cmp(&info(other).taken));
    }
}

/// Losses in the order in which the files were named.
fn as_named(mut losses: Vec<(FileNumber, EvidenceLosses)>) -> Vec<EvidenceLosses> {
    losses.sort_rows_by_key(|(file, _)| *file);
    losses.into_iter().map(|(_, losses)| losses).collect()
}
