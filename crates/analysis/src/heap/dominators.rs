//! The dominator tree, opened from the top: what would be freed without a block, or without all blocks of a
//! class.
//!
//! By class, each level shows what the level above retains, with all blocks of a class merged into one row,
//! as [`super::merged`] describes: so a list or a tree is one row, not a million levels. Blocks retained by
//! several roots together have no root above them and stand beside the roots.

use std::cell::Cell;
use std::cmp::Reverse;

use bactrian_graph::{NONE, Node};
use schemars::JsonSchema;
use serde::Serialize;

use super::merged::{MergedKind, Merging, Sum};
use super::{Found, Heap, NotFound, WORD};

/// The most levels in an answer, whatever is requested.
pub const MOST_LEVELS: usize = 60;

/// The requested part of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct DominatorsShape {
    /// Where to start; None for the root of all.
    pub of: Option<Found>,
    /// The path to follow from there: the name of each row, or `@` and its node. Only if blocks are merged by
    /// class.
    pub below: Vec<String>,
    /// Show single blocks instead of merging all blocks of a class.
    pub by_block: bool,
    /// The number of levels.
    pub depth: usize,
    /// The most rows below each row; 0 for all.
    pub limit: usize,
    /// Omit rows that retain less than this fraction of the heap.
    pub min_share: f64,
    /// The most rows in total.
    pub most_rows: usize,
}

/// A part of the dominator tree. Sizes are in bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DominatorTree {
    /// Size of all reachable blocks.
    pub total: u64,
    /// The topmost rows: a single row, or one per class that was asked for.
    pub rows: Vec<DominatorRow>,
    /// Topmost rows that are left out.
    pub left_out: DominatorsLeftOut,
}

/// Blocks dominated by the row above, and what they dominate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DominatorRow {
    /// The class, or a description of the block or root.
    pub what: String,
    /// The node's number, if the row is one block or root: for `bactrian heap show @NUMBER`.
    pub node: Option<Node>,
    /// Number of blocks.
    pub objects: u64,
    /// Shallow size.
    pub shallow: u64,
    /// Retained size: what would be freed without these blocks, including themselves. Blocks of the class of a row above are
    /// counted in that row only.
    pub retained: u64,
    /// Share of the retained size in all reachable blocks.
    pub share: f64,
    /// What they dominate, the largest first.
    pub rows: Vec<DominatorRow>,
    /// Rows below that are left out: too small, too many or too deep.
    pub left_out: DominatorsLeftOut,
}

/// Rows that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DominatorsLeftOut {
    /// Number of rows.
    pub rows: u64,
    /// Their retained size.
    pub retained: u64,
}

/// Opens the dominator tree.
///
/// # Errors
/// If there is no row with a name on the path.
pub fn dominators(heap: &Heap, question: &DominatorsShape) -> Result<DominatorTree, NotFound> {
    let room = Cell::new(question.most_rows);
    let opening = Opening { heap, question, total: heap.reached_words(), room };
    let starts = match &question.of {
        None => vec![(MergedKind::Node(heap.root()), vec![heap.root()])],
        Some(Found::Node(node)) => vec![(MergedKind::Node(*node), vec![*node])],
        Some(Found::Classes(classes)) => opening.topmost(classes),
    };
    let (rows, left_out) = match question.by_block {
        true => opening.blocks(starts.into_iter().flat_map(|(_, nodes)| nodes).collect(), 0),
        false if question.below.is_empty() => opening.starts(&starts),
        false => (vec![opening.further_down(&starts)?], DominatorsLeftOut::default()),
    };
    Ok(DominatorTree { total: opening.total.saturating_mul(WORD), rows, left_out })
}

struct Opening<'a> {
    heap: &'a Heap,
    question: &'a DominatorsShape,
    /// The words of all reachable blocks.
    total: u64,
    /// How many more rows may be listed.
    room: Cell<usize>,
}

/// The listed rows, and what is omitted.
type Rows = (Vec<DominatorRow>, DominatorsLeftOut);

impl Opening<'_> {
    /// For each class, its blocks that are not dominated by another block of the same class.
    fn topmost(&self, classes: &[u32]) -> Vec<(MergedKind, Vec<Node>)> {
        let heap = self.heap;
        let mut is_wanted = vec![false; heap.classes().len()];
        for &class in classes {
            is_wanted.get_mut(class as usize).into_iter().for_each(|wanted| *wanted = true);
        }
        let wanted_class = |node: Node| {
            let class = heap.class_of().get(node as usize).copied()?;
            Some(class).filter(|&class| is_wanted.get(class as usize) == Some(&true))
        };
        let mut topmost = vec![Vec::new(); is_wanted.len()];
        let group = |node: Node| wanted_class(node).unwrap_or(NONE);
        heap.each_topmost(topmost.len(), group, |class, node| topmost[class].push(node));
        // Unreachable blocks are not in the tree.
        let parents = (0..heap.blocks() as Node).zip(&*heap.dominators().parent);
        for (node, _) in parents.filter(|(_, parent)| **parent == NONE) {
            wanted_class(node).into_iter().for_each(|class| topmost[class as usize].push(node));
        }
        let topmost = (0..).map(MergedKind::Class).zip(topmost);
        topmost.filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// The rows to list, largest first, and what is omitted.
    fn largest(
        &self,
        mut rows: Vec<u32>,
        about: impl Fn(u32) -> (u64, MergedKind),
        min_share: f64,
    ) -> (Vec<u32>, DominatorsLeftOut) {
        let mut left_out = DominatorsLeftOut::default();
        let mut leave = |row: u32| {
            let bytes = about(row).0.saturating_mul(WORD);
            left_out.rows += 1;
            left_out.retained = left_out.retained.saturating_add(bytes);
        };
        // There may be millions: only those to be listed are sorted.
        let least = min_share * self.total as f64;
        rows.retain(|&row| {
            let is_told = about(row).0 as f64 >= least;
            (!is_told).then(|| leave(row));
            is_told
        });
        let order = |row: &u32| {
            let (words, kind) = about(*row);
            (Reverse(words), kind)
        };
        let most = if self.question.limit == 0 { usize::MAX } else { self.question.limit };
        let most = most.min(self.room.get());
        if most < rows.len() {
            rows.select_nth_unstable_by_key(most, order);
            rows.drain(most..).for_each(leave);
        }
        self.room.set(self.room.get() - rows.len());
        rows.sort_unstable_by_key(order);
        (rows, left_out)
    }

    /// The topmost rows, with those below.
    fn starts(&self, starts: &[(MergedKind, Vec<Node>)]) -> Rows {
        let about = |(kind, nodes): &(MergedKind, Vec<Node>)| (self.heap.retained_by(nodes), *kind);
        let about: Vec<_> = starts.iter().map(about).collect();
        let all = (0..starts.len() as u32).collect();
        let (told, left_out) = self.largest(all, |at| about[at as usize], 0.0);
        let row = |at: u32| {
            let (kind, nodes) = &starts[at as usize];
            let merging = Merging::of(self.heap, (*kind, nodes), self.depth() as u32);
            self.entry(&merging, 0, 1)
        };
        (told.into_iter().map(row).collect(), left_out)
    }

    /// The row at the end of the path, from one of these starts.
    fn further_down(&self, starts: &[(MergedKind, Vec<Node>)]) -> Result<DominatorRow, NotFound> {
        let path = &self.question.below;
        let deepest = path.len().min(MOST_LEVELS) + self.depth();
        for (kind, nodes) in starts {
            let merging = Merging::of(self.heap, (*kind, nodes), deepest as u32);
            let found = path.iter().try_fold(0, |entry, name| self.child(&merging, entry, name));
            if let Some(entry) = found {
                return Ok(self.entry(&merging, entry, 1));
            }
        }
        let path = path.join(" > ");
        Err(NotFound::new(format!("there is no such row in the dominator tree: {path}")))
    }

    /// The child of an entry with this name; the largest, if there are several.
    fn child(&self, merging: &Merging, entry: u32, name: &str) -> Option<u32> {
        let number = name.strip_prefix(['@', '#']).and_then(|digits| digits.parse::<Node>().ok());
        let is_it = |child: &&u32| match merging.entries[**child as usize].kind {
            MergedKind::Rest => false,
            MergedKind::Node(node) if Some(node) == number => true,
            kind => self.heap.describe_merged(kind) == name,
        };
        let named = merging.children.children(entry).iter().filter(is_it);
        named.copied().max_by_key(|&child| (merging.sums[child as usize].words, Reverse(child)))
    }

    /// Rows of single blocks below a row of the previous level, with those below.
    fn blocks(&self, nodes: Vec<Node>, level: usize) -> Rows {
        let (heap, tree) = (self.heap, self.heap.dominator_tree());
        let about = |node| (heap.retained_words(node), MergedKind::Node(node));
        let (told, left_out) = self.largest(nodes, about, self.min_share(level));
        let row = |node: Node| {
            let words = heap.weights().get(node as usize).copied().map_or(0, u64::from);
            let own = Sum { blocks: u64::from((node as usize) < heap.blocks()), words };
            let below = self.blocks(tree.children(node).to_vec(), level + 1);
            self.row(MergedKind::Node(node), own, heap.retained_words(node), below)
        };
        (told.into_iter().map(row).collect(), left_out)
    }

    /// The row of an entry, with those below.
    fn entry(&self, merging: &Merging, entry: u32, level: usize) -> DominatorRow {
        let about =
            |entry: u32| (merging.sums[entry as usize].words, merging.entries[entry as usize].kind);
        let below = merging.children.children(entry).to_vec();
        let (told, left_out) = self.largest(below, about, self.min_share(level));
        let rows = told.into_iter().map(|entry| self.entry(merging, entry, level + 1)).collect();
        let (words, kind) = about(entry);
        self.row(kind, merging.entries[entry as usize].own, words, (rows, left_out))
    }

    /// The number of levels.
    fn depth(&self) -> usize {
        self.question.depth.clamp(1, MOST_LEVELS)
    }

    /// The fraction of the heap that a row below this level must retain. All topmost rows are listed, and
    /// rows that are too deep never are.
    fn min_share(&self, level: usize) -> f64 {
        match level {
            0 => 0.0,
            _ if level >= self.depth() => f64::INFINITY,
            _ => self.question.min_share,
        }
    }

    fn row(&self, kind: MergedKind, own: Sum, words: u64, (rows, left_out): Rows) -> DominatorRow {
        DominatorRow {
            what: self.heap.describe_merged(kind),
            node: match kind {
                MergedKind::Node(node) => Some(node),
                MergedKind::Class(_) | MergedKind::Rest => None,
            },
            objects: own.blocks,
            shallow: own.words.saturating_mul(WORD),
            retained: words.saturating_mul(WORD),
            share: words as f64 / (self.total as f64).max(1.0),
            rows,
            left_out,
        }
    }
}
