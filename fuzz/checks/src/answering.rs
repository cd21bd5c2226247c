//! The promises of the answers, checked on arbitrary bytes: every number is finite, parts are at most their
//! whole, and memory is proportional to the file (which libFuzzer's limit checks).
//!
//! Sums of floats are compared with a tolerance, a small fraction of the whole: a running sum loses what is too
//! small compared to it.

use bactrian_analysis::{
    Branch, By, CallTree, Changes, Contents, Direction, Estimate, Filter, LifetimeRow, Lifetimes,
    Measure, Of, Profile, Timeline, Top, TraceFile, TreeShape, Unit, call_tree, contents,
    lifetimes, rewrite, timeline, top,
};

const TOLERANCE: f64 = 1e-9;
/// The maximum number of stacks in a tree, in addition to one for each byte of the file.
const FREE_STACKS: usize = 1 << 20;
const INTERVALS: usize = 100;

/// The measures that exports contain.
const EXPORTED: [Measure; 4] = [
    Measure { unit: Unit::Objects, of: Of::Allocated },
    Measure { unit: Unit::Bytes, of: Of::Allocated },
    Measure { unit: Unit::Objects, of: Of::LiveAtEnd },
    Measure { unit: Unit::Bytes, of: Of::LiveAtEnd },
];

/// Asks `bytes` every question and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    let Ok(trace) = TraceFile::new(bytes.to_vec().into()) else { return };
    let everything = Filter::default();
    for of in [Of::Allocated, Of::LiveAtEnd, Of::LiveAtPeak] {
        check_top(&top(&trace, &everything, By::Function, Measure::bytes(of)));
    }
    let profile = Profile::new(&trace, &everything, By::Site, &EXPORTED);
    assert!(profile.tree.len() <= FREE_STACKS + bytes.len(), "{} stacks", profile.tree.len());
    check_profile(&profile);
    for direction in [Direction::Callees, Direction::Callers] {
        let question = TreeShape { direction, focus: None, min_share: 0.0, max_levels: usize::MAX };
        check_tree(&call_tree(&profile, &question));
    }
    check_profile(&profile.pruned(0.01));
    check_timeline(&timeline(&trace, &everything, INTERVALS));
    check_lifetimes(&lifetimes(&trace, &everything, By::Function));
    let contents = contents(&trace, &everything);
    check_contents(&contents);
    let mut written = Vec::new();
    let rewritten = rewrite(&trace, &Changes::default(), &mut written);
    let rewritten = rewritten.expect("memory takes all that is written");
    let allocations = contents.minor + contents.major + contents.external;
    assert_eq!(rewritten.allocations, allocations, "objects lost in rewriting");
    assert!(TraceFile::new(written.into()).is_ok(), "what was written cannot be read");
}

fn check_top(top: &Top) {
    let whole = value(&top.all);
    value(&top.none);
    for row in &top.rows {
        let (own, total) = (value(&row.own), value(&row.total));
        at_most(own, total, whole);
        at_most(total, whole, whole);
    }
    at_most(top.rows.iter().map(|row| row.own.value).sum(), whole, whole);
}

fn check_profile(profile: &Profile) {
    for column in &profile.columns {
        let whole = value(&column.estimate(column.total()));
        let totals = column.totals(&profile.tree);
        let mut sum = 0.0;
        for stack in profile.tree.ids() {
            let own = value(&column.estimate(column.own(stack)));
            let total = value(&column.estimate(totals[stack.index()]));
            at_most(own, total, whole);
            at_most(total, whole, whole);
            sum += own;
        }
        at_most(sum, whole, whole);
    }
}

fn check_tree(tree: &CallTree) {
    let whole = value(&tree.all);
    share(tree.share);
    check_branches(&tree.branches, whole, whole);
}

/// Checks branches that together are at most `parent`.
fn check_branches(branches: &[Branch], parent: f64, whole: f64) {
    at_most(branches.iter().map(|branch| branch.total.value).sum(), parent, whole);
    for Branch { own, total, share: of_all, children, .. } in branches {
        let (own, total) = (value(own), value(total));
        at_most(own, total, whole);
        share(*of_all);
        check_branches(children, total - own, whole);
    }
}

fn check_timeline(timeline: &Timeline) {
    assert_eq!(timeline.points.len(), INTERVALS);
    let peak = value(&timeline.peak);
    for point in &timeline.points {
        value(&point.allocated);
        let (live, max) = (value(&point.live), value(&point.max));
        at_most(live, max, peak);
        at_most(max, peak, peak);
    }
}

fn check_lifetimes(lifetimes: &Lifetimes) {
    let whole = value(&lifetimes.all.allocated);
    for LifetimeRow { allocated, lifetimes, never, sizes, .. } in
        lifetimes.rows.iter().chain([&lifetimes.all])
    {
        let allocated = value(allocated);
        let ends = lifetimes.iter().map(value).sum::<f64>() + value(never);
        at_most(ends, allocated, whole);
        at_most(sizes.iter().map(value).sum(), allocated, whole);
    }
    at_most(lifetimes.rows.iter().map(|row| row.allocated.value).sum(), whole, whole);
}

fn check_contents(contents: &Contents) {
    let (allocated, peak) = (value(&contents.allocated), value(&contents.peak));
    value(&contents.objects);
    at_most(value(&contents.live_at_end), peak, allocated);
    at_most(peak, allocated, allocated);
}

/// The value of an estimate, which must be plausible.
fn value(estimate: &Estimate) -> f64 {
    let Estimate { value, low, high } = *estimate;
    assert!(value.is_finite() && low.is_finite() && high.is_finite(), "{estimate:?}");
    assert!(value >= 0.0 && low >= 0.0, "{estimate:?}");
    at_most(low, value, value);
    at_most(value, high, value);
    value
}

fn share(share: f64) {
    assert!((0.0..=1.0 + TOLERANCE).contains(&share), "a share of {share}");
}

/// Checks that a part is at most the whole, up to rounding errors relative to `whole`.
fn at_most(part: f64, of: f64, whole: f64) {
    assert!(part <= of + whole * TOLERANCE, "{part} is more than {of}, of {whole} in all");
}
