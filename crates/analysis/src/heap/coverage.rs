//! How many blocks of a heap have known types, and where types contradict each other.

use std::cmp::Reverse;
use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_types::{CATEGORIES, Category, Conflict, UnitFate};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, WORD};
use crate::sorted_rows::SortRows;
use crate::units::show_count;

/// The most reasons listed in a row.
const REASONS: usize = 3;
/// The most example blocks listed for a conflict.
const EXAMPLES: usize = 3;

/// How many types are known. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TypeCoverage {
    /// Size of all blocks.
    pub bytes: u64,
    /// Share of bytes whose type is known in some way.
    pub typed: f64,
    /// How types are known, the most certain way first.
    pub categories: Vec<CategoryRow>,
    /// Size of the blocks whose type contains type variables.
    pub polymorphic: u64,
    /// Why types are unknown, the largest reason first.
    pub reasons: Vec<ReasonRow>,
    /// Number of blocks for which two incompatible types were found.
    pub conflicts: u64,
    /// Modules of the program whose types are not used, or only those of public fields, and why.
    pub units: Vec<UnitRow>,
}

/// Blocks whose types are known in the same way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CategoryRow {
    /// `exact`, `sample`, `inference`, `tag-only`, `unknown`.
    pub category: &'static str,
    /// Number of blocks.
    pub blocks: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Share of all bytes.
    pub share: f64,
}

/// Blocks whose type is unknown for the same reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReasonRow {
    /// For example `held by stacks only`.
    pub reason: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Share of all bytes.
    pub share: f64,
}

/// Modules whose types are not used for the same reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnitRow {
    /// `public`: only types of public fields are known; `sites-only`: only types of allocation sites; `unchecked`: it cannot be
    /// verified that the table has this version of the module; `missing`: the table does not have the module; `stale`: it has
    /// another version; `ambiguous`: it has several versions.
    pub standing: &'static str,
    /// Names of the modules.
    pub modules: Vec<String>,
}

/// Summarises how well a heap's types are known; None if it was opened without a type table.
pub fn type_coverage(heap: &Heap) -> Option<TypeCoverage> {
    let coverage = heap.coverage()?;
    let all = coverage.words();
    let share = |words: u64| words as f64 / (all as f64).max(1.0);
    let bytes = |words: u64| words.saturating_mul(WORD);
    let categories =
        CATEGORIES.iter().zip(coverage.categories).map(|(category, (blocks, words))| {
            let category = match category {
                Category::Exact => "exact",
                Category::Sample => "sample",
                Category::Inference => "inference",
                Category::TagOnly => "tag-only",
                Category::Unknown => "unknown",
            };
            CategoryRow { category, blocks, bytes: bytes(words), share: share(words) }
        });
    let reasons = coverage.reasons.iter().map(|reason| ReasonRow {
        reason: reason.text.clone(),
        blocks: reason.blocks,
        bytes: bytes(reason.words),
        share: share(reason.words),
    });
    Some(TypeCoverage {
        bytes: bytes(all),
        typed: share(coverage.typed_words()),
        categories: categories.collect(),
        polymorphic: bytes(coverage.polymorphic.1),
        reasons: reasons.collect(),
        conflicts: coverage.conflicts,
        units: units(heap),
    })
}

fn units(heap: &Heap) -> Vec<UnitRow> {
    let standings = [
        ("public", UnitFate::Public),
        ("sites-only", UnitFate::SitesOnly),
        ("unchecked", UnitFate::Unchecked),
        ("missing", UnitFate::Missing),
        ("stale", UnitFate::Stale),
        ("ambiguous", UnitFate::Ambiguous),
    ];
    let row = |(standing, fate): (&'static str, UnitFate)| {
        let units = heap.units().iter().filter(|unit| unit.fate == fate);
        let modules: Vec<String> = units.map(|unit| unit.name.clone()).collect();
        (!modules.is_empty()).then_some(UnitRow { standing, modules })
    };
    standings.into_iter().filter_map(row).collect()
}

impl TypeCoverage {
    /// In one line:
    /// `93.0 % of words typed exactly, 4.0 % by sample, 0 % by inference; 1.0 % tag only, 2.0 % unknown (1.5 % held by stacks only)`.
    pub fn text(&self) -> String {
        let percent = |share: f64| match share * 100.0 {
            0.0 => "0 %".to_owned(),
            percent if percent < 0.1 => "under 0.1 %".to_owned(),
            percent => format!("{percent:.1} %"),
        };
        let part = |category: &str| {
            let found = self.categories.iter().find(|row| row.category == category);
            percent(found.map_or(0.0, |row| row.share))
        };
        let reasons = self.reasons.iter().take(REASONS);
        let reasons: Vec<String> =
            reasons.map(|row| format!("{} {}", percent(row.share), row.reason)).collect();
        let reasons = match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join(", ")),
        };
        let conflicts = match self.conflicts {
            0 => String::new(),
            1 => "; 1 conflict".to_owned(),
            count => format!("; {} conflicts", show_count(count as f64)),
        };
        let [exact, sample, inference] = ["exact", "sample", "inference"].map(part);
        let [tag_only, unknown] = ["tag-only", "unknown"].map(part);
        format!(
            "{exact} of words typed exactly, {sample} by sample, {inference} by inference; {tag_only} tag only, {unknown} \
             unknown{reasons}{conflicts}"
        )
    }
}

/// Blocks for which two incompatible types were found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflicts {
    /// Number of blocks.
    pub blocks: u64,
    /// Number of blocks that the rows cover.
    pub told: u64,
    /// Blocks with the same types from the same sources, most blocks first.
    pub rows: Vec<ConflictRow>,
}

/// Conflicts with the same types.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConflictRow {
    /// Number of blocks.
    pub blocks: u64,
    /// The type that is used; null if the types found contradict the headers.
    pub kept: Option<String>,
    /// Where that type comes from.
    pub kept_origin: String,
    /// The other type that was found.
    pub other: String,
    /// Where the other type comes from.
    pub other_origin: String,
    /// The tag of the first of them.
    pub tag: u8,
    /// The first block's size in words, without header.
    pub words: u32,
    /// Some of the blocks.
    pub nodes: Vec<Node>,
}

/// Type conflicts; None if the heap was opened without a type table.
pub fn conflicts(heap: &Heap) -> Option<Conflicts> {
    let typing = heap.typing()?;
    let mut known: HashMap<(Option<&str>, &str, &str, &str), usize> = HashMap::new();
    let mut rows: Vec<ConflictRow> = Vec::new();
    for conflict in typing.conflicts() {
        let Conflict { block, kept, kept_origin, other, other_origin, tag, words } = conflict;
        let at = *known.entry((kept.as_deref(), kept_origin, other, other_origin)).or_insert_with(
            || {
                rows.push(ConflictRow {
                    blocks: 0,
                    kept: kept.clone(),
                    kept_origin: kept_origin.clone(),
                    other: other.clone(),
                    other_origin: other_origin.clone(),
                    tag: *tag,
                    words: *words,
                    nodes: Vec::new(),
                });
                rows.len() - 1
            },
        );
        rows[at].blocks += 1;
        if rows[at].nodes.len() < EXAMPLES {
            rows[at].nodes.push(block.0);
        }
    }
    rows.sort_rows_by_key(|row| Reverse(row.blocks));
    let told = typing.conflicts().len() as u64;
    Some(Conflicts { blocks: typing.coverage().conflicts, told, rows })
}
