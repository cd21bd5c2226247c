//! Blocks by class: by type, by tag, and, for blocks that were sampled at their allocation, by allocation
//! site.
//!
//! Type and tag are known for every block, so those sums are exact. The allocation site is known for sampled
//! blocks only. All live words are assumed to have had the same chance of being sampled, so each sample
//! stands for the number of live words per sample. If every word of every sampled block was sampled, then all
//! allocations were sampled, and blocks without a sample were allocated by other means. Custom blocks that
//! hold memory outside the heap are sampled for that memory and do not count.
//!
//! One table can be narrowed by another: to the blocks of a type, a site, a function or a module
//! ([`ClassFilter`]).

use std::collections::HashMap;

use bactrian_snapshot::{Sample, SnapshotLocation, Tables};
use bactrian_types::written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::age::{Age, Ages};
use super::graph::ClassTotal;
use super::{Class, ClassKind, Heap, WORD};
use crate::estimate::{Estimate, Scale, Tally};
use crate::labels::{Label, module_of};
use crate::library::place_of;
use crate::sorted_rows::SortRows;

/// What blocks are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBy {
    /// Type
    #[default]
    Type,
    /// Tag
    Tag,
    /// Allocation site
    Site,
    /// Function that allocated them
    Function,
    /// Module that allocated them
    Module,
}

impl ClassBy {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            ClassBy::Type => "type",
            ClassBy::Tag => "tag",
            ClassBy::Site => "site",
            ClassBy::Function => "function",
            ClassBy::Module => "module",
        }
    }

    /// The verb of `bactrian heap` for this grouping.
    pub fn verb(self) -> &'static str {
        match self {
            ClassBy::Type => "types",
            ClassBy::Tag => "tags",
            ClassBy::Site => "sites",
            ClassBy::Function => "functions",
            ClassBy::Module => "modules",
        }
    }
}

/// Blocks by class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassTable {
    /// What blocks are grouped by.
    pub by: ClassBy,
    /// Whether numbers are exact; otherwise they are estimates from samples.
    pub exact: bool,
    /// Number of live blocks that were sampled when they were allocated.
    pub sampled_blocks: u64,
    /// Number of blocks in all rows; if numbers are estimates, of the whole heap.
    pub blocks: u64,
    /// Size of these blocks.
    pub bytes: u64,
    /// What shares refer to: the same, or the whole heap if only some blocks are selected.
    pub total: u64,
    /// One row per class, the largest first.
    pub rows: Vec<ClassRow>,
    /// What to know about these numbers, in one sentence.
    pub note: Option<&'static str>,
}

/// The blocks of a class. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassRow {
    /// Its name and location.
    #[serde(flatten)]
    pub label: Label,
    /// The kind of class; null for allocation sites, functions and modules.
    pub kind: Option<ClassKind>,
    /// Number of blocks.
    pub blocks: Estimate,
    /// Shallow size.
    pub shallow: Estimate,
    /// Retained size: what would be freed without these blocks. It is the sum of the retained sizes of those blocks that no other
    /// block of the class dominates. Null if it is unknown because not all blocks of the class are.
    pub retained: Option<u64>,
    /// Age; null if no block was sampled.
    pub age: Option<Age>,
}

impl ClassRow {
    /// The growth in bytes per second; None unless the blocks are old and still increasing.
    pub fn growth(&self) -> Option<f64> {
        self.age?.growth(self.shallow.value)
    }
}

pub(super) const NO_TYPES: &str = "types are unknown without a table of types (--types FILE, see \
    `bactrian types build`): blocks are grouped by function, identifier, tag and size";
pub(super) const NO_SAMPLES: &str = "the snapshot has no samples: allocation sites are known if \
    a trace is recorded with it (`bactrian record --snapshots WHEN` without --no-trace)";
const ESTIMATED: &str = "estimated from samples, assuming that all live words had the same \
    chance to be sampled; retained sizes are unknown, because not all blocks of these classes \
    are known";

pub(super) const NONE_OF_THESE: &str = "none of these blocks was sampled";

/// Which blocks to include; all conditions must hold. The site conditions apply to sampled blocks only.
#[derive(Clone, Debug, Default)]
pub struct ClassFilter {
    /// Class numbers.
    pub classes: Option<Vec<u32>>,
    /// The module that allocated them.
    pub module: Option<String>,
    /// The function that allocated them, as `functions` shows it.
    pub function: Option<String>,
    /// The allocation site, as `sites` shows it, or a part of it: `main.ml:12`.
    pub site: Option<String>,
    /// Whether library code is reported as itself rather than as its caller ([`crate::library`]).
    pub raw: bool,
}

impl ClassFilter {
    fn is_by_place(&self) -> bool {
        self.module.is_some() || self.function.is_some() || self.site.is_some()
    }

    fn has_class(&self, class: u32) -> bool {
        self.classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }

    fn has_place(&self, tables: &Tables, location: Option<SnapshotLocation>) -> bool {
        let is_it = |wanted: &Option<String>, by: ClassBy, fits: fn(&str, &str) -> bool| {
            wanted.as_ref().is_none_or(|wanted| fits(&label(tables, location, by).text(), wanted))
        };
        is_it(&self.module, ClassBy::Module, |text, wanted| text == written(wanted))
            && is_it(&self.function, ClassBy::Function, |text, wanted| text == written(wanted))
            && is_it(&self.site, ClassBy::Site, |text, wanted| text.contains(wanted))
    }
}

/// All blocks by class.
pub fn classes(heap: &Heap, by: ClassBy) -> ClassTable {
    classes_of(heap, by, &ClassFilter::default())
}

/// The blocks admitted by a filter, by class.
pub fn classes_of(heap: &Heap, by: ClassBy, filter: &ClassFilter) -> ClassTable {
    match by {
        ClassBy::Type if !filter.is_by_place() => by_type(heap, filter),
        ClassBy::Tag if !filter.is_by_place() && filter.classes.is_none() => by_tag(heap),
        _ => by_place(heap, by, filter),
    }
}

fn by_type(heap: &Heap, filter: &ClassFilter) -> ClassTable {
    let rows = (0..).zip(heap.classes().iter().zip(heap.class_totals()));
    let rows = rows.filter(|(number, _)| filter.has_class(*number));
    let mut ages = Ages::default();
    for sample in &heap.tables().samples {
        if let Some(&class) = heap.class_of().get(sample.block.index()) {
            ages.add(heap, class, sample);
        }
    }
    let rows = rows.map(|(number, (class, total))| ClassRow {
        age: ages.age(heap, number),
        ..row(class_label(class), Some(class.kind), total)
    });
    let note = heap.coverage().is_none().then_some(NO_TYPES);
    let mut found = table(heap, ClassBy::Type, rows.collect(), note);
    if filter.classes.is_some() {
        let words = heap.class_totals().iter().map(|total| total.words).sum::<u64>();
        found.total = words.saturating_mul(WORD);
    }
    found
}

pub(super) fn class_label(class: &Class) -> Label {
    Label { name: class.name.clone(), file: class.place.clone(), ..Label::default() }
}

fn by_tag(heap: &Heap) -> ClassTable {
    let rows = heap.tag_totals().iter().enumerate().map(|(tag, total)| {
        // A tag gets a kind if all its blocks have the same one.
        let mut shapes = heap.shapes().iter().filter(|shape| shape.tag == Some(tag as u8));
        let kind = shapes.next().map(|shape| shape.kind);
        let kind = kind.filter(|kind| shapes.all(|shape| shape.kind == *kind));
        row(Label { name: tag_name(tag as u8, kind), ..Label::default() }, kind, total)
    });
    table(heap, ClassBy::Tag, rows.collect(), None)
}

fn tag_name(tag: u8, kind: Option<ClassKind>) -> String {
    let what = match (tag, kind) {
        (_, Some(ClassKind::Structured)) => return format!("tag {tag}"),
        (245, _) => "continuations",
        (246, _) => "lazy values",
        (247, _) => "closures",
        (248, _) => "objects",
        (250, _) => "forced lazy values",
        (251, _) => "abstract",
        (252, _) => "strings",
        (253, _) => "floats",
        (254, _) => "float arrays",
        (255, _) => "custom",
        _ => return format!("tag {tag}"),
    };
    format!("tag {tag}, {what}")
}

fn row(label: Label, kind: Option<ClassKind>, total: &ClassTotal) -> ClassRow {
    ClassRow {
        label,
        kind,
        blocks: Estimate::exact(total.blocks as f64),
        shallow: Estimate::exact(total.words.saturating_mul(WORD) as f64),
        retained: Some(total.retained.saturating_mul(WORD)),
        age: None,
    }
}

fn table(heap: &Heap, by: ClassBy, rows: Vec<ClassRow>, note: Option<&'static str>) -> ClassTable {
    let mut rows: Vec<_> = rows.into_iter().filter(|row| row.blocks.value > 0.0).collect();
    largest_first(&mut rows);
    let sum = |of: fn(&ClassRow) -> f64| rows.iter().map(of).sum::<f64>() as u64;
    ClassTable {
        by,
        exact: true,
        sampled_blocks: heap.tables().samples.len() as u64,
        blocks: sum(|row| row.blocks.value),
        bytes: sum(|row| row.shallow.value),
        total: sum(|row| row.shallow.value),
        rows,
        note,
    }
}

fn largest_first(rows: &mut [ClassRow]) {
    rows.sort_rows_by(|one, other| {
        let sizes = other.shallow.value.total_cmp(&one.shallow.value);
        sizes.then_with(|| one.label.cmp(&other.label))
    });
}

fn by_place(heap: &Heap, by: ClassBy, filter: &ClassFilter) -> ClassTable {
    let tables = heap.tables();
    let mut labels: Vec<Label> = Vec::new();
    let mut known: HashMap<Label, u32> = HashMap::new();
    let mut of_block: HashMap<u32, u32> = HashMap::new();
    let mut tallies: Vec<(Tally, Tally)> = Vec::new();
    let mut ages = Ages::default();
    let mut samples = 0_u64;
    for sample in &tables.samples {
        if is_of_outside(heap, sample.block.0) {
            continue;
        }
        let location = place_of(tables, sample.stack, filter.raw);
        let words = words_of(heap, sample);
        samples += u64::from(sample.samples);
        let class = heap.class_of().get(sample.block.index()).copied().unwrap_or(u32::MAX);
        if !filter.has_class(class) || !filter.has_place(tables, location) {
            continue;
        }
        let label = match by {
            ClassBy::Type => class_label(heap.class(sample.block.0)),
            ClassBy::Tag => {
                let tag = heap.block(sample.block.0).map(|block| block.tag);
                Label { name: tag_name(tag.unwrap_or(0), None), ..Label::default() }
            }
            by => label(tables, location, by),
        };
        let next = labels.len() as u32;
        let number = *known.entry(label.clone()).or_insert(next);
        if number == next {
            labels.push(label);
            tallies.push(Default::default());
        }
        let (of_words, of_blocks) = &mut tallies[number as usize];
        of_words.count(sample.samples.into(), 1.0);
        of_blocks.count(sample.samples.into(), 1.0 / words.max(1) as f64);
        of_block.insert(sample.block.0, number);
        ages.add(heap, number, sample);
    }
    if is_all_sampled(heap) {
        let unknown = if filter.is_by_place() { u32::MAX } else { labels.len() as u32 };
        labels.push(not_sampled());
        let group = |node: u32| {
            let class = heap.class_of().get(node as usize).copied().unwrap_or(u32::MAX);
            let unknown = if filter.has_class(class) { unknown } else { u32::MAX };
            of_block.get(&node).copied().unwrap_or(unknown)
        };
        let totals = heap.totals_by(labels.len(), group);
        let rows = (0..).zip(labels.into_iter().zip(&totals));
        let rows = rows.map(|(number, (label, total))| ClassRow {
            age: ages.age(heap, number),
            ..row(label, None, total)
        });
        return table(heap, by, rows.collect(), None);
    }
    let contents = heap.census().count.contents(heap.losses().clone());
    let live_words = contents.live_bytes / WORD;
    let rate = samples as f64 / (live_words as f64).max(1.0);
    let of_words = Scale::of_words(rate, WORD as f64).with_heaviest(heaviest_sample(heap));
    let of_blocks = Scale::of_blocks(rate).with_heaviest(heaviest_sample(heap));
    let rows = (0..).zip(labels.into_iter().zip(tallies));
    let rows = rows.map(|(number, (label, (words, blocks)))| ClassRow {
        label,
        kind: None,
        blocks: of_blocks.estimate(blocks),
        shallow: of_words.estimate(words),
        retained: None,
        age: ages.age(heap, number),
    });
    let mut rows: Vec<_> = rows.collect();
    largest_first(&mut rows);
    ClassTable {
        by,
        exact: false,
        sampled_blocks: tables.samples.len() as u64,
        blocks: contents.live_blocks,
        bytes: contents.live_bytes,
        total: contents.live_bytes,
        note: Some(match rows.is_empty() {
            true if tables.samples.is_empty() => NO_SAMPLES,
            true => NONE_OF_THESE,
            false => ESTIMATED,
        }),
        rows,
    }
}

/// Whether every allocated word was sampled, as far as live blocks show.
pub(super) fn is_all_sampled(heap: &Heap) -> bool {
    let samples = heap.tables().samples.iter();
    let mut samples = samples.filter(|sample| !is_of_outside(heap, sample.block.0)).peekable();
    let is_exact = |sample: &Sample| match heap.tables().sampling {
        Some(sampling) => sampling.rate() >= 1.0,
        None => u64::from(sample.samples) >= words_of(heap, sample),
    };
    samples.peek().is_some() && samples.all(is_exact)
}

/// The most samples that one sample can stand for.
pub(super) fn heaviest_sample(heap: &Heap) -> f64 {
    heap.tables().sampling.map_or(1.0, |sampling| sampling.heaviest())
}

/// The size of a sampled block in words, including the header.
pub(super) fn words_of(heap: &Heap, sample: &Sample) -> u64 {
    heap.weights().get(sample.block.index()).copied().map_or(0, u64::from)
}

/// The label of blocks without a sample where all others have one.
pub(super) fn not_sampled() -> Label {
    Label { name: "[not sampled]".to_owned(), ..Label::default() }
}

/// Whether a block was sampled for the memory it holds outside the heap, as a bigarray is: this says nothing
/// about heap words.
pub(super) fn is_of_outside(heap: &Heap, node: u32) -> bool {
    heap.kind(node) == ClassKind::Custom
        && heap.custom(node).is_some_and(|custom| custom.external_bytes > 0)
}

/// The label of an allocation site.
pub(super) fn site_label(tables: &Tables, location: Option<SnapshotLocation>) -> Label {
    label(tables, location, ClassBy::Site)
}

fn label(tables: &Tables, location: Option<SnapshotLocation>, by: ClassBy) -> Label {
    let Some(location) = location else { return Label::no_stack() };
    let function = match tables.names.get(location.function) {
        "" => "[unknown]",
        function => function,
    };
    if by == ClassBy::Module {
        return Label { name: module_of(function).to_owned(), ..Label::default() };
    }
    let mut label = Label { name: function.to_owned(), ..Label::default() };
    if by == ClassBy::Site {
        let small = |column: u32| u16::try_from(column).unwrap_or(u16::MAX);
        label.file = Some(tables.names.get(location.file).to_owned()).filter(|f| !f.is_empty());
        label.line = Some(location.line).filter(|line| *line > 0);
        label.columns = label.line.map(|_| (small(location.start_char), small(location.end_char)));
    }
    label
}
