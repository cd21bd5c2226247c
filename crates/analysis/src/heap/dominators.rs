//! The tree of dominators, opened from above: what would be free if a block, or all blocks of a class, were not there.
//!
//! By class, each level shows what is held by the level above, all blocks of a class in one row, as [`super::merged`]
//! tells: a list or a tree is one row and not a million levels. What is held by several roots together has no root above
//! it, and stands beside them.

use std::cell::Cell;
use std::cmp::Reverse;

use bactrian_graph::{NONE, Node};
use schemars::JsonSchema;
use serde::Serialize;

use super::merged::{MergedKind, Merging, Sum};
use super::{Found, Heap, NotFound, WORD};

/// Levels that are told at most, whatever is asked for.
pub const MOST_LEVELS: usize = 60;

/// How much of the tree is told.
#[derive(Clone, Debug, PartialEq)]
pub struct DominatorsShape {
    /// Where to begin; the root of all if nothing is said.
    pub of: Option<Found>,
    /// Then go down, row by row: what each is called, or `@` and its node. Only where blocks of a class are together.
    pub below: Vec<String>,
    /// Each block by itself, instead of all blocks of a class together.
    pub by_block: bool,
    /// Levels.
    pub depth: usize,
    /// Rows at each place; 0 for all.
    pub limit: usize,
    /// Leave out rows that dominate less than this part of the heap.
    pub min_share: f64,
    /// No more rows are told in all.
    pub most_rows: usize,
}

/// A part of the tree of dominators. Sizes are in bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DominatorTree {
    /// All blocks that can be reached.
    pub total: u64,
    /// The topmost rows: one, or as many classes as were asked for.
    pub rows: Vec<DominatorRow>,
    /// Topmost rows that are not told.
    pub left_out: DominatorsLeftOut,
}

/// Blocks that are held by the row above, with what they hold.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DominatorRow {
    /// The class, or what the block or root is.
    pub what: String,
    /// The number of the node, if the row is one block or root: for `bactrian heap show @NUMBER`.
    pub node: Option<Node>,
    /// How many blocks.
    pub objects: u64,
    /// Their bytes.
    pub shallow: u64,
    /// What would be free without them, themselves included. What belongs to a row above, because it is of that row's
    /// class, is counted there only.
    pub retained: u64,
    /// The part of all that is.
    pub share: f64,
    /// What they hold, largest first.
    pub rows: Vec<DominatorRow>,
    /// What they hold that is not told: too small, too many or too deep.
    pub left_out: DominatorsLeftOut,
}

/// Rows that are not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DominatorsLeftOut {
    /// How many.
    pub rows: u64,
    /// What they dominate.
    pub retained: u64,
}

/// Opens the tree of dominators.
///
/// # Errors
/// There is no row as those that are to be gone down to.
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
    /// Words.
    total: u64,
    /// How many more rows may be told.
    room: Cell<usize>,
}

/// Rows that are told, and what is not.
type Rows = (Vec<DominatorRow>, DominatorsLeftOut);

impl Opening<'_> {
    /// The blocks of each of these classes that no block of the same class dominates.
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
        // What nothing holds is in no tree.
        let parents = (0..heap.blocks() as Node).zip(&*heap.dominators().parent);
        for (node, _) in parents.filter(|(_, parent)| **parent == NONE) {
            wanted_class(node).into_iter().for_each(|class| topmost[class as usize].push(node));
        }
        let topmost = (0..).map(MergedKind::Class).zip(topmost);
        topmost.filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// Which rows are told, largest first, and what is left out.
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
        // There may be millions of them: only those that are told are put in order.
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

    /// Rows that have none above them, with those below.
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

    /// The row that is reached by going down from one of these.
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
        Err(NotFound::new(format!("there is no such row in the tree of dominators: {path}")))
    }

    /// The entry below another with this name; the largest, if there are several.
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

    /// Rows of blocks, each by itself, that have a row of this level above them; with those below.
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

    /// How many levels are told.
    fn depth(&self) -> usize {
        self.question.depth.clamp(1, MOST_LEVELS)
    }

    /// What part of everything a row must have below one of this level; the topmost are all told, and those that are too
    /// deep are not.
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
