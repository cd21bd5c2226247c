//! Who calls whom: a profile as a tree, from the outermost frames in or from the allocations out,
//! around a function or for the whole program, without what is too small to matter.

use serde::Serialize;

use crate::estimate::{Estimate, Tally};
use crate::filter::Pattern;
use crate::labels::{Label, LabelId};
use crate::profile::Profile;
use crate::stack_tree::{StackId, StackTree};

/// Which way the tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From callers to what they call.
    Callees,
    /// From what allocates, or from a function, to its callers.
    Callers,
}

/// What tree to grow.
#[derive(Clone, Debug)]
pub struct TreeQuestion {
    /// Which way.
    pub direction: Direction,
    /// Around these functions; the whole program if none.
    pub focus: Option<Pattern>,
    /// Branches with a smaller share of everything are left out.
    pub min_share: f64,
    /// Deeper branches are left out.
    pub max_levels: usize,
}

/// No tree is deeper, so that following one by recursion is safe.
const MAX_LEVELS: usize = 400;

/// A node of the tree with what hangs on it.
#[derive(Clone, Debug, Serialize)]
pub struct Branch {
    /// Function or site.
    #[serde(flatten)]
    pub label: Label,
    /// What ends here: allocated by this function itself, or by what the callers tree started from.
    #[serde(rename = "self")]
    pub own: Estimate,
    /// What goes through here.
    pub total: Estimate,
    /// Share of everything.
    pub share: f64,
    /// The larger ones first.
    pub children: Vec<Branch>,
    /// Children that were too small or too deep.
    pub left_out: usize,
}

/// A tree of calls.
#[derive(Clone, Debug, Serialize)]
pub struct CallTree {
    /// Everything that was measured.
    pub all: Estimate,
    /// The share of it that goes through the tree.
    pub share: f64,
    /// The outermost branches.
    pub branches: Vec<Branch>,
    /// Outermost branches that were too small.
    pub left_out: usize,
}

/// Grows the tree from the first measure of a profile.
pub fn call_tree(profile: &Profile, question: &TreeQuestion) -> CallTree {
    let levels = question.max_levels.clamp(1, MAX_LEVELS);
    let focus: Option<Vec<bool>> = question.focus.as_ref().map(|pattern| {
        profile.labels.iter().map(|(_, label)| pattern.matches(&label.name)).collect()
    });
    let in_focus = |label: LabelId| focus.as_ref().is_some_and(|focus| focus[label.index()]);
    let grown = match (question.direction, &focus) {
        (Direction::Callees, None) => None,
        (Direction::Callees, Some(_)) => Some(callees_of(profile, in_focus)),
        (Direction::Callers, None) => Some(callers_of_allocations(profile, levels)),
        (Direction::Callers, Some(_)) => Some(callers_of(profile, in_focus, levels)),
    };
    let column = profile.first();
    let all = column.total();
    let (tree, own) = match &grown {
        None => (&profile.tree, None),
        Some(grown) => (&grown.tree, Some(&grown.own)),
    };
    let own_of = |stack: StackId| match own {
        None => column.own(stack),
        Some(own) => own.get(stack.index()).copied().unwrap_or_default(),
    };
    let mut totals: Vec<_> = std::iter::once(StackId::ROOT).chain(tree.ids()).map(own_of).collect();
    for stack in tree.ids().rev() {
        let here = totals[stack.index()];
        let parent = &mut totals[tree.parent(stack).index()];
        *parent = *parent + here;
    }
    let kept = keep(tree, &totals, all.sum() * question.min_share, levels);
    let branch = |node: &Kept, children: Vec<Branch>| Branch {
        label: profile.labels.get(tree.label(node.stack)).clone(),
        own: column.estimate(own_of(node.stack)),
        total: column.estimate(totals[node.stack.index()]),
        share: totals[node.stack.index()].sum() / all.sum(),
        children,
        left_out: node.left_out,
    };
    let branches = branches(&kept, &kept[0], &branch);
    let left_out = kept[0].left_out;
    let share = if all.is_zero() { 0.0 } else { totals[0].sum() / all.sum() };
    CallTree { all: column.estimate(all), share, branches, left_out }
}

/// A tree made from a profile's tree, with what ends at each of its nodes.
#[derive(Default)]
struct Grown {
    tree: StackTree,
    own: Vec<Tally>,
}

impl Grown {
    fn add(&mut self, at: StackId, tally: Tally) {
        if at.index() >= self.own.len() {
            self.own.resize(at.index() + 1, Tally::default());
        }
        self.own[at.index()] = self.own[at.index()] + tally;
    }
}

/// All that is called from the outermost calls of functions in focus.
fn callees_of(profile: &Profile, in_focus: impl Fn(LabelId) -> bool) -> Grown {
    let (tree, column) = (&profile.tree, profile.first());
    let mut grown = Grown::default();
    // Where each stack of the profile went, if it has a function in focus.
    let mut places: Vec<Option<StackId>> = vec![None; tree.len()];
    for stack in tree.ids() {
        let label = tree.label(stack);
        let place = match places[tree.parent(stack).index()] {
            Some(outer) => grown.tree.child(outer, label),
            None if in_focus(label) => grown.tree.child(StackId::ROOT, label),
            None => continue,
        };
        places[stack.index()] = Some(place);
        grown.add(place, column.own(stack));
    }
    grown
}

/// The callers of the outermost calls of functions in focus.
fn callers_of(profile: &Profile, in_focus: impl Fn(LabelId) -> bool, levels: usize) -> Grown {
    let (tree, column) = (&profile.tree, profile.first());
    let totals = column.totals(tree);
    let mut inside = vec![false; tree.len()];
    let mut grown = Grown::default();
    for stack in tree.ids() {
        let outer = inside[tree.parent(stack).index()];
        let here = in_focus(tree.label(stack));
        inside[stack.index()] = outer || here;
        if here && !outer {
            grow_outwards(&mut grown, tree, stack, levels, totals[stack.index()]);
        }
    }
    grown
}

/// The callers of everything that allocates.
fn callers_of_allocations(profile: &Profile, levels: usize) -> Grown {
    let (tree, column) = (&profile.tree, profile.first());
    let mut grown = Grown::default();
    for stack in tree.ids() {
        let own = column.own(stack);
        if !own.is_zero() {
            grow_outwards(&mut grown, tree, stack, levels, own);
        }
    }
    grown
}

fn grow_outwards(grown: &mut Grown, tree: &StackTree, stack: StackId, levels: usize, tally: Tally) {
    let outwards = tree.inwards_out(stack).take(levels);
    let end = outwards.fold(StackId::ROOT, |at, label| grown.tree.child(at, label));
    grown.add(end, tally);
}

/// A node that is large enough to stay.
struct Kept {
    stack: StackId,
    /// Places of its children that stay.
    children: Vec<usize>,
    /// How many do not.
    left_out: usize,
}

impl Kept {
    fn new(stack: StackId) -> Kept {
        Kept { stack, children: Vec::new(), left_out: 0 }
    }
}

/// What stays of a tree when branches below `least` and past `levels` are cut; the root comes first.
fn keep(tree: &StackTree, totals: &[Tally], least: f64, levels: usize) -> Vec<Kept> {
    let mut kept = vec![Kept::new(StackId::ROOT)];
    // Place and level of each node that stays.
    let mut places: Vec<Option<(u32, u32)>> = vec![None; tree.len()];
    places[0] = Some((0, 0));
    for stack in tree.ids() {
        let total = totals[stack.index()].sum();
        let Some((parent, level)) = places[tree.parent(stack).index()] else { continue };
        let place = kept.len();
        let parent = &mut kept[parent as usize];
        if total <= 0.0 {
            continue;
        }
        if total < least || level as usize >= levels {
            parent.left_out += 1;
            continue;
        }
        parent.children.push(place);
        places[stack.index()] = Some((place as u32, level + 1));
        kept.push(Kept::new(stack));
    }
    kept
}

fn branches(
    kept: &[Kept],
    of: &Kept,
    branch: &impl Fn(&Kept, Vec<Branch>) -> Branch,
) -> Vec<Branch> {
    let children = of.children.iter().map(|&place| &kept[place]);
    let mut out: Vec<_> =
        children.map(|child| branch(child, branches(kept, child, branch))).collect();
    out.sort_by(|a, b| b.total.value.total_cmp(&a.total.value));
    out
}
