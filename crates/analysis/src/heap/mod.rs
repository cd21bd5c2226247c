//! Questions about heap snapshots: facts and contents, whether the file is intact, and, as a graph, who holds
//! what.
//!
//! Sizes are in bytes and include the header of each block, as the collector counts them.

mod age;
mod around;
mod blocks;
mod census;
mod check;
mod classes;
mod collections;
mod contents;
mod coverage;
mod diff;
mod diff_flame;
mod dominators;
mod duplicates;
mod evolution;
mod field_names;
mod fields;
mod finalisers;
mod graph;
mod info;
mod leaks;
mod merged;
mod paths;
mod questions;
mod reduced;
mod roots;
mod show;
mod sole_roots;
mod summary;
mod sums;
mod suspects;
mod value;
mod walk;
mod what_if;

pub use age::Age;
pub use around::{Around, AroundEdge, AroundKind, AroundNode, AroundShape, around};
pub use blocks::{BlockGroup, BlockRow, BlocksShape, Condition, block_groups, blocks, copies};
pub use check::{HeapCheck, HeapSubject, against_baseline, against_limit, check_file, check_walk};
pub use classes::{ClassBy, ClassFilter, ClassRow, ClassTable, classes, classes_of};
pub use collections::{CollectionRow, Collections, collections};
pub use contents::{BlockKind, Contents, KindRow, SpaceRow, contents};
pub use coverage::{
    CategoryRow, ConflictRow, Conflicts, ReasonRow, TypeCoverage, UnitRow, conflicts, type_coverage,
};
pub use diff::{ClassChange, Counted, DiffPoint, HeapDiff, Series};
pub use diff_flame::{HeapDiffFlame, HeapSizes, HolderLabel, HolderTrees};
pub use dominators::{
    DominatorRow, DominatorTree, DominatorsLeftOut, DominatorsShape, MOST_LEVELS, dominators,
};
pub use duplicates::{DuplicateClass, DuplicateSite, DuplicateStructure, Duplicates, duplicates};
pub use evolution::{
    BlockFilter, Evolution, EvolutionOrder, EvolutionRow, EvolutionShape, EvolutionUnit, evolution,
    evolution_names,
};
pub use fields::{FieldRow, Fields, fields};
pub use finalisers::{FinaliserGroup, Finalisers, finalisers};
pub use graph::{
    Class, ClassKind, ClassTotal, Found, Heap, HeapError, Holder, HolderKind, HolderSizes, Holders,
    IndexNews, IndexStore, NotFound, OpenOptions, Types,
};
pub use info::{Info, MemoryUse, RootCount, SkippedInfo, info};
pub use leaks::{LeakRow, LeakSearch, Leaks};
pub use merged::{Merged, MergedKind, MergedLimits, merged_dominators};
pub use paths::{
    ClassPaths, PathRow, PathStep, Paths, PathsShape, ShapeMembers, ShapeRow, ShapesLeftOut,
    class_paths, paths,
};
pub use questions::{
    BlocksAnswer, BlocksQuestion, BlocksSort, ClassSort, ClassesAnswer, ClassesQuestion,
    CollectionsAnswer, CollectionsQuestion, CollectionsSort, DominatorsQuestion, DuplicatesAnswer,
    DuplicatesQuestion, EvolutionBy, EvolutionNamesAnswer, EvolutionNamesQuestion,
    EvolutionQuestion, FieldsAnswer, FieldsQuestion, FieldsSort, FinalisersAnswer,
    FinalisersQuestion, FindAnswer, FindQuestion, FirstRootsQuestion, GraphAnswer, GraphQuestion,
    GrowthLimit, HeapDiffAnswer, HeapDiffFlameQuestion, HeapDiffQuestion, HeapDiffSort,
    LeaksAnswer, LeaksQuestion, NO_TABLE, PathsAnswer, PathsQuestion, RootsQuestion, ShowQuestion,
    SizeUnit, SummaryQuestion, SuspectsAnswer, SuspectsQuestion, WhatIfAnswer, WhatIfQuestion,
    sort_by_time,
};
pub use reduced::{
    MOST_SETS, ReducedClass, ReducedEdge, ReducedHeap, ReducedKind, ReducedSet, reduced,
};
pub use roots::{FirstRootRow, LeftOut, RootRow, Roots, RootsShape, first_roots, roots};
pub use show::{Allocation, FieldLine, KnownType, NodeLine, Shown, show};
pub use sole_roots::{HeldClass, SoleRoots, held_classes};
pub use summary::{
    CollectorNumber, FiberStacks, MajorHeap, Process, ProcessLine, SizeRow, StackSum, Summary,
    UseRow, summary,
};
pub use sums::{HeapSums, SeriesPoint};
pub use suspects::{Severity, Suspect, SuspectKind, suspects};
pub use value::{ValueLimits, value};
pub use walk::{Visit, blocks_of, every_block};
pub use what_if::{CutRow, Freed, FreedClass, WhatIf, what_if};

/// Bytes per word. Only 64-bit programs are supported.
pub const WORD: u64 = 8;

/// The difference, saturating: files may contain any numbers.
fn difference(one: u64, other: u64) -> i64 {
    let difference = i128::from(one) - i128::from(other);
    difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The bytes of a block with its header.
pub(crate) fn block_bytes(words: u64) -> u64 {
    words.saturating_add(1).saturating_mul(WORD)
}
