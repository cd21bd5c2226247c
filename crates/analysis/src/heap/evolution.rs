//! How a heap evolves from snapshot to snapshot: the size of types, modules, functions or allocation sites in
//! each.
//!
//! One view can be narrowed by another: to the blocks of a type, a module, a function or a site
//! ([`BlockFilter`]). The numbers are those of [`classes_of`](super::classes_of) for each snapshot: exact, or
//! estimated from samples. The first rows are listed, in an order based on all snapshots or on one of them;
//! all others are summed in one row, the rest.

use std::collections::{HashMap, HashSet};

use bactrian_types::written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::classes::{NO_SAMPLES, NO_TYPES, NONE_OF_THESE, not_sampled};
use super::diff::{Counted, rate};
use super::sums::{HeapSums, Sampled, SeriesPoint};
use super::{ClassBy, WORD};
use crate::estimate::{Estimate, Scale, Tally};
use crate::labels::{Label, module_of};

/// A question about a series.
#[derive(Clone, Debug)]
pub struct EvolutionShape {
    /// The grouping; [`ClassBy::Tag`] is treated as [`ClassBy::Type`].
    pub by: ClassBy,
    /// Which blocks to include.
    pub filter: BlockFilter,
    /// The unit that determines a row's size.
    pub unit: EvolutionUnit,
    /// Which rows come first.
    pub order: EvolutionOrder,
    /// The number of rows listed; 0 for all.
    pub number: usize,
    /// Additional rows to list, by name.
    pub also: Vec<String>,
}

/// Which blocks to select; all conditions must hold. Allocation sites are known for sampled blocks only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct BlockFilter {
    /// Only blocks of this type, or of types whose names contain this
    #[serde(rename = "type")]
    pub class: Option<String>,
    /// Only blocks that this module allocated
    pub module: Option<String>,
    /// Only blocks that this function allocated
    pub function: Option<String>,
    /// Only blocks that were allocated at this place (main.ml:12)
    #[schemars(extend("x-value" = "PLACE"))]
    pub site: Option<String>,
}

/// The measure that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvolutionUnit {
    /// Size in bytes.
    #[default]
    Bytes,
    /// Number of blocks.
    Blocks,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvolutionOrder {
    /// By average size over all snapshots.
    #[default]
    Average,
    /// By growth from the first to the last snapshot.
    Growth,
    /// By size in one snapshot, given by its index in the series.
    At(usize),
}

/// How a heap evolves.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Evolution {
    /// What blocks are grouped by.
    pub by: ClassBy,
    /// The measure that rows are sorted by.
    pub unit: EvolutionUnit,
    /// Whether all numbers are exact; otherwise some are estimates from samples.
    pub exact: bool,
    /// Size of a word in bytes.
    pub word: u64,
    /// The snapshots, in the order in which they were taken.
    pub snapshots: Vec<SeriesPoint>,
    /// Number of rows.
    pub row_count: usize,
    /// The first rows, and those that were asked for by name.
    pub rows: Vec<EvolutionRow>,
    /// The sum of all other rows; null if there are none.
    pub rest: Option<EvolutionRow>,
    /// The sum of all rows.
    pub all: EvolutionRow,
    /// What to know about these numbers, in sentences.
    pub notes: Vec<&'static str>,
}

/// Sizes of a row in each snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvolutionRow {
    /// Its name and location.
    #[serde(flatten)]
    pub label: Label,
    /// Name and location as one unique text.
    pub title: String,
    /// Size in bytes with headers, by snapshot.
    pub bytes: Vec<Estimate>,
    /// Number of blocks, by snapshot.
    pub blocks: Vec<Estimate>,
    /// Average over all snapshots, in the unit of this answer.
    pub average: f64,
    /// Growth from the first to the last snapshot.
    pub growth: f64,
    /// Whether it grew in every step, with at least two steps.
    pub grows_always: bool,
    /// Growth in bytes per second, by least squares; null if all snapshots have the same time, or are of several processes.
    pub rate: Option<f64>,
}

const ESTIMATED: &str =
    "estimated from samples, assuming that all live words had the same chance to be sampled";
const SEVERAL: &str = "the snapshots are of several processes: differences between them are not \
    growth";

/// The sums of a row in one snapshot, before they are converted to sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    counted: Counted,
    words: Tally,
    blocks: Tally,
}

impl Cell {
    fn add(&mut self, other: &Cell) {
        self.counted.blocks += other.counted.blocks;
        self.counted.bytes = self.counted.bytes.saturating_add(other.counted.bytes);
        self.words = self.words + other.words;
        self.blocks = self.blocks + other.blocks;
    }

    fn of(counted: Counted) -> Cell {
        Cell { counted, ..Cell::default() }
    }
}

/// How the cells of a snapshot are converted.
#[derive(Clone, Copy)]
enum Reading {
    Exact,
    /// With the fraction of words that were sampled, and the most samples that one sample can stand for.
    Estimated(f64, f64),
}

impl Reading {
    /// Bytes and blocks.
    fn read(self, cell: &Cell) -> [Estimate; 2] {
        match self {
            Reading::Exact => {
                [cell.counted.bytes, cell.counted.blocks].map(|count| Estimate::exact(count as f64))
            }
            // Without any sample nothing is known, not even an upper bound.
            Reading::Estimated(rate, _) if rate <= 0.0 => [Estimate::default(); 2],
            Reading::Estimated(rate, heaviest) => [
                Scale::of_words(rate, WORD as f64).with_heaviest(heaviest).estimate(cell.words),
                Scale::of_blocks(rate).with_heaviest(heaviest).estimate(cell.blocks),
            ],
        }
    }
}

/// All rows of all snapshots.
struct Table {
    labels: Vec<Label>,
    /// By row, then by snapshot.
    cells: Vec<Vec<Cell>>,
    readings: Vec<Reading>,
}

/// Computes how a heap evolves; `sums` are in the order in which the snapshots were taken.
pub fn evolution(sums: &[&HeapSums], question: &EvolutionShape) -> Evolution {
    let table = Table::new(sums, question);
    let order = table.order(question);
    let mut is_told = vec![false; order.len()];
    let first = if question.number == 0 { order.len() } else { question.number };
    let also: HashSet<&str> = question.also.iter().map(String::as_str).collect();
    let mut told = Vec::new();
    for (rank, &row) in order.iter().enumerate() {
        if rank < first || also.contains(&*table.labels[row].text()) {
            is_told[row] = true;
            told.push(row);
        }
    }
    let times: Vec<f64> = sums.iter().map(|sums| sums.point.taken).collect();
    let is_of_several = sums.windows(2).any(|pair| !pair[0].is_of_same_process(pair[1]));
    let row = |label: Label, cells: &[Cell]| {
        let mut row = table.row(label, cells, question.unit);
        let bytes: Vec<u64> = row.bytes.iter().map(|bytes| bytes.value as u64).collect();
        row.rate = rate(&times, &bytes).filter(|_| !is_of_several);
        row
    };
    let named = |name: &str| Label { name: name.to_owned(), ..Label::default() };
    let rest: Vec<usize> = order.iter().copied().filter(|&row| !is_told[row]).collect();
    Evolution {
        by: question.by,
        unit: question.unit,
        exact: table.readings.iter().all(|reading| matches!(reading, Reading::Exact)),
        word: WORD,
        snapshots: sums.iter().map(|sums| sums.point.clone()).collect(),
        row_count: order.len(),
        rows: told.iter().map(|&at| row(table.labels[at].clone(), &table.cells[at])).collect(),
        rest: (!rest.is_empty()).then(|| row(named("[rest]"), &table.sum(&rest))),
        all: row(named("[all]"), &table.sum(&order)),
        notes: notes(sums, question, &table, is_of_several),
    }
}

/// Row names that contain `text`, in order, at most `most`: to find rows that are not shown.
pub fn evolution_names(
    sums: &[&HeapSums],
    question: &EvolutionShape,
    text: &str,
    most: usize,
) -> Vec<String> {
    let table = Table::new(sums, question);
    let text = text.to_lowercase();
    let names = table.order(question).into_iter().map(|row| table.labels[row].text());
    names.filter(|name| name.to_lowercase().contains(&text)).take(most).collect()
}

fn notes(
    sums: &[&HeapSums],
    question: &EvolutionShape,
    table: &Table,
    is_of_several: bool,
) -> Vec<&'static str> {
    let is_by_class = question.is_by_class();
    let is_estimated = table.readings.iter().any(|reading| !matches!(reading, Reading::Exact));
    let mut notes = Vec::new();
    if question.by == ClassBy::Type && sums.iter().any(|sums| !sums.has_types) {
        notes.push(NO_TYPES);
    }
    if !is_by_class && sums.iter().any(|sums| sums.sampled.is_empty()) {
        notes.push(NO_SAMPLES);
    }
    if is_estimated && table.labels.is_empty() && sums.iter().any(|s| !s.sampled.is_empty()) {
        notes.push(NONE_OF_THESE);
    } else if is_estimated && !table.labels.is_empty() {
        notes.push(ESTIMATED);
    }
    if is_of_several {
        notes.push(SEVERAL);
    }
    notes
}

impl EvolutionShape {
    /// Whether the question can be answered without allocation sites.
    fn is_by_class(&self) -> bool {
        matches!(self.by, ClassBy::Type | ClassBy::Tag) && !self.filter.is_by_place()
    }
}

impl BlockFilter {
    fn is_by_place(&self) -> bool {
        self.module.is_some() || self.function.is_some() || self.site.is_some()
    }

    fn has_place(&self, site: &Label) -> bool {
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_deref().is_none_or(|wanted| written(wanted) == written(text))
        };
        is(&self.module, module_of(&site.name))
            && is(&self.function, &site.name)
            && self.site.as_ref().is_none_or(|wanted| site.text().contains(wanted))
    }

    /// The wanted class names of a series; None for all.
    fn classes<'s>(&self, sums: &[&'s HeapSums]) -> Option<HashSet<&'s str>> {
        let wanted = self.class.as_deref()?;
        let names = || sums.iter().flat_map(|sums| &sums.classes).map(|(label, _)| &*label.name);
        let exact: HashSet<&str> = names().filter(|name| *name == wanted).collect();
        Some(match exact.is_empty() {
            true => names().filter(|name| name.contains(wanted)).collect(),
            false => exact,
        })
    }
}

impl Table {
    fn new(sums: &[&HeapSums], question: &EvolutionShape) -> Table {
        let count = sums.len();
        let mut table = Table { labels: Vec::new(), cells: Vec::new(), readings: Vec::new() };
        let mut known: HashMap<Label, usize> = HashMap::new();
        let classes = question.filter.classes(sums);
        for (at, sums) in sums.iter().enumerate() {
            let mut add = |label: &Label, cell: Cell| {
                let row = known.get(label).copied().unwrap_or_else(|| {
                    known.insert(label.clone(), table.labels.len());
                    table.labels.push(label.clone());
                    table.cells.push(vec![Cell::default(); count]);
                    table.labels.len() - 1
                });
                table.cells[row][at].add(&cell);
            };
            let is_wanted = |label: &Label| {
                classes.as_ref().is_none_or(|classes| classes.contains(&*label.name))
            };
            table.readings.push(if question.is_by_class() {
                for (label, counted) in sums.classes.iter().filter(|(label, _)| is_wanted(label)) {
                    if counted.blocks > 0 {
                        add(label, Cell::of(*counted));
                    }
                }
                Reading::Exact
            } else {
                by_place(sums, question, &is_wanted, &mut add)
            });
        }
        table
    }

    /// Rows in the requested order; ties are sorted by name.
    fn order(&self, question: &EvolutionShape) -> Vec<usize> {
        let sizes: Vec<Vec<f64>> =
            self.cells.iter().map(|cells| self.sizes(cells, question.unit)).collect();
        let key = |row: usize| match question.order {
            EvolutionOrder::Average => average(&sizes[row]),
            EvolutionOrder::Growth => growth(&sizes[row]),
            EvolutionOrder::At(at) => sizes[row].get(at).copied().unwrap_or(0.0),
        };
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        order.sort_by(|&one, &other| {
            let sizes = key(other).total_cmp(&key(one));
            sizes.then_with(|| self.labels[one].cmp(&self.labels[other]))
        });
        order
    }

    fn sizes(&self, cells: &[Cell], unit: EvolutionUnit) -> Vec<f64> {
        let size = |(reading, cell): (&Reading, &Cell)| {
            let [bytes, blocks] = reading.read(cell);
            match unit {
                EvolutionUnit::Bytes => bytes.value,
                EvolutionUnit::Blocks => blocks.value,
            }
        };
        self.readings.iter().zip(cells).map(size).collect()
    }

    fn sum(&self, rows: &[usize]) -> Vec<Cell> {
        let mut sum = vec![Cell::default(); self.readings.len()];
        for row in rows {
            for (sum, cell) in sum.iter_mut().zip(&self.cells[*row]) {
                sum.add(cell);
            }
        }
        sum
    }

    fn row(&self, label: Label, cells: &[Cell], unit: EvolutionUnit) -> EvolutionRow {
        let read = self.readings.iter().zip(cells).map(|(reading, cell)| reading.read(cell));
        let (bytes, blocks) = read.map(|[bytes, blocks]| (bytes, blocks)).unzip();
        let sizes = self.sizes(cells, unit);
        EvolutionRow {
            title: label.text(),
            label,
            bytes,
            blocks,
            average: average(&sizes),
            growth: growth(&sizes),
            grows_always: sizes.len() > 2 && sizes.windows(2).all(|pair| pair[0] < pair[1]),
            rate: None,
        }
    }
}

fn by_place(
    sums: &HeapSums,
    question: &EvolutionShape,
    is_wanted: &dyn Fn(&Label) -> bool,
    add: &mut dyn FnMut(&Label, Cell),
) -> Reading {
    let class = |sampled: &Sampled| sums.classes.get(sampled.class as usize).map(|class| &class.0);
    for sampled in &sums.sampled {
        let Some(class) = class(sampled) else { continue };
        if !is_wanted(class) || !question.filter.has_place(&sampled.site) {
            continue;
        }
        let named = |name: &str| Label { name: name.to_owned(), ..Label::default() };
        let label = match question.by {
            ClassBy::Type | ClassBy::Tag => class.clone(),
            ClassBy::Site => sampled.site.clone(),
            ClassBy::Function => named(&sampled.site.name),
            ClassBy::Module => named(module_of(&sampled.site.name)),
        };
        let Sampled { words, blocks, counted, .. } = *sampled;
        add(&label, Cell { counted, words, blocks });
    }
    if !sums.is_all_sampled {
        return Reading::Estimated(sums.rate, sums.heaviest_sample);
    }
    if !question.filter.is_by_place() {
        // Blocks without a sample were allocated by other means.
        let mut left = Counted::default();
        for (_, counted) in sums.classes.iter().filter(|(label, _)| is_wanted(label)) {
            left.blocks += counted.blocks;
            left.bytes = left.bytes.saturating_add(counted.bytes);
        }
        for sampled in &sums.sampled {
            if class(sampled).is_some_and(is_wanted) {
                left.blocks = left.blocks.saturating_sub(sampled.counted.blocks);
                left.bytes = left.bytes.saturating_sub(sampled.counted.bytes);
            }
        }
        if left.blocks > 0 {
            add(&not_sampled(), Cell::of(left));
        }
    }
    Reading::Exact
}

fn average(sizes: &[f64]) -> f64 {
    if sizes.is_empty() { 0.0 } else { sizes.iter().sum::<f64>() / sizes.len() as f64 }
}

fn growth(sizes: &[f64]) -> f64 {
    sizes.first().zip(sizes.last()).map_or(0.0, |(first, last)| last - first)
}
