//! The stacks of a trace under their labels: at one detail, with some functions hidden.

use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use super::origins::Origins;
use crate::estimate::Tally;
use crate::filter::Hidden;
use crate::labels::{By, LabelId, LabelSpan, Labels};
use crate::stack_tree::{Recursion, StackId, StackTree};
use crate::top::OfLabels;

/// What the frames of a trace are called, and what follows from it. Trees are made when they are asked for.
#[derive(Debug)]
pub(crate) struct Labelling {
    pub labels: Arc<Labels>,
    /// By frame.
    spans: Vec<Option<LabelSpan>>,
    folded: OnceLock<Relabelled>,
    kept: OnceLock<Relabelled>,
}

/// The tree of labelled stacks.
#[derive(Debug)]
pub(crate) struct Relabelled {
    pub tree: Arc<StackTree>,
    /// Where each stack that allocates is in it.
    pub places: Vec<StackId>,
    /// Whether no caller in a stack has its innermost label.
    is_first: OnceLock<Bits>,
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
        Labelling { labels, spans, folded: OnceLock::new(), kept: OnceLock::new() }
    }

    /// The stacks under their labels.
    pub fn tree(&self, origins: &Origins, recursion: Recursion) -> &Relabelled {
        let slot = match recursion {
            Recursion::Keep => &self.kept,
            Recursion::Fold => &self.folded,
        };
        slot.get_or_init(|| {
            let mut tree = StackTree::for_file_of(origins.file_bytes);
            let places = origins.tree.inwards(StackId::ROOT, |outer, frame| {
                let labels = self.spans[frame.index()].map(|span| self.labels.in_span(span));
                tree.inwards(outer, labels.unwrap_or_default(), recursion)
            });
            let places = origins.allocating.iter().map(|&stack| places[stack as usize]).collect();
            Relabelled { tree: Arc::new(tree), places, is_first: OnceLock::new() }
        })
    }

    /// Whether all stacks found room in a tree of their labels. If not, only passes say what is where.
    pub fn is_whole(&self, origins: &Origins, recursion: Recursion) -> bool {
        self.tree(origins, recursion).tree.cut() == 0
    }

    /// The label of what a stack allocates: the innermost that is not hidden.
    pub fn innermost(&self, origins: &Origins) -> Vec<Option<LabelId>> {
        let Relabelled { tree, places, .. } = self.tree(origins, Recursion::Fold);
        let label = |&place: &StackId| (place != StackId::ROOT).then(|| tree.label(place));
        places.iter().map(label).collect()
    }

    /// Self and total of each label, from what each stack allocates itself.
    pub fn by_label(&self, origins: &Origins, own: &[Tally]) -> OfLabels {
        // What is counted once does not depend on how recursion is shown, and a folded tree is smaller.
        let relabelled = self.tree(origins, Recursion::Fold);
        let tree = &relabelled.tree;
        let is_first = relabelled.is_first.get_or_init(|| is_first(tree, self.labels.len()));
        let mut totals = relabelled.tallies(own);
        let mut of_labels = vec![(Tally::default(), Tally::default()); self.labels.len()];
        let no_stack = totals[0];
        // Children come after their parents, so all that goes on from a stack was added to it before it is met.
        let own = totals.clone();
        for stack in tree.ids().rev() {
            let (here, alone) = (totals[stack.index()], own[stack.index()]);
            if here.is_zero() {
                continue;
            }
            let parent = tree.parent(stack).index();
            totals[parent] = totals[parent] + here;
            let sums = &mut of_labels[tree.label(stack).index()];
            sums.0 = sums.0 + alone;
            if is_first.get(stack.index()) {
                sums.1 = sums.1 + here;
            }
        }
        OfLabels { all: totals[0], of_labels, no_stack }
    }
}

impl Relabelled {
    /// What each labelled stack allocates, from what each stack of frames does.
    pub fn tallies(&self, own: &[Tally]) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.tree.len()];
        for (place, own) in self.places.iter().zip(own) {
            tallies[place.index()] = tallies[place.index()] + *own;
        }
        tallies
    }
}

/// Which stacks have a label inside that none of their callers has.
fn is_first(tree: &StackTree, labels: usize) -> Bits {
    // Depth first, a label is on the stack or it is not.
    let order = depth_first(tree);
    let mut is_first = Bits::none(tree.len());
    let mut on_stack = vec![0u32; labels];
    let mut open: Vec<StackId> = Vec::new();
    for stack in order {
        let parent = tree.parent(stack);
        while let Some(last) = open.pop_if(|&mut last| last != parent) {
            on_stack[tree.label(last).index()] -= 1;
        }
        let times = &mut on_stack[tree.label(stack).index()];
        if *times == 0 {
            is_first.set(stack.index());
        }
        *times += 1;
        open.push(stack);
    }
    is_first
}

/// All stacks, each right after its caller or after all that goes on from a stack beside it.
fn depth_first(tree: &StackTree) -> Vec<StackId> {
    let mut sizes = vec![1u32; tree.len()];
    for stack in tree.ids().rev() {
        sizes[tree.parent(stack).index()] += sizes[stack.index()];
    }
    let mut next = vec![0u32; tree.len()];
    let mut order = vec![StackId::ROOT; tree.len() - 1];
    for stack in tree.ids() {
        let parent = tree.parent(stack).index();
        let place = next[parent];
        next[parent] += sizes[stack.index()];
        next[stack.index()] = place + 1;
        order[place as usize] = stack;
    }
    order
}
