//! Which frames are drawn, and where.
//!
//! Two steps. First the frames that are wide enough are chosen, in one pass over all stacks in which a
//! caller comes before its callees. Then only the chosen ones are sorted and placed. Neither step recurses:
//! stacks may be a million deep.

use bactrian_analysis::{Profile, StackId, StackTree, Tally};

/// What is too much to draw.
#[derive(Debug)]
pub(super) struct Limits {
    /// Smallest share of the whole that is drawn.
    pub min_share: f64,
    /// Most levels below the outermost frame.
    pub max_depth: usize,
    /// About the most frames; if there are more, the narrowest go.
    pub max_frames: usize,
}

/// A frame with its place. The whole picture is 1 wide.
#[derive(Debug)]
pub(super) struct Frame {
    pub stack: StackId,
    pub total: Tally,
    /// 0 is the outermost, which stands for all stacks.
    pub depth: usize,
    pub x: f64,
    pub width: f64,
    /// Whether callees that are wide enough were too deep to draw.
    pub is_cut: bool,
}

/// The frames to draw, each before its callees, callees by name. A frame's own weight, and that of callees
/// left out, is the gap to the right of those drawn.
#[derive(Debug)]
pub(super) struct Layout {
    pub frames: Vec<Frame>,
    /// How deep the deepest of them is.
    pub max_depth: usize,
    /// Share of the whole below which a frame was left out.
    pub min_share: f64,
    /// Stacks left out for being narrower than that.
    pub too_narrow: u64,
    /// Stacks left out for being too deep.
    pub too_deep: u64,
}

impl Layout {
    pub fn new(profile: &Profile, limits: &Limits) -> Layout {
        let tree = &profile.tree;
        let totals = profile.first().totals(tree);
        let all = totals[StackId::ROOT.index()].sum();
        let mut min_weight = all * limits.min_share;
        let mut chosen = Chosen::new(tree, &totals, min_weight, limits.max_depth);
        if chosen.nodes.len() > limits.max_frames {
            min_weight = chosen.weight_that_leaves(limits.max_frames, &totals);
            chosen = Chosen::new(tree, &totals, min_weight, limits.max_depth);
        }
        Layout {
            frames: place(&chosen.nodes, profile, &totals),
            max_depth: chosen.nodes.iter().map(|node| node.depth).max().unwrap_or(0),
            min_share: if all > 0.0 { min_weight / all } else { 0.0 },
            too_narrow: chosen.too_narrow,
            too_deep: chosen.too_deep,
        }
    }
}

/// A stack that will be drawn.
#[derive(Debug)]
struct Node {
    stack: StackId,
    /// Its caller's place among the chosen.
    caller: usize,
    depth: usize,
    is_cut: bool,
}

#[derive(Debug)]
struct Chosen {
    /// In the order of the tree, the empty stack first.
    nodes: Vec<Node>,
    too_narrow: u64,
    too_deep: u64,
}

impl Chosen {
    fn new(tree: &StackTree, totals: &[Tally], min_weight: f64, max_depth: usize) -> Chosen {
        let root = Node { stack: StackId::ROOT, caller: 0, depth: 0, is_cut: false };
        let mut nodes = vec![root];
        let (mut too_narrow, mut too_deep) = (0, 0);
        for stack in tree.ids() {
            let weight = totals[stack.index()].sum();
            if weight <= 0.0 {
                continue;
            }
            if weight < min_weight {
                too_narrow += 1;
                continue;
            }
            // A caller weighs at least what its callees do: if it was not chosen, it was too deep.
            let caller = nodes.binary_search_by_key(&tree.parent(stack), |node| node.stack);
            match caller {
                Ok(caller) if nodes[caller].depth < max_depth => {
                    let depth = nodes[caller].depth + 1;
                    nodes.push(Node { stack, caller, depth, is_cut: false });
                }
                Ok(caller) => {
                    nodes[caller].is_cut = true;
                    too_deep += 1;
                }
                Err(_) => too_deep += 1,
            }
        }
        Chosen { nodes, too_narrow, too_deep }
    }

    /// The least weight that at most `count` of the chosen have, the empty stack not counted.
    fn weight_that_leaves(&self, count: usize, totals: &[Tally]) -> f64 {
        let mut weights: Vec<_> =
            self.nodes[1..].iter().map(|node| totals[node.stack.index()].sum()).collect();
        if count >= weights.len() {
            return 0.0;
        }
        let (_, first_to_go, _) = weights.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
        first_to_go.next_up()
    }
}

fn place(nodes: &[Node], profile: &Profile, totals: &[Tally]) -> Vec<Frame> {
    let label = |at: usize| profile.labels.get(profile.tree.label(nodes[at].stack));
    let all = totals[StackId::ROOT.index()].sum();
    let share = |at: usize| {
        let weight = totals[nodes[at].stack.index()].sum();
        if all > 0.0 { weight / all } else { 1.0 }
    };
    let mut by_caller: Vec<usize> = (1..nodes.len()).collect();
    by_caller.sort_by(|&a, &b| {
        nodes[a].caller.cmp(&nodes[b].caller).then_with(|| label(a).cmp(label(b)))
    });
    let mut frames = Vec::with_capacity(nodes.len());
    let mut to_place = vec![(0, 0.0)];
    while let Some((at, x)) = to_place.pop() {
        let Node { stack, depth, is_cut, .. } = nodes[at];
        let total = totals[stack.index()];
        frames.push(Frame { stack, total, depth, x, width: share(at), is_cut });
        let first = by_caller.partition_point(|&callee| nodes[callee].caller < at);
        let callees = by_caller[first..].iter().take_while(|&&callee| nodes[callee].caller == at);
        let below = to_place.len();
        let mut x = x;
        for &callee in callees {
            to_place.push((callee, x));
            x += share(callee);
        }
        // What is pushed last is placed first.
        to_place[below..].reverse();
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{name, profile};
    use super::*;

    const NO_LIMITS: Limits = Limits { min_share: 0.0, max_depth: 400, max_frames: 1000 };

    /// Each frame as `depth name x width`, in hundredths.
    fn texts(profile: &Profile, layout: &Layout) -> Vec<String> {
        let hundredths = |share: f64| (share * 100.0).round();
        let frames = layout.frames.iter().map(|frame| {
            let (x, width) = (hundredths(frame.x), hundredths(frame.width));
            format!("{} {} {x} {width}", frame.depth, name(profile, frame.stack))
        });
        frames.collect()
    }

    fn check(stacks: &[(&str, u64)], limits: Limits, expected: &[&str]) -> Layout {
        let profile = profile(1.0, stacks);
        let layout = Layout::new(&profile, &limits);
        assert_eq!(texts(&profile, &layout), expected);
        layout
    }

    #[test]
    fn callees_lie_on_their_caller_by_name() {
        let stacks = [("M.z", 30), ("M.a;M.y", 20), ("M.a;M.x", 10), ("M.a", 40)];
        let expected = ["0 all 0 100", "1 M.a 0 70", "2 M.x 0 10", "2 M.y 10 20", "1 M.z 70 30"];
        let layout = check(&stacks, NO_LIMITS, &expected);
        assert_eq!((layout.max_depth, layout.too_narrow, layout.too_deep), (2, 0, 0));
    }

    #[test]
    fn narrow_frames_leave_a_gap_and_are_counted() {
        let stacks = [("A;C;D", 4), ("A;B", 5), ("E", 91)];
        let limits = Limits { min_share: 0.05, ..NO_LIMITS };
        let expected = ["0 all 0 100", "1 A 0 9", "2 B 0 5", "1 E 9 91"];
        assert_eq!(check(&stacks, limits, &expected).too_narrow, 2);
    }

    #[test]
    fn what_is_too_deep_is_cut_and_counted() {
        let limits = Limits { max_depth: 2, ..NO_LIMITS };
        let expected = ["0 all 0 100", "1 A 0 90", "2 B 0 90", "1 E 90 10"];
        let layout = check(&[("A;B;C;D", 90), ("E", 10)], limits, &expected);
        assert_eq!(layout.too_deep, 2);
        let cut: Vec<_> = layout.frames.iter().map(|frame| frame.is_cut).collect();
        assert_eq!(cut, [false, false, true, false]);
    }

    #[test]
    fn of_too_many_frames_the_widest_stay() {
        let limits = Limits { max_frames: 2, ..NO_LIMITS };
        let expected = ["0 all 0 100", "1 A 0 60", "1 B 60 30"];
        let layout = check(&[("A", 60), ("B", 30), ("C", 6), ("D", 4)], limits, &expected);
        assert_eq!(layout.too_narrow, 2);
        assert!(layout.min_share > 0.06 && layout.min_share < 0.061);
    }

    #[test]
    fn nothing_measured_is_one_empty_frame() {
        check(&[], NO_LIMITS, &["0 all 0 100"]);
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack_of_ours() {
        let deep = ["A.even", "A.odd"].repeat(50_000).join(";");
        let profile = profile(1.0, &[(&deep, 1)]);
        let layout = Layout::new(
            &profile,
            &Limits { max_depth: usize::MAX, max_frames: usize::MAX, ..NO_LIMITS },
        );
        assert_eq!(layout.max_depth, 100_000);
    }
}
