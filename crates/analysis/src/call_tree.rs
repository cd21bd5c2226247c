//! Call trees: a profile as a tree, from the outermost frames to their callees or from the allocations to
//! their callers, around a function or for the whole program, without branches that are too small to matter.
//!
//! Callees form a subtree of the profile's own tree, from which the large branches are picked. The tree of
//! callers would have a node for nearly every frame of every stack, most of them far too small to be shown,
//! so it is never built. Instead, a cursor moves outwards along each stack, all of them step by step. Cursors
//! that took the same path form a branch, and when a branch becomes too small its cursors stop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Tally};
use crate::filter::{Filter, Pattern};
use crate::labels::{Label, LabelId};
use crate::measure::Measure;
use crate::profile::Profile;
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Text};
use crate::sorted_rows::SortRows;
use crate::stack_tree::{StackId, StackTree};
use crate::stacks_options::StacksOptions;

/// Which way the tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From callers to what they call.
    Callees,
    /// From what allocates, or from a function, to its callers.
    Callers,
}

/// Call tree of what is allocated or kept.
///
/// From the outermost calls inwards, or with --callers from the allocations outwards; only around FUNCTION if one is named.
/// Branches below --min-share of the total are left out. A chain of calls without branches is not indented.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct TreeQuestion {
    /// The trace
    pub file: FileNumber,
    /// Only calls through this function: a name, or /REGEX/
    #[schemars(extend("x-operand" = true))]
    pub focus: Option<Text<Pattern>>,
    /// Grow from callees to their callers
    pub callers: bool,
    /// Leave out branches below this share of the total, in percent
    #[schemars(range(min = 0, max = 100), extend("x-value" = "PERCENT"))]
    pub min_share: f64,
    /// Leave out deeper levels than this
    #[schemars(extend("x-value" = "N"))]
    pub levels: usize,
    /// Which call stacks
    #[serde(flatten)]
    pub stacks: StacksOptions,
}

impl Default for TreeQuestion {
    fn default() -> TreeQuestion {
        TreeQuestion {
            file: FileNumber::default(),
            focus: None,
            callers: false,
            min_share: 1.0,
            levels: 100,
            stacks: StacksOptions::default(),
        }
    }
}

/// Call tree of what is allocated or kept.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeAnswer {
    /// What was measured.
    pub measure: Measure,
    /// Which way the tree grows.
    pub direction: Direction,
    /// The functions that the tree goes through, if only some.
    pub focus: Option<Pattern>,
    /// The objects that are counted.
    pub filter: Filter,
    /// The tree.
    pub tree: CallTree,
}

impl Question for TreeQuestion {
    const NAME: &'static str = "trace/tree";
    const COMMAND: Option<&'static str> = Some("tree");
    type Answer = TreeAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<TreeAnswer>, QuestionError> {
        let (_, measured) = self.stacks.of(evidence, self.file)?;
        let shape = TreeShape {
            direction: if self.callers { Direction::Callers } else { Direction::Callees },
            focus: self.focus.as_ref().map(|focus| focus.0.clone()),
            min_share: self.min_share / 100.0,
            max_levels: self.levels,
        };
        let answer = TreeAnswer {
            measure: measured.profile.first().measure,
            direction: shape.direction,
            tree: call_tree(&measured.profile, &shape),
            focus: shape.focus,
            filter: measured.filter,
        };
        Ok(Answer::new(answer, [measured.profile.losses.into()]).with_notes(measured.notes))
    }
}

/// The shape of the requested tree.
#[derive(Clone, Debug)]
pub struct TreeShape {
    /// Callees or callers.
    pub direction: Direction,
    /// The functions at the root; None for the whole program.
    pub focus: Option<Pattern>,
    /// Branches with a smaller share of the total are omitted.
    pub min_share: f64,
    /// Deeper branches are omitted.
    pub max_levels: usize,
}

/// The greatest depth of any tree, so that recursion over it is safe.
const MAX_LEVELS: usize = 400;

/// A node of the call tree, with its subtree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Branch {
    /// Function or site.
    #[serde(flatten)]
    pub label: Label,
    /// What ends here: allocated by this function itself, or by what the tree of callers starts from.
    #[serde(rename = "self")]
    pub own: Estimate,
    /// What this function allocates itself and in calls.
    pub total: Estimate,
    /// Share of the total.
    pub share: f64,
    /// The largest first.
    pub children: Vec<Branch>,
    /// Number of children left out because they are too small or too deep.
    pub left_out: usize,
}

/// A call tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallTree {
    /// The total.
    pub all: Estimate,
    /// The share of the total that goes through the tree.
    pub share: f64,
    /// The outermost branches.
    pub branches: Vec<Branch>,
    /// Number of outermost branches left out because they are too small.
    pub left_out: usize,
}

/// Builds the tree for the first measure of a profile.
pub fn call_tree(profile: &Profile, question: &TreeShape) -> CallTree {
    let focus: Option<Vec<bool>> = question.focus.as_ref().map(|pattern| {
        profile.labels.iter().map(|(_, label)| pattern.matches(&label.name)).collect()
    });
    let column = profile.first();
    let all = column.total();
    let growth = Growth {
        profile,
        all: all.sum(),
        least: all.sum() * question.min_share,
        levels: question.max_levels.clamp(1, MAX_LEVELS),
    };
    let (through, outermost) = match question.direction {
        Direction::Callees => growth.callees(focus.as_deref()),
        Direction::Callers => growth.callers(focus.as_deref()),
    };
    let share = if all.is_zero() { 0.0 } else { through.sum() / all.sum() };
    let Branches { branches, left_out } = outermost;
    CallTree { all: column.estimate(all), share, branches, left_out }
}

/// The input of a tree, and its limits.
struct Growth<'a> {
    profile: &'a Profile,
    /// The total of the measure.
    all: f64,
    /// Smaller branches are omitted.
    least: f64,
    /// Deeper branches are omitted.
    levels: usize,
}

/// The branches below a node.
struct Branches {
    /// The largest first; equal ones in the order of the trace.
    branches: Vec<Branch>,
    left_out: usize,
}

/// The tally of a node itself, and the total that includes its descendants.
#[derive(Clone, Copy, Default)]
struct Sums {
    own: Tally,
    total: Tally,
}

impl Growth<'_> {
    /// Whether a branch is large enough and not too deep; the outermost branches are at level 0.
    fn stays(&self, total: Tally, level: usize) -> bool {
        total.sum() >= self.least && level < self.levels
    }

    fn branch(&self, label: LabelId, sums: Sums, inner: Branches) -> Branch {
        let column = self.profile.first();
        Branch {
            label: self.profile.labels.get(label).clone(),
            own: column.estimate(sums.own),
            total: column.estimate(sums.total),
            share: sums.total.sum() / self.all,
            children: inner.branches,
            left_out: inner.left_out,
        }
    }
}

/// A node of a callee tree that is kept.
struct Kept {
    stack: StackId,
    /// Indices of its kept children.
    children: Vec<usize>,
    /// The number of omitted children.
    left_out: usize,
}

impl Kept {
    fn new(stack: StackId) -> Kept {
        Kept { stack, children: Vec::new(), left_out: 0 }
    }
}

impl Growth<'_> {
    /// The callees, with their total: from the functions in focus, or from the outermost frames.
    fn callees(&self, focus: Option<&[bool]>) -> (Tally, Branches) {
        let (tree, column) = (&self.profile.tree, self.profile.first());
        let totals = column.totals(tree);
        let sums = |stack: StackId| Sums { own: column.own(stack), total: totals[stack.index()] };
        match focus {
            None => self.callees_in(tree, &sums),
            Some(focus) => {
                let (tree, sums) = callees_of(tree, focus, sums);
                self.callees_in(&tree, &|stack| sums[stack.index()])
            }
        }
    }

    fn callees_in(&self, tree: &StackTree, sums: &impl Fn(StackId) -> Sums) -> (Tally, Branches) {
        let kept = self.keep(tree, sums);
        (sums(StackId::ROOT).total, self.kept_branches(tree, sums, &kept, &kept[0]))
    }

    /// The nodes of a tree that are kept, the root first.
    fn keep(&self, tree: &StackTree, sums: &impl Fn(StackId) -> Sums) -> Vec<Kept> {
        let mut kept = vec![Kept::new(StackId::ROOT)];
        // For each kept node its index, and the level of its children.
        let mut places: Vec<Option<(u32, u32)>> = vec![None; tree.len()];
        places[0] = Some((0, 0));
        for stack in tree.ids() {
            let Some((parent, level)) = places[tree.parent(stack).index()] else { continue };
            let place = kept.len();
            let parent = &mut kept[parent as usize];
            let total = sums(stack).total;
            if total.is_zero() {
                continue;
            }
            if !self.stays(total, level as usize) {
                parent.left_out += 1;
                continue;
            }
            parent.children.push(place);
            places[stack.index()] = Some((place as u32, level + 1));
            kept.push(Kept::new(stack));
        }
        kept
    }

    fn kept_branches(
        &self,
        tree: &StackTree,
        sums: &impl Fn(StackId) -> Sums,
        kept: &[Kept],
        of: &Kept,
    ) -> Branches {
        let mut branches = Vec::with_capacity(of.children.len());
        for child in of.children.iter().map(|&place| &kept[place]) {
            let inner = self.kept_branches(tree, sums, kept, child);
            branches.push(self.branch(tree.label(child.stack), sums(child.stack), inner));
        }
        branches.sort_rows_by(|a, b| {
            let by_size = b.total.value.total_cmp(&a.total.value);
            by_size.then_with(|| a.label.cmp(&b.label))
        });
        Branches { branches, left_out: of.left_out }
    }
}

/// The tree of everything called from the outermost calls of functions in focus, with its sums.
fn callees_of(
    tree: &StackTree,
    focus: &[bool],
    sums: impl Fn(StackId) -> Sums,
) -> (StackTree, Vec<Sums>) {
    let mut grown = StackTree::default();
    let mut grown_sums = vec![Sums::default()];
    // The node for each stack of the profile, if the stack contains a function in focus.
    let mut places: Vec<Option<StackId>> = vec![None; tree.len()];
    for stack in tree.ids() {
        let (label, here) = (tree.label(stack), sums(stack));
        let place = match places[tree.parent(stack).index()] {
            Some(outer) => grown.child(outer, label),
            None if focus[label.index()] => {
                grown_sums[0].total = grown_sums[0].total + here.total;
                grown.child(StackId::ROOT, label)
            }
            None => continue,
        };
        places[stack.index()] = Some(place);
        grown_sums.resize(grown.len(), Sums::default());
        // All continuations of a stack go to continuations of its node, so totals add up.
        let sums = &mut grown_sums[place.index()];
        *sums = Sums { own: sums.own + here.own, total: sums.total + here.total };
    }
    (grown, grown_sums)
}

/// A stack that is followed outwards.
#[derive(Clone, Copy)]
struct Cursor {
    /// The stack where it started, which determines its tally.
    start: StackId,
    /// The present position.
    at: StackId,
    /// The label at this position.
    label: LabelId,
}

impl Growth<'_> {
    /// The callers, with their total: of everything that allocates, or of the functions in focus.
    fn callers(&self, focus: Option<&[bool]>) -> (Tally, Branches) {
        let (tree, column) = (&self.profile.tree, self.profile.first());
        match focus {
            None => self.callers_of(tree.ids(), |stack| column.own(stack)),
            Some(focus) => {
                let totals = column.totals(tree);
                self.callers_of(outermost(tree, focus), |stack| totals[stack.index()])
            }
        }
    }

    fn callers_of(
        &self,
        starts: impl Iterator<Item = StackId>,
        tally: impl Fn(StackId) -> Tally,
    ) -> (Tally, Branches) {
        let tree = &self.profile.tree;
        let starts = starts.filter(|&start| !tally(start).is_zero());
        let cursor = |start| Cursor { start, at: start, label: tree.label(start) };
        let mut cursors: Vec<_> = starts.map(cursor).collect();
        (sum(&cursors, &tally), self.outwards(&mut cursors, 0, &tally))
    }

    /// The branches formed by these cursors, which took the same path so far. Reorders the cursors.
    ///
    /// Recursive, once per level, so at most [`MAX_LEVELS`] deep.
    fn outwards(
        &self,
        cursors: &mut [Cursor],
        level: usize,
        tally: &impl Fn(StackId) -> Tally,
    ) -> Branches {
        // Also in the order of the trace within a label, so that floating-point sums do not depend on the
        // path.
        cursors.sort_unstable_by_key(|cursor| (cursor.label, cursor.start));
        let mut left_out = 0;
        let mut large = Vec::new();
        for group in cursors.chunk_by_mut(|a, b| a.label == b.label) {
            match sum(group, tally) {
                total if self.stays(total, level) => large.push((total, group)),
                _ => left_out += 1,
            }
        }
        large.sort_unstable_by(|(a, ones), (b, others)| {
            let label = |group: &[Cursor]| self.profile.labels.get(group[0].label);
            b.sum().total_cmp(&a.sum()).then_with(|| label(ones).cmp(label(others)))
        });
        let mut branches = Vec::with_capacity(large.len());
        for (total, group) in large {
            let label = group[0].label;
            let (own, callers) = self.step(group, tally);
            let inner = self.outwards(callers, level + 1, tally);
            branches.push(self.branch(label, Sums { own, total }, inner));
        }
        Branches { branches, left_out }
    }

    /// Moves cursors to their callers. Returns the tally of those without a caller, and the remaining
    /// cursors.
    fn step<'c>(
        &self,
        cursors: &'c mut [Cursor],
        tally: &impl Fn(StackId) -> Tally,
    ) -> (Tally, &'c mut [Cursor]) {
        let tree = &self.profile.tree;
        let mut ended = Tally::default();
        let mut moved = 0;
        for place in 0..cursors.len() {
            let Cursor { start, at, .. } = cursors[place];
            match tree.parent(at) {
                StackId::ROOT => ended = ended + tally(start),
                at => {
                    cursors[moved] = Cursor { start, at, label: tree.label(at) };
                    moved += 1;
                }
            }
        }
        (ended, &mut cursors[..moved])
    }
}

/// The outermost calls of functions in focus.
fn outermost(tree: &StackTree, focus: &[bool]) -> impl Iterator<Item = StackId> {
    let mut inside = vec![false; tree.len()];
    tree.ids().filter(move |&stack| {
        let outer = inside[tree.parent(stack).index()];
        let here = focus[tree.label(stack).index()];
        inside[stack.index()] = outer || here;
        here && !outer
    })
}

fn sum(cursors: &[Cursor], tally: &impl Fn(StackId) -> Tally) -> Tally {
    cursors.iter().fold(Tally::default(), |sum, cursor| sum + tally(cursor.start))
}
