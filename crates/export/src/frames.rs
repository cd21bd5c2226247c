//! The frames of stacks: the labels, and one that stands for an empty stack.

use bactrian_analysis::{Column, Label, LabelId, Labels, Profile, StackId, StackTree};

/// Shown for objects whose stack is unknown or completely hidden.
const NO_STACK: &str = "[no stack]";
/// Shown for a frame whose name is empty.
const NO_NAME: &str = "[no name]";

/// All frames of a profile, numbered from 0.
#[derive(Debug)]
pub struct Frames<'a> {
    tree: &'a StackTree,
    labels: &'a Labels,
    /// Present only if some object has no stack.
    no_stack: Option<Label>,
}

impl<'a> Frames<'a> {
    /// The frames of a profile.
    pub fn new(profile: &'a Profile) -> Frames<'a> {
        let unplaced = |column: &Column| !column.own(StackId::ROOT).is_zero();
        let no_stack = profile.columns.iter().any(unplaced);
        let no_stack = no_stack.then(|| Label { name: NO_STACK.to_owned(), ..Label::default() });
        Frames { tree: &profile.tree, labels: &profile.labels, no_stack }
    }

    /// Whether some object has no stack.
    pub fn has_no_stack(&self) -> bool {
        self.no_stack.is_some()
    }

    /// All frames, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter().map(|(_, label)| label).chain(&self.no_stack)
    }

    /// The number of a stack's innermost frame.
    pub fn innermost(&self, stack: StackId) -> usize {
        if stack == StackId::ROOT { self.labels.len() } else { self.tree.label(stack).index() }
    }

    /// The numbers of all frames of a stack, innermost first.
    pub fn labels_innermost_first(&self, stack: StackId) -> impl Iterator<Item = usize> {
        let none = (stack == StackId::ROOT).then_some(self.labels.len());
        self.tree.labels_innermost_first(stack).map(LabelId::index).chain(none)
    }
}

/// The name of a frame, never empty.
pub fn name(label: &Label) -> &str {
    if label.name.is_empty() { NO_NAME } else { &label.name }
}

/// The first column of a frame, counted from 1 as other tools do; OCaml counts from 0.
pub fn column(label: &Label) -> Option<u32> {
    label.columns.map(|(start, _)| u32::from(start) + 1)
}
