//! The stacks of a trace under their labels: at one detail, with some functions hidden.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use bactrian_trace::FrameId;

use super::origins::{FrameTree, Origins};
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
                tree.inwards(outer, self.labels_of(frame), recursion)
            });
            let places = origins.allocating.iter().map(|&stack| places[stack as usize]).collect();
            Relabelled { tree: Arc::new(tree), places }
        })
    }

    /// Whether all stacks found room in a tree of their labels. If not, only passes say what is where.
    pub fn is_whole(&self, origins: &Origins, recursion: Recursion) -> bool {
        self.tree(origins, recursion).tree.cut() == 0
    }

    /// The labels of a frame, the outermost first; none if it is hidden.
    fn labels_of(&self, frame: FrameId) -> &[LabelId] {
        self.spans[frame.index()].map(|span| self.labels.in_span(span)).unwrap_or_default()
    }

    /// The label of what each stack allocates: the innermost that is not hidden.
    pub fn innermost(&self, origins: &Origins) -> Vec<Option<LabelId>> {
        let innermost = origins
            .tree
            .inwards(None, |outer, frame| self.labels_of(frame).last().copied().or(outer));
        origins.allocating.iter().map(|&stack| innermost[stack as usize]).collect()
    }

    /// Self and total of each label, from what each stack allocates itself.
    pub fn by_label(&self, origins: &Origins, own: &[Tally]) -> OfLabels {
        let mut walk = Walk::new(self, origins);
        let sums = origins.allocating.iter().zip(own).filter(|(_, own)| !own.is_zero());
        for (&stack, own) in sums {
            walk.go_to(stack);
            walk.add(*own);
        }
        walk.finish()
    }
}

/// A walk along stacks that allocate something, in the order of their tree: each caller is entered once, and what is allocated in
/// it is known when it is left. A label's total is what is allocated in its outermost frames.
struct Walk<'a> {
    labelling: &'a Labelling,
    tree: &'a FrameTree,
    /// From the empty stack inwards.
    path: Vec<Entered>,
    entering: Vec<u32>,
    /// How often each label is on the path.
    times: Vec<u32>,
    sums: OfLabels,
}

struct Entered {
    stack: u32,
    innermost: Option<LabelId>,
    /// What is allocated in it, so far.
    total: Tally,
}

impl<'a> Walk<'a> {
    fn new(labelling: &'a Labelling, origins: &'a Origins) -> Walk<'a> {
        let labels = labelling.labels.len();
        let of_labels = vec![(Tally::default(), Tally::default()); labels];
        Walk {
            labelling,
            tree: &origins.tree,
            path: vec![Entered { stack: 0, innermost: None, total: Tally::default() }],
            entering: Vec::new(),
            times: vec![0; labels],
            sums: OfLabels { of_labels, ..OfLabels::default() },
        }
    }

    /// Leaves what does not lead there and enters what does. Callers have smaller numbers than what they call.
    fn go_to(&mut self, stack: u32) {
        let mut outer = stack;
        while let Some(last) = self.path.last() {
            match outer.cmp(&last.stack) {
                Ordering::Greater => {
                    self.entering.push(outer);
                    outer = self.tree.parents[outer as usize];
                }
                Ordering::Equal => break,
                Ordering::Less => self.leave(),
            }
        }
        while let Some(stack) = self.entering.pop() {
            let labels = self.labelling.labels_of(self.tree.frames[stack as usize]);
            labels.iter().for_each(|label| self.times[label.index()] += 1);
            let outer = self.path.last().and_then(|outer| outer.innermost);
            let innermost = labels.last().copied().or(outer);
            self.path.push(Entered { stack, innermost, total: Tally::default() });
        }
    }

    /// What the stack that it has come to allocates itself.
    fn add(&mut self, own: Tally) {
        let Some(here) = self.path.last_mut() else { return };
        here.total = here.total + own;
        let sum = match here.innermost {
            Some(label) => &mut self.sums.of_labels[label.index()].0,
            None => &mut self.sums.no_stack,
        };
        *sum = *sum + own;
    }

    fn leave(&mut self) {
        let Some(Entered { stack, total, .. }) = self.path.pop() else { return };
        for label in self.labelling.labels_of(self.tree.frames[stack as usize]) {
            let times = &mut self.times[label.index()];
            *times -= 1;
            if *times == 0 {
                let sum = &mut self.sums.of_labels[label.index()].1;
                *sum = *sum + total;
            }
        }
        if let Some(outer) = self.path.last_mut() {
            outer.total = outer.total + total;
        }
    }

    fn finish(mut self) -> OfLabels {
        while self.path.len() > 1 {
            self.leave();
        }
        // The empty stack has no frame.
        self.sums.all = self.path.first().map_or(Tally::default(), |all| all.total);
        self.sums
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
