//! Which root alone holds each block, and sums by class and root: a heap in a few kilobytes, for comparing many of them.

use std::collections::HashMap;

use bactrian_graph::{NONE, Node, inherit};

use super::{ClassKind, Heap, WORD};
use crate::sorted_rows::SortRows;

/// The modules, stacks and other roots that alone hold blocks.
pub struct SoleRoots {
    /// For each block the place of its root in `names`; none if several roots hold it, or no root does.
    of: Vec<u32>,
    names: Vec<String>,
}

impl SoleRoots {
    /// Finds them in the dominator tree.
    pub fn of(heap: &Heap) -> SoleRoots {
        let blocks = heap.blocks();
        let mut names: Vec<String> = Vec::new();
        let mut of = vec![NONE; blocks];
        // Each node inherits `index << 1 | is_kind`. The index into `names` counts from 1; the root of all has 0. Below it there are
        // kinds of roots, whose names those of the modules and threads below them replace; fields and frames keep these.
        inherit(&heap.dominators().parent, heap.root(), |node, above| {
            let (name, is_kind) = (above >> 1, above & 1 == 1);
            if (node as usize) < blocks {
                of[node as usize] = name.checked_sub(1).unwrap_or(NONE);
                return above;
            }
            if above != 0 && !is_kind {
                return above;
            }
            names.push(heap.describe(node));
            (names.len() as u32) << 1 | u32::from(above == 0)
        });
        SoleRoots { of, names }
    }

    /// What the roots are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of the name of the root that alone holds a block.
    pub fn place(&self, block: Node) -> Option<u32> {
        self.of.get(block as usize).copied().filter(|place| *place != NONE)
    }
}

/// The blocks of one class that one root holds. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClass {
    /// The class; none stands for all classes that are too small to be listed.
    pub class: Option<String>,
    /// What tells its blocks from others.
    pub kind: Option<ClassKind>,
    /// The root that alone holds them; none if several roots do, or no root does.
    pub root: Option<String>,
    /// Whether any root reaches them.
    pub is_reachable: bool,
    /// How many blocks there are.
    pub blocks: u64,
    /// Their shallow size.
    pub bytes: u64,
    /// Their retained size: the sum over those that no other of these blocks dominates.
    pub retained: u64,
}

/// Sums by class and root, the largest first. At most `limit` rows, which are or retain at least `share` of the heap; the others
/// are added up in two last rows, one for reachable blocks and one for unreachable ones.
pub fn held_classes(heap: &Heap, limit: usize, share: f64) -> Vec<HeldClass> {
    let roots = SoleRoots::of(heap);
    let parents = &heap.dominators().parent;
    let mut groups: Vec<(u32, Option<u32>, bool)> = Vec::new();
    let mut numbers: HashMap<(u32, Option<u32>, bool), u32> = HashMap::new();
    let of_block: Vec<u32> = (0..heap.blocks() as Node)
        .map(|block| {
            let class = heap.class_of().get(block as usize).copied().unwrap_or(0);
            let is_reachable = parents.get(block as usize).is_some_and(|parent| *parent != NONE);
            let group = (class, roots.place(block), is_reachable);
            *numbers.entry(group).or_insert_with(|| {
                groups.push(group);
                groups.len() as u32 - 1
            })
        })
        .collect();
    let totals = heap
        .totals_by(groups.len(), |node| of_block.get(node as usize).copied().unwrap_or(u32::MAX));
    let rows = groups.iter().zip(totals).map(|(&(class, root, is_reachable), total)| {
        let class = heap.classes().get(class as usize);
        HeldClass {
            class: class.map(|class| class.title()),
            kind: class.map(|class| class.kind),
            root: root.and_then(|place| roots.names.get(place as usize)).cloned(),
            is_reachable,
            blocks: total.blocks,
            bytes: total.words.saturating_mul(WORD),
            retained: total.retained.saturating_mul(WORD),
        }
    });
    let mut rows: Vec<HeldClass> = rows.collect();
    let by_name = |a: &HeldClass, b: &HeldClass| (&a.class, &a.root).cmp(&(&b.class, &b.root));
    // Few blocks may retain much.
    let weight = |row: &HeldClass| row.bytes.max(row.retained);
    rows.sort_rows_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| by_name(a, b)));
    let least = share * rows.iter().map(|row| row.bytes as f64).sum::<f64>();
    let large = rows.partition_point(|row| weight(row) as f64 >= least);
    let rest = rows.split_off(limit.min(large));
    rows.sort_rows_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| by_name(a, b)));
    for is_reachable in [true, false] {
        let small: Vec<&HeldClass> =
            rest.iter().filter(|row| row.is_reachable == is_reachable).collect();
        let sum = |of: fn(&HeldClass) -> u64| {
            small.iter().fold(0_u64, |sum, row| sum.saturating_add(of(row)))
        };
        if !small.is_empty() {
            rows.push(HeldClass {
                class: None,
                kind: None,
                root: None,
                is_reachable,
                blocks: sum(|row| row.blocks),
                bytes: sum(|row| row.bytes),
                retained: sum(|row| row.retained),
            });
        }
    }
    rows
}
