//! Sums over objects: `top`, profiles and call trees.

use std::collections::HashMap;

use bactrian_analysis::{
    Branch, By, Direction, Label, Measure, Of, Pattern, Profile, StackId, Tally, TreeQuestion,
    Unit, call_tree, top,
};
use proptest::prelude::*;

use crate::model::{Model, add, close};
use crate::programs::{filters, functions, traces};

fn bys() -> impl Strategy<Value = By> {
    prop::sample::select(vec![By::Site, By::Function, By::File, By::Module])
}

fn measures() -> impl Strategy<Value = Measure> {
    let of = vec![Of::Allocated, Of::LiveAtEnd, Of::LiveAtPeak, Of::Promoted];
    let units = prop::sample::select(vec![Unit::Bytes, Unit::Objects]);
    (units, prop::sample::select(of)).prop_map(|(unit, of)| Measure { unit, of })
}

/// What a tree of paths holds: what ends at each path, and what goes through it.
type Sums = HashMap<Vec<Label>, (Tally, Tally)>;

fn sums(paths: impl Iterator<Item = (Vec<Label>, Tally)>) -> Sums {
    let (mut own, mut total) = (HashMap::new(), HashMap::new());
    for (path, tally) in paths {
        (1..=path.len()).for_each(|end| add(&mut total, path[..end].to_vec(), tally));
        add(&mut own, path, tally);
    }
    let of = |path: &Vec<Label>| own.get(path).copied().unwrap_or_default();
    let both = total.into_iter().map(|(path, total)| {
        let own = of(&path);
        (path, (own, total))
    });
    both.collect()
}

proptest! {
    #[test]
    fn top_is_the_sum_over_objects_and_counts_recursion_once(
        trace in traces(), filter in filters(), by in bys(), measure in measures(),
    ) {
        let model = Model::read(&trace);
        let weighed = model.weighed(&filter, measure).into_iter();
        let weighed: Vec<_> =
            weighed.map(|(object, tally)| (object.path(by, &filter.hidden), tally)).collect();
        let (mut own, mut total) = (HashMap::new(), HashMap::new());
        for (path, tally) in &weighed {
            path.last().into_iter().for_each(|label| add(&mut own, label, *tally));
            let first = |at: &usize| !path[..*at].contains(&path[*at]);
            (0..path.len()).filter(first).for_each(|at| add(&mut total, &path[at], *tally));
        }
        let scale = measure.scale(&trace);
        let of = |map: &HashMap<&Label, Tally>, label: &Label| {
            scale.estimate(map.get(label).copied().unwrap_or_default())
        };
        let found = top(&trace, &filter, by, measure);
        prop_assert_eq!(found.rows.len(), total.len());
        for row in &found.rows {
            prop_assert!(close(&row.own, &of(&own, &row.label)), "{:?}", row);
            prop_assert!(close(&row.total, &of(&total, &row.label)), "{:?}", row);
        }
        let all = weighed.iter().fold(Tally::default(), |sum, (_, tally)| sum + *tally);
        prop_assert!(close(&found.all, &scale.estimate(all)));
        prop_assert!(found.rows.is_sorted_by(|a, b| a.own.value >= b.own.value));
    }

    #[test]
    fn a_profile_has_what_each_stack_allocates(
        trace in traces(), filter in filters(), by in bys(), measure in measures(),
    ) {
        let model = Model::read(&trace);
        let weighed = model.weighed(&filter, measure).into_iter();
        let expected = sums(weighed.map(|(o, tally)| (o.path(by, &filter.hidden), tally)));
        let profile = Profile::new(&trace, &filter, by, &[measure]);
        let column = profile.first();
        let totals = column.totals(&profile.tree);
        let path = |stack: StackId| {
            let labels = profile.tree.inwards_out(stack).map(|id| profile.labels.get(id).clone());
            let mut path: Vec<_> = labels.collect();
            path.reverse();
            path
        };
        let same = |a: Tally, b: Tally| close(&column.estimate(a), &column.estimate(b));
        let stacks: Vec<_> = profile.tree.ids().collect();
        prop_assert_eq!(stacks.len(), expected.len());
        for stack in stacks {
            let (own, total) = expected[&path(stack)];
            prop_assert!(same(column.own(stack), own));
            prop_assert!(same(totals[stack.index()], total));
        }
    }

    #[test]
    fn call_trees_follow_stacks_inwards_or_outwards_from_their_focus(
        trace in traces(),
        filter in filters(),
        by in bys(),
        measure in measures(),
        direction in prop::sample::select(vec![Direction::Callees, Direction::Callers]),
        focus in prop::option::of(functions()),
    ) {
        let model = Model::read(&trace);
        // The part of a stack that the tree shows, in the tree's order.
        let shown = |mut path: Vec<Label>| {
            let find = |focus: &Pattern| path.iter().position(|label| focus.matches(&label.name));
            let first = focus.as_ref().map(find);
            match (direction, first) {
                (_, Some(None)) => return Vec::new(),
                (Direction::Callees, Some(Some(first))) => drop(path.drain(..first)),
                (Direction::Callers, Some(Some(first))) => path.truncate(first + 1),
                (_, None) => {}
            }
            if direction == Direction::Callers {
                path.reverse();
            }
            path
        };
        let weighed = model.weighed(&filter, measure);
        let mut expected = sums(weighed.iter().map(|(object, tally)| {
            (shown(object.path(by, &filter.hidden)), *tally)
        }));
        let question =
            TreeQuestion { direction, focus: focus.clone(), min_share: 0.0, max_levels: 400 };
        let profile = Profile::new(&trace, &filter, by, &[measure]);
        let tree = call_tree(&profile, &question);
        let mut branches: Vec<(Vec<Label>, &Branch)> =
            tree.branches.iter().map(|branch| (Vec::new(), branch)).collect();
        let scale = measure.scale(&trace);
        while let Some((mut path, branch)) = branches.pop() {
            path.push(branch.label.clone());
            let sums = expected.remove(&path);
            prop_assert!(sums.is_some(), "no stack goes through {:?}", path);
            let (own, total) = sums.unwrap_or_default();
            prop_assert!(close(&branch.own, &scale.estimate(own)));
            prop_assert!(close(&branch.total, &scale.estimate(total)));
            let share = branch.total.value / tree.all.value;
            prop_assert!((branch.share - share).abs() < 1e-9);
            prop_assert_eq!(branch.left_out, 0);
            prop_assert!(branch.children.is_sorted_by(|a, b| a.total.value >= b.total.value));
            branches.extend(branch.children.iter().map(|child| (path.clone(), child)));
        }
        prop_assert!(expected.is_empty(), "not in the tree: {:?}", expected.keys());
    }
}
