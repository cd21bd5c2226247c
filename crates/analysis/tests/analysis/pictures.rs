//! Compares flame graphs and hot paths with the profiles that they show.

use std::collections::HashMap;

use bactrian_analysis::question::Rows;
use bactrian_analysis::{
    By, Filter, Flame, Label, Measure, Of, Profile, Recursion, StackId, Unit, around, hot_paths,
};
use proptest::prelude::*;

use crate::programs::{filters, functions, traces};

fn profile_of(trace: &bactrian_analysis::TraceFile, filter: &Filter, unit: Unit) -> Profile {
    let measure = Measure { unit, of: Of::Allocated };
    Profile::with(trace, filter, By::Function, Recursion::Fold, &[measure])
}

/// Self and total of each path of labels, outermost first.
fn paths(profile: &Profile) -> HashMap<Vec<Label>, (f64, f64)> {
    let column = profile.first();
    let totals = column.totals(&profile.tree);
    let path = |stack: StackId| {
        let labels =
            profile.tree.labels_innermost_first(stack).map(|id| profile.labels.get(id).clone());
        let mut path: Vec<_> = labels.collect();
        path.reverse();
        path
    };
    let stacks = profile.tree.ids().chain([StackId::ROOT]);
    let value = |tally| column.estimate(tally).value;
    let sums =
        stacks.map(|stack| (path(stack), (value(column.own(stack)), value(totals[stack.index()]))));
    sums.filter(|(path, (_, total))| *total > 0.0 || path.is_empty()).collect()
}

/// The path of labels to each frame.
fn frames(flame: &Flame) -> Vec<Vec<Label>> {
    let mut frames: Vec<Vec<Label>> = vec![Vec::new()];
    for at in 1..flame.parent.len() {
        let mut path = frames[flame.parent[at] as usize].clone();
        path.push(flame.labels[flame.label[at] as usize].label.clone());
        frames.push(path);
    }
    frames
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

fn is_well_formed(flame: &Flame) -> bool {
    let len = flame.parent.len();
    let lists =
        [flame.label.len(), flame.total.len(), flame.own.len(), flame.id.len(), flame.more.len()];
    let callers_first = (1..len).all(|at| (flame.parent[at] as usize) < at);
    // Of two siblings, the first is not smaller.
    let mut last: HashMap<u32, f64> = HashMap::new();
    let larger_first = (1..len).all(|at| {
        let before = last.insert(flame.parent[at], flame.total[at]);
        before.is_none_or(|before| before >= flame.total[at])
    });
    lists.iter().all(|&list| list == len) && callers_first && larger_first
}

proptest! {
    #[test]
    fn a_flame_graph_has_every_stack_that_is_large_enough(
        trace in traces(),
        filter in filters(),
        unit in prop::sample::select(vec![Unit::Bytes, Unit::Objects]),
        min_share in prop_oneof![Just(0.0), 0.0..0.5],
        at in 0..5usize,
    ) {
        let profile = profile_of(&trace, &filter, unit);
        let Some(flame) = Flame::new(&profile, at, min_share) else {
            prop_assert!(at >= profile.tree.len());
            return Ok(());
        };
        prop_assert!(is_well_formed(&flame), "{:?}", flame);
        let expected = paths(&profile);
        let prefix: Vec<_> = flame.path.iter().skip(1).map(|step| step.label.clone()).collect();
        let least = flame.total[0] * min_share;
        let mut met = 0;
        for (place, path) in frames(&flame).into_iter().enumerate() {
            let outer = expected.keys().find(|known| {
                let path = path.iter().map(|label| label.written().into_owned());
                known.iter().map(|label| label.written()).eq(prefix.iter().cloned().chain(path))
            });
            let (own, total) = outer.map_or((0.0, 0.0), |outer| expected[outer]);
            prop_assert!(near(flame.own[place], own) && near(flame.total[place], total));
            prop_assert!(place == 0 || total >= least * (1.0 - 1e-9));
            met += 1;
        }
        if at == 0 {
            let large = expected.iter().filter(|(path, (_, total))| path.is_empty() || *total >= least);
            // At the threshold, rounding may decide either way.
            let sure = expected.iter().filter(|(_, (_, total))| *total > least * (1.0 + 1e-9));
            prop_assert!(met <= large.count().max(1) && met + 1 >= sure.count());
            if min_share == 0.0 {
                prop_assert!(flame.more.iter().all(|&more| more == 0));
            }
        }
    }

    #[test]
    fn compared_flame_graphs_have_both(before in traces(), after in traces(), filter in filters()) {
        let (before, after) =
            (profile_of(&before, &filter, Unit::Bytes), profile_of(&after, &filter, Unit::Bytes));
        let flame = Flame::of_both(&before, &after, 0.0);
        let (then, now) = (paths(&before), paths(&after));
        let of = |paths: &HashMap<Vec<Label>, (f64, f64)>, path: &[Label]| {
            paths.get(path).map_or(0.0, |sums| sums.1)
        };
        let frames = frames(&flame);
        for (place, path) in frames.iter().enumerate() {
            prop_assert!(near(flame.total[place], of(&now, path)));
            prop_assert!(near(flame.before.as_ref().map_or(-1.0, |before| before[place]), of(&then, path)));
        }
        // What is the same on both sides cannot have changed significantly.
        let significant = flame.significant.as_ref().expect("of a comparison");
        prop_assert_eq!(significant.len(), frames.len());
        for (place, &is_significant) in significant.iter().enumerate() {
            let is_same = flame.before.as_ref().map(|before| before[place]) == Some(flame.total[place]);
            prop_assert!(!(is_same && is_significant));
        }
        let mut all: Vec<_> = then.keys().chain(now.keys()).collect();
        all.sort();
        all.dedup();
        prop_assert_eq!(frames.len(), all.len());
    }

    #[test]
    fn callers_and_callees_sum_up_to_the_function(
        trace in traces(), filter in filters(), focus in functions(),
    ) {
        let profile = profile_of(&trace, &filter, Unit::Bytes);
        let found = around(&profile, &focus, 0.0);
        for side in [&found.callees, &found.callers] {
            prop_assert!(is_well_formed(side));
            prop_assert!(near(side.total[0], found.all.value * found.share));
            prop_assert!(near(side.own.iter().sum(), side.total[0]));
        }
    }

    #[test]
    fn hot_paths_are_the_stacks_that_allocate_most(
        trace in traces(), filter in filters(), most in 1..6usize,
    ) {
        let profile = profile_of(&trace, &filter, Unit::Bytes);
        let found = hot_paths(&profile, &Rows { number: most, ..Rows::default() });
        let mut own: Vec<_> = paths(&profile)
            .into_iter()
            .filter(|(path, (own, _))| !path.is_empty() && *own > 0.0)
            .map(|(_, (own, _))| own)
            .collect();
        own.sort_by(|a, b| b.total_cmp(a));
        prop_assert_eq!(found.row_count, own.len());
        prop_assert_eq!(found.rows.len(), most.min(own.len()));
        for (row, own) in found.rows.iter().zip(own) {
            prop_assert!(near(row.own.value, own));
        }
    }
}
