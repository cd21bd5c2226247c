//! Bytes allocated, or still live, by type: allocations by site, with what the compiler knew about the type allocated
//! there.

use std::collections::HashMap;

use bactrian_trace::{Alloc, FrameId, Frames, Losses};
use bactrian_types::{Allocated, Allocation, Allocations};
use schemars::JsonSchema;
use serde::Serialize;

use crate::estimate::{Estimate, Tally};
use crate::filter::Filter;
use crate::measure::{Gauge, Measure};
use crate::pass::{self, Visitor};
use crate::selection::{Peak, Selection};
use crate::sorted_rows::SortRows;
use crate::trace_file::TraceFile;

/// For values that do not have one known type.
const SEVERAL: &str = "[one of several types]";
const UNKNOWN: &str = "[not known]";

/// One row of a [`TopTypes`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TypeRow {
    /// The type as a programmer writes it; in brackets, why the type is unknown.
    pub name: String,
    /// Whether it is a type.
    pub is_type: bool,
    /// The size of its values.
    pub own: Estimate,
}

/// A measure by type, the largest first.
#[derive(Debug)]
pub struct TopTypes {
    /// The measure.
    pub measure: Measure,
    /// The total.
    pub all: Estimate,
    /// The part with a known type.
    pub typed: Estimate,
    /// A row for each type.
    pub rows: Vec<TypeRow>,
    /// The peak, if the measure refers to it.
    pub peak: Option<Peak>,
    /// What could not be read of the trace.
    pub losses: Losses,
}

/// Computes the measure by type.
pub fn top_types(
    trace: &TraceFile,
    filter: &Filter,
    measure: Measure,
    allocations: Allocations<'_>,
) -> TopTypes {
    let selection = Selection::new(trace, filter);
    let gauge = Gauge::new(trace, &selection, &[measure]);
    let mut adding = Adding { gauge, allocations, rows: Rows::default(), known: HashMap::new() };
    let outcome = pass::run(trace, &selection, &mut adding);
    let Adding { gauge, rows, .. } = adding;
    let scale = measure.scale(trace);
    let sum = |rows: &mut dyn Iterator<Item = Tally>| {
        scale.estimate(rows.fold(Tally::default(), |sum, tally| sum + tally))
    };
    let all = sum(&mut rows.list.iter().map(|(_, tally)| *tally));
    let typed = rows.list.iter().filter(|(name, _)| matches!(name, Allocated::Type(_)));
    let typed = sum(&mut typed.map(|(_, tally)| *tally));
    let mut rows: Vec<_> = rows
        .list
        .into_iter()
        .map(|(found, tally)| {
            let (name, is_type) = match found {
                Allocated::Type(name) => (name, true),
                Allocated::OneOfSeveral => (SEVERAL.to_owned(), false),
                Allocated::Unknown => (UNKNOWN.to_owned(), false),
            };
            TypeRow { name, is_type, own: scale.estimate(tally) }
        })
        .collect();
    rows.sort_rows_by(|a, b| b.own.value.total_cmp(&a.own.value).then_with(|| a.name.cmp(&b.name)));
    TopTypes { measure, all, typed, rows, peak: gauge.peak, losses: outcome.losses }
}

/// Tallies by type.
#[derive(Default)]
struct Rows {
    list: Vec<(Allocated, Tally)>,
    numbers: HashMap<Allocated, usize>,
}

impl Rows {
    fn number(&mut self, found: Allocated) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry(found.clone()).or_insert(next);
        if number == next {
            self.list.push((found, Tally::default()));
        }
        number
    }
}

struct Adding<'t> {
    gauge: Gauge,
    allocations: Allocations<'t>,
    rows: Rows,
    /// The row for each pair of allocating frame and size.
    known: HashMap<(Option<FrameId>, u64), usize>,
}

impl Adding<'_> {
    fn row(&mut self, alloc: &Alloc<'_>, frames: &Frames) -> usize {
        let key = (alloc.stack.last().copied(), alloc.length.0);
        if let Some(&row) = self.known.get(&key) {
            return row;
        }
        let found = find(&mut self.allocations, key, frames);
        let row = self.rows.number(found);
        self.known.insert(key, row);
        row
    }
}

/// The type that a frame allocates in this size.
fn find(
    allocations: &mut Allocations<'_>,
    (frame, words): (Option<FrameId>, u64),
    frames: &Frames,
) -> Allocated {
    // An allocation by a C function belongs to the line that calls it.
    let locations = frame.map_or(&[][..], |frame| frames.locations(frame));
    let location = locations.iter().rev().find(|location| location.line > 0);
    let (Some(location), Ok(words)) = (location, u32::try_from(words)) else {
        return Allocated::Unknown;
    };
    allocations.find(&Allocation {
        function: &frames.names().text(location.function),
        file: &frames.names().text(location.file),
        line: location.line,
        characters: (u32::from(location.start_char), u32::from(location.end_char)),
        words,
    })
}

impl Visitor for Adding<'_> {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn wants_ends(&self) -> bool {
        false
    }

    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        let mut weights = None;
        self.gauge.weigh(alloc, |_, weight| weights = Some(weight));
        if let Some(weight) = weights {
            let row = self.row(alloc, frames);
            self.rows.list[row].1.count(alloc.samples, weight);
        }
    }
}
