//! The stacks of a trace with labels, in one detail and with some functions hidden.

use std::sync::{Arc, OnceLock};

use bactrian_trace::FrameId;

use super::origins::Origins;
use crate::estimate::Tally;
use crate::filter::Hidden;
use crate::labels::{By, LabelId, LabelSpan, Labels};
use crate::stack_tree::{Recursion, StackId, StackTree};
use crate::top::OfLabels;

/// The labels of a trace's frames, and what is derived from them. Trees are built on demand.
#[derive(Debug)]
pub(crate) struct Labelling {
    pub labels: Arc<Labels>,
    /// By frame.
    spans: Vec<Option<LabelSpan>>,
    folded: OnceLock<Relabelled>,
    kept: OnceLock<Relabelled>,
    counted: OnceLock<Counted>,
}

/// The tree of labelled stacks.
#[derive(Debug)]
pub(crate) struct Relabelled {
    pub tree: Arc<StackTree>,
    /// The node of each allocating stack.
    pub places: Vec<StackId>,
}

impl Labelling {
    pub fn new(origins: &Origins, by: By, hidden: &Hidden) -> Labelling {
        let mut labels = Labels::new(by, hidden);
        let mut spans = vec![None; origins.frames.len()];
        for &frame in &origins.tree.frames[1..] {
            let span = &mut spans[frame.index()];
            if span.is_none() {
                *span = Some(labels.span(frame, &origins.frames));
            }
        }
        let labels = Arc::new(labels);
        Labelling {
            labels,
            spans,
            folded: OnceLock::new(),
            kept: OnceLock::new(),
            counted: OnceLock::new(),
        }
    }

    /// The labelled stacks.
    pub fn tree(&self, origins: &Origins, recursion: Recursion) -> &Relabelled {
        let slot = match recursion {
            Recursion::Keep => &self.kept,
            Recursion::Fold => &self.folded,
        };
        slot.get_or_init(|| {
            let mut tree = StackTree::for_file_of(origins.file_bytes);
            let places = origins.tree.inwards(StackId::ROOT, |outer, frame| {
                tree.inwards(outer, self.labels_of(frame), recursion)
            });
            let places = origins.allocating.iter().map(|&stack| places[stack as usize]).collect();
            Relabelled { tree: Arc::new(tree), places }
        })
    }

    /// Whether all stacks fit into the tree of labels. If not, only passes can tell them apart.
    pub fn is_whole(&self, origins: &Origins, recursion: Recursion) -> bool {
        self.tree(origins, recursion).tree.cut() == 0
    }

    /// The labels of a frame, outermost first; empty if it is hidden.
    fn labels_of(&self, frame: FrameId) -> &[LabelId] {
        self.spans[frame.index()].map(|span| self.labels.in_span(span)).unwrap_or_default()
    }

    /// For each allocating stack, its innermost visible label.
    pub fn innermost(&self, origins: &Origins) -> Vec<Option<LabelId>> {
        let innermost = origins
            .tree
            .inwards(None, |outer, frame| self.labels_of(frame).last().copied().or(outer));
        origins.allocating.iter().map(|&stack| innermost[stack as usize]).collect()
    }

    /// Self and total of each label, from the tally of each stack.
    pub fn by_label(&self, origins: &Origins, own: &[Tally]) -> OfLabels {
        let counted = self.counted.get_or_init(|| Counted::new(self, origins));
        let tree = &origins.tree;
        let mut of_labels = vec![(Tally::default(), Tally::default()); self.labels.len()];
        let mut no_stack = Tally::default();
        let mut totals = vec![Tally::default(); tree.len()];
        for ((label, own), &stack) in counted.innermost.iter().zip(own).zip(&origins.allocating) {
            totals[stack as usize] = *own;
            let sum = label.map_or(&mut no_stack, |label| &mut of_labels[label.index()].0);
            *sum = *sum + *own;
        }
        // Children come after their parents, so in reverse order a stack is complete when it is added to its
        // parent.
        for stack in (1..tree.len()).rev() {
            if !totals[stack].is_zero() {
                let parent = tree.parents[stack] as usize;
                totals[parent] = totals[parent] + totals[stack];
            }
        }
        let mut add = |label: LabelId, total: Tally| {
            let sum = &mut of_labels[label.index()].1;
            *sum = *sum + total;
        };
        for (label, total) in counted.first.iter().zip(&totals) {
            if let Some(label) = label
                && !total.is_zero()
            {
                add(*label, *total);
            }
        }
        counted.more.iter().for_each(|&(stack, label)| add(label, totals[stack as usize]));
        OfLabels { all: totals[0], of_labels, no_stack }
    }
}

/// The labels for which a stack counts, without the tree of labelled stacks, which takes longer to build.
#[derive(Debug)]
struct Counted {
    /// The innermost label of each allocating stack.
    innermost: Vec<Option<LabelId>>,
    /// For each stack a label of its innermost frame that no caller has; the stack's total counts for that
    /// label.
    first: Vec<Option<LabelId>>,
    /// Further such labels, where functions were inlined.
    more: Vec<(u32, LabelId)>,
}

impl Counted {
    fn new(labelling: &Labelling, origins: &Origins) -> Counted {
        let tree = &origins.tree;
        let mut first = vec![None; tree.len()];
        let mut more = Vec::new();
        // In depth-first order, a counter per label says whether it is on the stack.
        let mut times = vec![0u32; labelling.labels.len()];
        let mut open: Vec<(u32, &[LabelId])> = Vec::new();
        for (stack, first) in first.iter_mut().enumerate().skip(1) {
            while let Some((_, labels)) = open.pop_if(|(last, _)| *last != tree.parents[stack]) {
                labels.iter().for_each(|label| times[label.index()] -= 1);
            }
            let labels = labelling.labels_of(tree.frames[stack]);
            for &label in labels {
                let times = &mut times[label.index()];
                match *first {
                    _ if *times > 0 => {}
                    Some(_) => more.push((stack as u32, label)),
                    None => *first = Some(label),
                }
                *times += 1;
            }
            open.push((stack as u32, labels));
        }
        Counted { innermost: labelling.innermost(origins), first, more }
    }
}

impl Relabelled {
    /// The tally of each labelled stack, from the tallies of stacks of frames.
    pub fn tallies(&self, own: &[Tally]) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.tree.len()];
        for (place, own) in self.places.iter().zip(own) {
            tallies[place.index()] = tallies[place.index()] + *own;
        }
        tallies
    }
}
