//! The path from the outermost call to a stack.
//!
//! Stacks are visited in the order in which they first appeared, so one often continues another. The path moves
//! from stack to stack and touches only what differs, which makes most moves short.

use bactrian_analysis::{StackId, StackTree};

/// All stacks of a tree, the empty one first, parents before children.
pub fn every_stack(tree: &StackTree) -> impl Iterator<Item = StackId> + use<> {
    std::iter::once(StackId::ROOT).chain(tree.ids())
}

/// A path that leads to one stack at a time.
#[derive(Debug)]
pub struct Path<'a> {
    tree: &'a StackTree,
    stacks: Vec<StackId>,
    /// For each stack, its index in `stacks` when it was last there. Valid only if it is still there, so
    /// nothing has to be undone when the path moves on.
    places: Vec<u32>,
    /// The stacks added by a move, innermost first.
    added: Vec<StackId>,
}

impl<'a> Path<'a> {
    /// A path that leads nowhere yet.
    pub fn new(tree: &'a StackTree) -> Path<'a> {
        Path { tree, stacks: Vec::new(), places: vec![0; tree.len()], added: Vec::new() }
    }

    /// Moves to `stack` and returns how many of the outermost stacks stayed unchanged.
    pub fn go_to(&mut self, stack: StackId) -> usize {
        let mut at = stack;
        while at != StackId::ROOT && !self.holds(at) {
            self.added.push(at);
            at = self.tree.parent(at);
        }
        let kept = if at == StackId::ROOT { 0 } else { self.place(at) + 1 };
        self.stacks.truncate(kept);
        while let Some(next) = self.added.pop() {
            self.places[next.index()] = self.stacks.len() as u32;
            self.stacks.push(next);
        }
        if stack == StackId::ROOT {
            self.stacks.push(stack);
        }
        kept
    }

    /// The stacks on the path, outermost first, the current one last. For the empty stack only itself: formats
    /// have no empty stacks and show a frame in its place.
    pub fn stacks(&self) -> &[StackId] {
        &self.stacks
    }

    fn place(&self, stack: StackId) -> usize {
        self.places[stack.index()] as usize
    }

    fn holds(&self, stack: StackId) -> bool {
        self.stacks.get(self.place(stack)) == Some(&stack)
    }
}

/// The text of a path: the names of its frames, outermost first, separated by `;`.
#[derive(Debug)]
pub struct PathText<'a> {
    path: Path<'a>,
    text: String,
    /// Where the text of each frame ends.
    ends: Vec<usize>,
}

impl<'a> PathText<'a> {
    /// The text of a path that leads nowhere yet.
    pub fn new(tree: &'a StackTree) -> PathText<'a> {
        PathText { path: Path::new(tree), text: String::new(), ends: Vec::new() }
    }

    /// Moves to `stack` and returns its text. `name` returns the name of a stack's innermost frame.
    pub fn of<'n>(&mut self, stack: StackId, name: impl Fn(StackId) -> &'n str) -> &str {
        let kept = self.path.go_to(stack);
        self.ends.truncate(kept);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        for &inner in &self.path.stacks()[kept..] {
            if !self.ends.is_empty() {
                self.text.push(';');
            }
            self.text.push_str(name(inner));
            self.ends.push(self.text.len());
        }
        &self.text
    }
}
