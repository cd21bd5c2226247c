//! Selects the stacks that are large enough to be visible in a flame graph.

use crate::sorted_rows::SortRows;
use crate::stack_tree::{StackId, StackTree};

/// The most frames in a picture; beyond it, smaller frames are omitted.
const MAX_FRAMES: usize = 20_000;

/// A stack that is shown.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub stack: StackId,
    /// The index of its caller.
    pub parent: u32,
    /// The number of children that are not shown.
    pub more: u32,
}

/// The stacks to show, depth first, larger siblings first.
pub(crate) fn placed(
    tree: &StackTree,
    root: StackId,
    min_share: f64,
    size: impl Fn(StackId) -> f64,
) -> Vec<Placed> {
    let mut least = size(root) * min_share;
    let mut kept = Kept::of(tree, root, least, &size);
    if kept.stacks.len() > MAX_FRAMES {
        let mut sizes: Vec<_> = kept.stacks.iter().map(|&(stack, _)| size(stack)).collect();
        sizes.sort_unstable_by(|a, b| b.total_cmp(a));
        // Of equal frames, all or none.
        least = sizes[MAX_FRAMES].next_up();
        kept = Kept::of(tree, root, least, &size);
    }
    // The children of each stack.
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); kept.stacks.len()];
    for (place, &(_, parent)) in kept.stacks.iter().enumerate().skip(1) {
        children[parent as usize].push(place as u32);
    }
    let of = |place: u32| kept.stacks[place as usize].0;
    let mut placed = Vec::with_capacity(kept.stacks.len());
    let mut open = vec![(0u32, 0u32)];
    while let Some((place, parent)) = open.pop() {
        let here = placed.len() as u32;
        placed.push(Placed { stack: of(place), parent, more: kept.more[place as usize] });
        let mut inner = std::mem::take(&mut children[place as usize]);
        inner.sort_rows_by(|&a, &b| size(of(b)).total_cmp(&size(of(a))));
        open.extend(inner.into_iter().rev().map(|child| (child, here)));
    }
    placed
}

/// Stacks that are large enough, callers first.
struct Kept {
    /// With the indices of their callers.
    stacks: Vec<(StackId, u32)>,
    more: Vec<u32>,
}

impl Kept {
    fn of(tree: &StackTree, root: StackId, least: f64, size: &impl Fn(StackId) -> f64) -> Kept {
        let mut kept = Kept { stacks: vec![(root, 0)], more: vec![0] };
        let mut places: Vec<Option<u32>> = vec![None; tree.len()];
        places[root.index()] = Some(0);
        // Descendants of a stack come after it.
        for stack in tree.ids().skip(root.index()) {
            let Some(parent) = places[tree.parent(stack).index()].filter(|_| stack != root) else {
                continue;
            };
            match size(stack) {
                size if size <= 0.0 => {}
                size if size < least => kept.more[parent as usize] += 1,
                _ => {
                    places[stack.index()] = Some(kept.stacks.len() as u32);
                    kept.stacks.push((stack, parent));
                    kept.more.push(0);
                }
            }
        }
        kept
    }
}
