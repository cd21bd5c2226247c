//! Profiles: measures by distinct call stack.

use std::sync::Arc;

use bactrian_trace::{Alloc, Frames, Losses};

use crate::estimate::{Estimate, Scale, Tally};
use crate::filter::Filter;
use crate::labels::{By, Labels};
use crate::measure::{Gauge, Measure};
use crate::pass::{self, Visitor};
use crate::selection::{Peak, Selection};
use crate::stack_tree::{Recursion, StackId, StackTree, TreeBuilder};
use crate::trace_file::TraceFile;

/// A measure of each stack itself, without the stacks that continue it.
#[derive(Debug)]
pub struct Column {
    /// The measure.
    pub measure: Measure,
    scale: Scale,
    tallies: Vec<Tally>,
}

impl Column {
    pub(crate) fn new(measure: Measure, scale: Scale, tallies: Vec<Tally>) -> Column {
        Column { measure, scale, tallies }
    }

    /// The tally of a stack itself.
    pub fn own(&self, stack: StackId) -> Tally {
        self.tallies.get(stack.index()).copied().unwrap_or_default()
    }

    /// The total of all stacks.
    pub fn total(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |sum, &tally| sum + tally)
    }

    /// The tally of each stack including its continuations.
    pub fn totals(&self, tree: &StackTree) -> Vec<Tally> {
        let mut totals = self.tallies.clone();
        totals.resize(tree.len(), Tally::default());
        for stack in tree.ids().rev() {
            let here = totals[stack.index()];
            let parent = &mut totals[tree.parent(stack).index()];
            *parent = *parent + here;
        }
        totals
    }

    /// The estimate for a tally of this column.
    pub fn estimate(&self, tally: Tally) -> Estimate {
        self.scale.estimate(tally)
    }
}

/// Measures of all stacks of a trace.
#[derive(Debug)]
pub struct Profile {
    /// The stacks.
    pub tree: Arc<StackTree>,
    /// The labels of their frames.
    pub labels: Arc<Labels>,
    /// The measures, in the requested order.
    pub columns: Vec<Column>,
    /// The peak, if a measure or the filter refers to it.
    pub peak: Option<Peak>,
    /// What could not be read.
    pub losses: Losses,
}

impl Profile {
    /// Measures the objects that `filter` admits, by stacks with labels of this detail.
    pub fn new(trace: &TraceFile, filter: &Filter, by: By, measures: &[Measure]) -> Profile {
        Profile::with(trace, filter, by, Recursion::Keep, measures)
    }

    /// Likewise, with a choice of how to treat recursion.
    pub fn with(
        trace: &TraceFile,
        filter: &Filter,
        by: By,
        recursion: Recursion,
        measures: &[Measure],
    ) -> Profile {
        let selection = Selection::new(trace, filter);
        let gauge = Gauge::new(trace, &selection, measures);
        let builder = TreeBuilder::new(
            Labels::new(by, &filter.hidden),
            recursion,
            StackTree::for_file_of(trace.bytes().len()),
        );
        let tallies = vec![Vec::new(); measures.len()];
        let mut taking = TakeMeasures { gauge, builder, tallies };
        let outcome = pass::run(trace, &selection, &mut taking);
        let (tree, labels) = taking.builder.finish();
        let columns = measures.iter().zip(taking.tallies);
        let columns = columns.map(|(&measure, tallies)| {
            let scale = measure.scale(trace);
            Column { measure, scale, tallies }
        });
        Profile {
            columns: columns.collect(),
            tree: Arc::new(tree),
            labels: Arc::new(labels),
            peak: taking.gauge.peak,
            losses: outcome.losses,
        }
    }

    /// Attributes stacks with less than this share of every measure to their callers, so that the size of an
    /// exported profile is proportional to its information. Totals do not change.
    #[must_use]
    pub fn pruned(self, min_share: f64) -> Profile {
        let totals: Vec<_> = self.columns.iter().map(|column| column.totals(&self.tree)).collect();
        let large = |stack: StackId| {
            totals.iter().any(|totals| {
                let (here, all) = (totals[stack.index()].sum(), totals[0].sum());
                here > 0.0 && here >= all * min_share
            })
        };
        let mut tree = StackTree::default();
        // Where each stack went: itself, or the innermost caller that is large enough.
        let mut places = vec![StackId::ROOT; self.tree.len()];
        for stack in self.tree.ids() {
            let parent = places[self.tree.parent(stack).index()];
            // Stacks that continue a small stack are no larger, so a large stack's parent is large too.
            let place =
                if large(stack) { tree.child(parent, self.tree.label(stack)) } else { parent };
            places[stack.index()] = place;
        }
        let columns = self.columns.into_iter().map(|column| {
            let mut tallies = vec![Tally::default(); tree.len()];
            for (place, own) in places.iter().zip(&column.tallies) {
                tallies[place.index()] = tallies[place.index()] + *own;
            }
            Column { tallies, ..column }
        });
        Profile { columns: columns.collect(), tree: Arc::new(tree), ..self }
    }

    /// The column of the first measure.
    pub fn first(&self) -> &Column {
        &self.columns[0]
    }
}

struct TakeMeasures {
    gauge: Gauge,
    builder: TreeBuilder,
    /// For each measure, tallies by stack.
    tallies: Vec<Vec<Tally>>,
}

impl Visitor for TakeMeasures {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn wants_ends(&self) -> bool {
        false
    }

    #[inline]
    fn alloc(&mut self, alloc: &Alloc<'_>, frames: &Frames) {
        // An object that counts for no measure need not have its stack in the tree.
        let mut stack = None;
        self.gauge.weigh(alloc, |column, weight| {
            let at = stack.get_or_insert_with(|| self.builder.find(alloc, frames)).index();
            let tallies = &mut self.tallies[column];
            if at >= tallies.len() {
                tallies.resize(at + 1, Tally::default());
            }
            tallies[at].count(alloc.samples, weight);
        });
        if stack.is_none() {
            self.builder.leave_out(alloc);
        }
    }

    #[inline]
    fn leave_out(&mut self, alloc: &Alloc<'_>) {
        self.builder.leave_out(alloc);
    }
}
