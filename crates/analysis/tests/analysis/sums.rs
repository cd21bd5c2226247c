//! Sums over objects: `top`, profiles and call trees.

use std::collections::HashMap;

use bactrian_analysis::{
    Branch, By, CallTree, Direction, Filter, Label, Measure, Of, Pattern, Profile, StackId, Tally,
    TreeShape, Unit, call_tree, top,
};
use bactrian_trace::Source;
use proptest::prelude::*;

use crate::model::{Model, add, close};
use crate::programs::{Block, filters, functions, pattern, trace_of_blocks, traces};

fn bys() -> impl Strategy<Value = By> {
    prop::sample::select(vec![
        By::Site,
        By::Instruction,
        By::Line,
        By::Function,
        By::File,
        By::Module,
    ])
}

fn measures() -> impl Strategy<Value = Measure> {
    let of = vec![Of::Allocated, Of::LiveAtEnd, Of::LiveAtPeak, Of::Promoted];
    let units = prop::sample::select(vec![Unit::Bytes, Unit::Objects]);
    (units, prop::sample::select(of)).prop_map(|(unit, of)| Measure { unit, of })
}

/// A tree of paths: self and total of each path.
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

/// What remains of a tree without paths below `least` or longer than `levels`, and the number of children cut
/// from each remaining path.
fn cut(sums: Sums, least: f64, levels: usize) -> (Sums, HashMap<Vec<Label>, usize>) {
    // A path is never larger than its prefixes, so the prefixes of a remaining path remain too.
    let stays = |path: &[Label], total: Tally| total.sum() >= least && path.len() <= levels;
    let (kept, cut): (Sums, Sums) =
        sums.into_iter().partition(|(path, (_, total))| stays(path, *total));
    let mut left_out = HashMap::new();
    for path in cut.keys() {
        let from = &path[..path.len() - 1];
        if from.is_empty() || kept.contains_key(from) {
            *left_out.entry(from.to_vec()).or_default() += 1;
        }
    }
    (kept, left_out)
}

/// A tree as text: a line for each branch with its self and total samples, and one for what was omitted.
fn outline(tree: &CallTree) -> String {
    fn add(out: &mut String, branches: &[Branch], left_out: usize, indent: usize) {
        for Branch { label, own, total, children, left_out, .. } in branches {
            let (own, total) = (own.value / 8.0, total.value / 8.0);
            *out += &format!("{:indent$}{} {own}/{total}\n", "", label.name);
            add(out, children, *left_out, indent + 1);
        }
        if left_out > 0 {
            *out += &format!("{:indent$}({left_out})\n", "");
        }
    }
    let mut out = String::new();
    add(&mut out, &tree.branches, tree.left_out, 0);
    out
}

/// A tree by function, from stacks given as codes and samples.
fn tree_of(stacks: &[(&[u64], u64)], question: &TreeShape) -> CallTree {
    let blocks = stacks.iter().map(|&(stack, samples)| Block {
        length: 1,
        samples,
        source: Source::Minor,
        stack: stack.to_vec(),
    });
    let trace = trace_of_blocks(1.0, &blocks.collect::<Vec<_>>());
    let measure = Measure { unit: Unit::Bytes, of: Of::Allocated };
    let profile = Profile::new(&trace, &Filter::default(), By::Function, &[measure]);
    call_tree(&profile, question)
}

fn check(
    stacks: &[(&[u64], u64)],
    (direction, focus): (Direction, Option<&str>),
    (min_share, max_levels): (f64, usize),
    expected: &[&str],
) {
    let focus = focus.map(pattern);
    let tree = tree_of(stacks, &TreeShape { direction, focus, min_share, max_levels });
    assert_eq!(outline(&tree).lines().collect::<Vec<_>>(), expected);
}

// Codes of `Main.run`, `Main.loop` and `Lib__List.map`.
const RUN: u64 = 1;
const LOOP: u64 = 3;
const MAP: u64 = 4;

/// 100 samples: 60 and 10 in `map`, 30 in `loop`.
const STACKS: &[(&[u64], u64)] =
    &[(&[RUN, MAP], 60), (&[RUN, LOOP], 30), (&[LOOP, MAP], 9), (&[MAP], 1)];

#[test]
fn omitted_callees_are_counted() {
    let ask = (Direction::Callees, None);
    // The threshold itself suffices.
    check(
        STACKS,
        ask,
        (0.3, 9),
        &["Main.run 0/90", " Lib__List.map 60/60", " Main.loop 30/30", "(2)"],
    );
    check(STACKS, ask, (0.31, 9), &["Main.run 0/90", " Lib__List.map 60/60", " (1)", "(2)"]);
    check(STACKS, ask, (0.05, 1), &["Main.run 0/90", " (2)", "Main.loop 0/9", " (1)", "(1)"]);
    // There is always one level.
    check(STACKS, ask, (0.5, 0), &["Main.run 0/90", " (2)", "(2)"]);
    check(STACKS, ask, (1.0, 9), &["(3)"]);
    let ask = (Direction::Callees, Some("Main.loop"));
    check(STACKS, ask, (0.1, 9), &["Main.loop 30/39", " (1)"]);
    check(STACKS, ask, (0.0, 1), &["Main.loop 30/39", " (1)"]);
    check(STACKS, ask, (0.0, 2), &["Main.loop 30/39", " Lib__List.map 9/9"]);
}

#[test]
fn omitted_callers_are_counted() {
    let ask = (Direction::Callers, None);
    check(
        STACKS,
        ask,
        (0.3, 9),
        &["Lib__List.map 1/70", " Main.run 60/60", " (1)", "Main.loop 0/30", " Main.run 30/30"],
    );
    check(STACKS, ask, (0.31, 9), &["Lib__List.map 1/70", " Main.run 60/60", " (1)", "(1)"]);
    // What continues to omitted callers does not end here.
    check(STACKS, ask, (0.05, 1), &["Lib__List.map 1/70", " (2)", "Main.loop 0/30", " (1)"]);
    check(STACKS, ask, (0.5, 0), &["Lib__List.map 1/70", " (2)", "(1)"]);
    check(STACKS, ask, (1.0, 9), &["(2)"]);
    let ask = (Direction::Callers, Some("Main.loop"));
    check(STACKS, ask, (0.1, 9), &["Main.loop 9/39", " Main.run 30/30"]);
    check(STACKS, ask, (0.35, 9), &["Main.loop 9/39", " (1)"]);
    check(STACKS, ask, (0.0, 1), &["Main.loop 9/39", " (1)"]);
}

#[test]
fn equal_callers_come_in_the_order_of_the_trace() {
    let stacks: &[(&[u64], u64)] = &[(&[MAP, RUN], 5), (&[LOOP, RUN], 5), (&[RUN, RUN], 5)];
    check(
        stacks,
        (Direction::Callers, None),
        (0.0, 9),
        &["Main.run 0/15", " Lib__List.map 5/5", " Main.loop 5/5", " Main.run 5/5"],
    );
}

#[test]
fn no_tree_is_deeper_than_recursion_can_follow() {
    let stack = [&[RUN], &[LOOP; 900][..]].concat();
    for direction in [Direction::Callees, Direction::Callers] {
        let question = TreeShape { direction, focus: None, min_share: 0.0, max_levels: 9_000 };
        let tree = tree_of(&[(&stack, 1)], &question);
        let chain = std::iter::successors(tree.branches.first(), |branch| branch.children.first());
        assert_eq!(chain.clone().count(), 400);
        assert_eq!(chain.map(|branch| branch.left_out).sum::<usize>(), 1);
    }
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
        let no_stack = Label::no_stack();
        for (path, tally) in &weighed {
            add(&mut own, path.last().unwrap_or(&no_stack), *tally);
            if path.is_empty() {
                add(&mut total, &no_stack, *tally);
            }
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
            let labels = profile.tree.labels_innermost_first(stack).map(|id| profile.labels.get(id).clone());
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
        min_share in prop_oneof![Just(0.0), 0.0..0.5],
        max_levels in prop_oneof![Just(400), 1..8usize],
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
        let all = weighed.iter().fold(0.0, |sum, (_, tally)| sum + tally.sum());
        let expected = sums(weighed.iter().map(|(object, tally)| {
            (shown(object.path(by, &filter.hidden)), *tally)
        }));
        let (mut expected, left_out) = cut(expected, all * min_share, max_levels);
        let left_out_at = |path: &[Label]| left_out.get(path).copied().unwrap_or_default();
        let question = TreeShape { direction, focus: focus.clone(), min_share, max_levels };
        let profile = Profile::new(&trace, &filter, by, &[measure]);
        let tree = call_tree(&profile, &question);
        let mut branches: Vec<(Vec<Label>, &Branch)> =
            tree.branches.iter().map(|branch| (Vec::new(), branch)).collect();
        prop_assert_eq!(tree.left_out, left_out_at(&[]));
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
            prop_assert_eq!(branch.left_out, left_out_at(&path), "{:?}", path);
            prop_assert!(branch.children.is_sorted_by(|a, b| a.total.value >= b.total.value));
            branches.extend(branch.children.iter().map(|child| (path.clone(), child)));
        }
        prop_assert!(expected.is_empty(), "not in the tree: {:?}", expected.keys());
    }
}
