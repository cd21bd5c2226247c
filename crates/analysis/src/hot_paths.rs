//! The distinct stacks that allocate most by themselves.

use serde::Serialize;

use crate::estimate::Estimate;
use crate::flame::FlameLabel;
use crate::measure::Measure;
use crate::profile::Profile;

/// Frames that are told of a stack; outer ones are left out.
const MAX_FRAMES: usize = 200;

/// A stack and what it allocates.
#[derive(Clone, Debug, Serialize)]
pub struct HotPath {
    /// Innermost first.
    pub frames: Vec<FlameLabel>,
    /// Outer frames that are not told.
    pub left_out: usize,
    /// What it allocates itself.
    pub own: Estimate,
    /// Its share of everything.
    pub share: f64,
}

/// Stacks, those that allocate most first.
#[derive(Clone, Debug, Serialize)]
pub struct HotPaths {
    /// What was measured.
    pub measure: Measure,
    /// Everything together.
    pub all: Estimate,
    /// How many stacks allocate anything.
    pub row_count: usize,
    /// The first of them.
    pub rows: Vec<HotPath>,
}

/// The stacks that allocate most of the first measure.
pub fn hot_paths(profile: &Profile, most: usize) -> HotPaths {
    let (tree, column) = (&profile.tree, profile.first());
    let all = column.total();
    let mut stacks: Vec<_> = tree
        .ids()
        .map(|stack| (stack, column.own(stack)))
        .filter(|(_, own)| !own.is_zero())
        .collect();
    let row_count = stacks.len();
    let larger_first =
        |a: &(_, crate::Tally), b: &(_, crate::Tally)| b.1.sum().total_cmp(&a.1.sum());
    if most < stacks.len() && most > 0 {
        stacks.select_nth_unstable_by(most - 1, |a, b| larger_first(a, b).then(a.0.cmp(&b.0)));
    }
    stacks.truncate(most);
    stacks.sort_by(|a, b| larger_first(a, b).then(a.0.cmp(&b.0)));
    let rows = stacks.into_iter().map(|(stack, own)| {
        let mut labels = tree.inwards_out(stack).map(|id| profile.labels.get(id));
        let by = profile.labels.by();
        let frames =
            labels.by_ref().take(MAX_FRAMES).map(|label| FlameLabel::new(label, by)).collect();
        HotPath {
            frames,
            left_out: labels.count(),
            own: column.estimate(own),
            share: own.sum() / all.sum(),
        }
    });
    HotPaths { measure: column.measure, all: column.estimate(all), row_count, rows: rows.collect() }
}
