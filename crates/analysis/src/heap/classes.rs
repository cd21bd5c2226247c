//! Blocks by class: by what they are, by tag, and, where they were sampled when they were allocated, by where that was.
//!
//! What a block is and what its tag is are known of every block, and those sums are exact. Where it was allocated is
//! known of sampled blocks only. A snapshot does not tell the rate; so all live words are taken to have had the same
//! chance, and each sample stands for as many words as there are live words for a sample. If every word of
//! every sampled block was sampled, everything was, and what has no sample was allocated by other means. Custom blocks
//! that hold memory outside the heap are sampled for that, and do not count.

use std::collections::HashMap;

use bactrian_snapshot::{Location, Sample, Tables};
use serde::Serialize;

use super::graph::ClassTotal;
use super::{ClassKind, Heap, WORD};
use crate::estimate::{Estimate, Scale, Tally};
use crate::labels::{Label, module_of};

/// What blocks are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBy {
    /// What they are.
    Type,
    /// Their tags.
    Tag,
    /// The place in the source that allocated them.
    Site,
    /// The function that allocated them.
    Function,
    /// The module that allocated them.
    Module,
}

/// Blocks by class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassTable {
    /// What they are told apart by.
    pub by: ClassBy,
    /// Whether sums are exact; otherwise they are estimates from samples.
    pub exact: bool,
    /// Blocks that were sampled when they were allocated and are alive.
    pub sampled_blocks: u64,
    /// All blocks that the rows are of.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// One row for each class, those with most bytes first.
    pub rows: Vec<ClassRow>,
    /// What one should know of these numbers, in a sentence.
    pub note: Option<&'static str>,
}

/// What a class has, in bytes with headers.
#[derive(Clone, Debug, Serialize)]
pub struct ClassRow {
    /// What it is called, with its place.
    #[serde(flatten)]
    pub label: Label,
    /// What tells it from others; null for places.
    pub kind: Option<ClassKind>,
    /// How many blocks.
    pub blocks: Estimate,
    /// Their own bytes.
    pub shallow: Estimate,
    /// What would be free without them: the sum of what each of them retains, without those that another of the same
    /// class dominates. Null where it cannot be known, because not all blocks of the class are.
    pub dominated: Option<u64>,
}

const NO_TYPES: &str =
    "types are not known yet: blocks are told apart by function, identifier, tag and size";
const NO_SAMPLES: &str = "the snapshot has no samples: where blocks were allocated is known if a trace is recorded \
                          with it (`bactrian record --snapshots WHEN` without --no-trace)";
const ESTIMATED: &str = "estimated from samples, as if all live words had the same chance to be sampled; what the \
                         classes dominate is not known, because not all of their blocks are";

/// Blocks by class.
pub fn classes(heap: &Heap, by: ClassBy) -> ClassTable {
    match by {
        ClassBy::Type => by_type(heap),
        ClassBy::Tag => by_tag(heap),
        ClassBy::Site | ClassBy::Function | ClassBy::Module => by_place(heap, by),
    }
}

fn by_type(heap: &Heap) -> ClassTable {
    let rows = heap.classes().iter().zip(heap.class_totals()).map(|(class, total)| {
        let label =
            Label { name: class.name.clone(), file: class.place.clone(), ..Label::default() };
        row(label, Some(class.kind), total)
    });
    table(heap, ClassBy::Type, rows.collect(), Some(NO_TYPES))
}

fn by_tag(heap: &Heap) -> ClassTable {
    let rows = heap.tag_totals().iter().enumerate().map(|(tag, total)| {
        // What a tag means is what its classes have in common.
        let mut kinds = heap.classes().iter().filter(|class| class.tag == Some(tag as u8));
        let kind = kinds.next().map(|class| class.kind);
        let kind = kind.filter(|kind| kinds.all(|class| class.kind == *kind));
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
        dominated: Some(total.dominated.saturating_mul(WORD)),
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
        rows,
        note,
    }
}

fn largest_first(rows: &mut [ClassRow]) {
    rows.sort_by(|one, other| {
        let sizes = other.shallow.value.total_cmp(&one.shallow.value);
        sizes.then_with(|| one.label.cmp(&other.label))
    });
}

fn by_place(heap: &Heap, by: ClassBy) -> ClassTable {
    let tables = heap.tables();
    let mut labels: Vec<Label> = Vec::new();
    let mut known: HashMap<Label, u32> = HashMap::new();
    let mut of_block: HashMap<u32, u32> = HashMap::new();
    let mut tallies: Vec<(Tally, Tally)> = Vec::new();
    let mut samples = 0_u64;
    for sample in &tables.samples {
        if is_of_outside(heap, sample.block.0) {
            continue;
        }
        let location =
            sample.stack.and_then(|stack| tables.stacks.get(stack.index())).map(|s| s.location);
        let label = label(tables, location, by);
        let next = labels.len() as u32;
        let number = *known.entry(label.clone()).or_insert(next);
        if number == next {
            labels.push(label);
            tallies.push(Default::default());
        }
        let words = words_of(heap, sample);
        samples += u64::from(sample.samples);
        let (of_words, of_blocks) = &mut tallies[number as usize];
        of_words.count(sample.samples.into(), 1.0);
        of_blocks.count(sample.samples.into(), 1.0 / words.max(1) as f64);
        of_block.insert(sample.block.0, number);
    }
    if is_all_sampled(heap) {
        let unknown = labels.len() as u32;
        labels.push(not_sampled());
        let group = |node: u32| of_block.get(&node).copied().unwrap_or(unknown);
        let totals = heap.totals_by(labels.len(), group);
        let rows = labels.into_iter().zip(&totals).map(|(label, total)| row(label, None, total));
        return table(heap, by, rows.collect(), None);
    }
    let contents = heap.census().count.contents(heap.losses().clone());
    let live_words = contents.live_bytes / WORD;
    let rate = samples as f64 / (live_words as f64).max(1.0);
    let of_words = Scale { rate, unit: WORD as f64 };
    let of_blocks = Scale { rate, unit: 1.0 };
    let rows = labels.into_iter().zip(tallies).map(|(label, (words, blocks))| ClassRow {
        label,
        kind: None,
        blocks: of_blocks.estimate(blocks),
        shallow: of_words.estimate(words),
        dominated: None,
    });
    let mut rows: Vec<_> = rows.collect();
    largest_first(&mut rows);
    ClassTable {
        by,
        exact: false,
        sampled_blocks: tables.samples.len() as u64,
        blocks: contents.live_blocks,
        bytes: contents.live_bytes,
        note: Some(if rows.is_empty() { NO_SAMPLES } else { ESTIMATED }),
        rows,
    }
}

/// Whether every word that was allocated was sampled, as far as living blocks tell.
pub(super) fn is_all_sampled(heap: &Heap) -> bool {
    let samples = heap.tables().samples.iter();
    let mut samples = samples.filter(|sample| !is_of_outside(heap, sample.block.0)).peekable();
    samples.peek().is_some()
        && samples.all(|sample| u64::from(sample.samples) >= words_of(heap, sample))
}

/// Words of a sampled block, with its header.
fn words_of(heap: &Heap, sample: &Sample) -> u64 {
    heap.weights().get(sample.block.index()).copied().map_or(0, u64::from)
}

/// What blocks without a sample are called where all others have one.
pub(super) fn not_sampled() -> Label {
    Label { name: "[not sampled]".to_owned(), ..Label::default() }
}

/// Whether a block is sampled for what it holds outside the heap, as a bigarray is: this says nothing of heap words.
fn is_of_outside(heap: &Heap, node: u32) -> bool {
    heap.class(node).kind == ClassKind::Custom
        && heap.custom(node).is_some_and(|custom| custom.external_bytes > 0)
}

/// What the place of an allocation is called.
pub(super) fn site_label(tables: &Tables, location: Option<Location>) -> Label {
    label(tables, location, ClassBy::Site)
}

fn label(tables: &Tables, location: Option<Location>, by: ClassBy) -> Label {
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
