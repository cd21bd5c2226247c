//! What roots hold: for each kind of root; then for each module, thread, finaliser function etc.; then for
//! each field and stack line. Finalisers with one function are not listed one by one.
//!
//! Each row has four sizes. *Shallow*: the blocks that it points to directly. *Reachable*: everything
//! reachable from it, even if others hold it as well. *Retained*: what is reachable only through it, and
//! would be freed without it. *Share*: its fair share, in which each block is divided among those that point
//! to it; the shares of all roots add up to the heap.

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::Serialize;

use super::graph::HolderSizes;
use super::{Heap, Holder, HolderKind, WORD};

/// The requested part of the tree of roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootsShape {
    /// The number of levels: 1 for kinds of roots, 2 includes modules and threads, 3 everything.
    pub depth: u8,
    /// The most rows below each row; 0 for all.
    pub limit: usize,
}

/// What roots hold.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Roots {
    /// Number of blocks that no root reaches; zero in an intact snapshot.
    pub unreached_blocks: u64,
    /// The root of all.
    pub all: RootRow,
}

/// Sizes of a root, or of several together, in bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RootRow {
    /// The kind of roots.
    pub kind: HolderKind,
    /// Its name below the row that contains it.
    pub name: String,
    /// Its node, for `bactrian heap show @NUMBER`.
    pub node: Node,
    /// Shallow size: blocks that it points to directly.
    pub shallow: u64,
    /// Reachable size: everything that can be reached from it.
    pub reachable: u64,
    /// Retained size: everything that can be reached only through it.
    pub retained: u64,
    /// Fair share.
    pub share: f64,
    /// Its parts, by fair share.
    pub rows: Vec<RootRow>,
    /// Parts that are left out.
    pub left_out: LeftOut,
}

/// Rows that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Number of rows.
    pub rows: u64,
    /// Sum of their retained sizes.
    pub retained: u64,
    /// Sum of their fair shares.
    pub share: f64,
}

/// What a root, or several together, point to directly: available before anything is computed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FirstRootRow {
    /// The kind of roots.
    pub kind: HolderKind,
    /// Its name below the row that contains it.
    pub name: String,
    /// Its node.
    pub node: Node,
    /// Size of the blocks that it points to directly, in bytes.
    pub shallow: u64,
    /// Its parts, the largest first, at most `limit`.
    pub rows: Vec<FirstRootRow>,
}

/// What roots point to, on two levels: fast for a heap of any size.
pub fn first_roots(heap: &Heap, limit: usize) -> FirstRootRow {
    first_row(heap, heap.root(), most(limit))
}

fn first_row(heap: &Heap, node: Node, limit: usize) -> FirstRootRow {
    let holder = heap.holders().get(node);
    let level = holder.as_ref().map_or(u8::MAX, |holder| holder.level);
    let mut below: Vec<(u64, Node)> = match level < 2 {
        true => {
            let all = heap.holders().iter();
            let below = all.filter(|below| below.level > 0 && below.parent == node);
            below.map(|below| (heap.shallow(below.node), below.node)).collect()
        }
        false => Vec::new(),
    };
    below.sort_by_key(|&(words, node)| (std::cmp::Reverse(words), node));
    below.truncate(limit);
    FirstRootRow {
        kind: holder.map_or(HolderKind::Unknown, |holder| holder.kind),
        name: heap.holder_name(node),
        node,
        shallow: bytes(heap.shallow(node)),
        rows: below.into_iter().map(|(_, below)| first_row(heap, below, limit)).collect(),
    }
}

/// The sizes of roots.
pub fn roots(heap: &Heap, question: &RootsShape) -> Roots {
    let first = heap.blocks() as Node;
    let held = heap.held(&[]);
    let of = |node: Node| held.get((node - first) as usize).copied().unwrap_or_default();
    let mut below: Vec<Vec<Node>> = vec![Vec::new(); held.len()];
    let is_told = |holder: &&Holder| holder.level > 0 && !holder.is_one_finaliser();
    for holder in heap.holders().iter().filter(is_told) {
        if let Some(rows) = below.get_mut((holder.parent - first) as usize) {
            rows.push(holder.node);
        }
    }
    let largest_first = |rows: &mut Vec<Node>| {
        rows.sort_by(|&a, &b| {
            let (one, other) = (of(a), of(b));
            let shares = other.share.total_cmp(&one.share);
            shares.then(other.retained.cmp(&one.retained)).then(a.cmp(&b))
        });
    };
    below.iter_mut().for_each(largest_first);
    // The reachable size is the most expensive, and is computed only for listed rows.
    let mut told = vec![heap.root()];
    let mut next = 0;
    while let Some(&node) = told.get(next) {
        next += 1;
        let level = heap.holders().get(node).map_or(u8::MAX, |holder| holder.level);
        if level < question.depth {
            let rows = below.get((node - first) as usize).into_iter().flatten();
            told.extend(rows.take(most(question.limit)));
        }
    }
    let held = heap.held(&told);
    let telling = Telling { heap, question, first, held: &held, below: &below };
    Roots { unreached_blocks: heap.unreached(), all: telling.row(heap.root(), 0) }
}

fn most(limit: usize) -> usize {
    if limit == 0 { usize::MAX } else { limit }
}

struct Telling<'a> {
    heap: &'a Heap,
    question: &'a RootsShape,
    first: Node,
    held: &'a [HolderSizes],
    below: &'a [Vec<Node>],
}

impl Telling<'_> {
    /// A row with those below it; the recursion has at most four levels.
    fn row(&self, node: Node, level: u8) -> RootRow {
        let at = (node - self.first) as usize;
        let held = self.held.get(at).copied().unwrap_or_default();
        let all: &[Node] = self.below.get(at).map_or(&[], |rows| rows);
        let limit = if level < self.question.depth { most(self.question.limit) } else { 0 };
        let (told, rest) = all.split_at(limit.min(all.len()));
        let mut left_out = LeftOut { rows: rest.len() as u64, ..LeftOut::default() };
        for held in rest.iter().filter_map(|node| self.held.get((node - self.first) as usize)) {
            left_out.retained = left_out.retained.saturating_add(bytes(held.retained));
            left_out.share += held.share * WORD as f64;
        }
        let kind = self.heap.holders().get(node).map_or(HolderKind::Unknown, |holder| holder.kind);
        RootRow {
            kind,
            name: self.heap.holder_name(node),
            node,
            shallow: bytes(held.shallow),
            reachable: bytes(held.reached.unwrap_or(0)),
            retained: bytes(held.retained),
            share: held.share * WORD as f64,
            rows: told.iter().map(|&node| self.row(node, level + 1)).collect(),
            left_out,
        }
    }
}

fn bytes(words: u64) -> u64 {
    words.saturating_mul(WORD)
}
