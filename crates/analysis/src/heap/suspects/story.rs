//! What is reported about a block that retains much: the root and fields that lead to it, the closures that
//! captured it, and the allocation sites.

use std::collections::HashMap;

use bactrian_graph::Node;
use bactrian_snapshot::SnapshotLocation;

use super::Look;
use crate::heap::age::Ages;
use crate::heap::{ClassKind, WORD, paths};
use crate::library::place_of;
use crate::units::{show_bytes, show_count, show_time};

/// Closures are named if they retain this fraction of it.
const CAPTURED: f64 = 0.3;
/// An allocation site is named if this fraction of the samples comes from it.
const MADE_THERE: f64 = 0.2;
/// Younger blocks, in microseconds, are not called old.
const OLD: u64 = 1_000_000;
/// The most steps from the root that are listed.
const STEPS: usize = 4;

/// Everything that a block dominates.
pub(super) struct Below {
    is_below: Vec<bool>,
    /// Blocks and words by class.
    by_class: Vec<(u64, u64)>,
    /// By class, the closures that are not below other closures, and what they dominate.
    closures: HashMap<u32, (u64, u64)>,
}

impl Look<'_> {
    /// Examines everything that a block dominates.
    pub(super) fn below(&self, node: Node) -> Below {
        let (heap, tree) = (self.heap, self.heap.dominator_tree());
        let (class_of, weights) = (heap.class_of(), heap.weights());
        let mut below = Below {
            is_below: vec![false; heap.blocks()],
            by_class: vec![(0, 0); heap.classes().len()],
            closures: HashMap::new(),
        };
        let is_closure = |class: u32| {
            heap.classes().get(class as usize).is_some_and(|it| it.kind == ClassKind::Closure)
        };
        let mut waiting = vec![(node, false)];
        while let Some((node, mut is_captured)) = waiting.pop() {
            if let Some(is_below) = below.is_below.get_mut(node as usize) {
                *is_below = true;
                let class = class_of.get(node as usize).copied().unwrap_or(u32::MAX);
                if let Some((blocks, words)) = below.by_class.get_mut(class as usize) {
                    *blocks += 1;
                    *words += u64::from(weights[node as usize]);
                }
                if !is_captured && is_closure(class) {
                    is_captured = true;
                    let (count, words) = below.closures.entry(class).or_default();
                    *count += 1;
                    *words += heap.retained_words(node);
                }
            }
            waiting.extend(tree.children(node).iter().map(|&child| (child, is_captured)));
        }
        below
    }

    /// How the nearest root leads to a block: `field table of Cache, .data`.
    pub(super) fn held_by(&self, node: Node) -> Option<String> {
        let found = paths(self.heap, node);
        let steps = &found.rows.first()?.steps;
        let (root, steps) = steps.split_first()?;
        let mut told = root.what.clone();
        for step in steps.iter().take(STEPS).filter(|step| !step.step.is_empty()) {
            told.push_str(&format!(", {}", step.step));
        }
        if steps.len() > STEPS {
            told.push_str(", ..");
        }
        Some(told)
    }

    /// The class with the most words: its number, blocks and words.
    pub(super) fn largest_class(&self, below: &Below) -> (u32, u64, u64) {
        let largest = (0_u32..).zip(&below.by_class).max_by_key(|(_, (_, words))| *words);
        largest.map_or((u32::MAX, 0, 0), |(class, &(blocks, words))| (class, blocks, words))
    }

    /// The closures that captured much of it, out of `all` words.
    pub(super) fn captured(&self, below: &Below, all: u64) -> Option<String> {
        let (class, &(count, words)) =
            below.closures.iter().max_by_key(|(class, (_, words))| (*words, *class))?;
        if (words as f64) < CAPTURED * all as f64 {
            return None;
        }
        let class = self.heap.classes().get(*class as usize)?.title();
        let closures = match (count, class.strip_prefix("closure ")) {
            (1, _) | (_, None) => class,
            (count, Some(name)) => format!("{} closures {name}", show_count(count as f64)),
        };
        let share = 100.0 * words as f64 / (all as f64).max(1.0);
        Some(format!("{share:.0} % of it was captured by {closures}"))
    }

    /// Whether it is old and still growing; `words` is its size.
    pub(super) fn grows(&self, below: &Below, words: u64) -> Option<String> {
        let mut ages = Ages::default();
        for sample in &self.heap.tables().samples {
            if below.is_below.get(sample.block.index()) == Some(&true) {
                ages.add(self.heap, 0, sample);
            }
        }
        let age = ages.age(self.heap, 0).filter(|age| age.oldest.0.0 >= OLD)?;
        let rate = age.growth(words.saturating_mul(WORD) as f64)?;
        let since = show_time(age.oldest.0);
        Some(format!(
            "It is old and still grows: for {since}, by about {} per second",
            show_bytes(rate)
        ))
    }

    /// Where most of it was allocated.
    pub(super) fn made_at(&self, below: &Below) -> Option<String> {
        self.made(|block| below.is_below.get(block) == Some(&true))
    }

    /// Where most blocks of a class were allocated.
    pub(super) fn class_made_at(&self, name: &str) -> Option<String> {
        let classes: Vec<u32> = (0..)
            .zip(self.heap.classes())
            .filter(|(_, class)| class.title() == name)
            .map(|(number, _)| number)
            .collect();
        let class_of = self.heap.class_of();
        self.made(|block| class_of.get(block).is_some_and(|class| classes.contains(class)))
    }

    /// Where most of some blocks were allocated, according to samples.
    fn made(&self, is_wanted: impl Fn(usize) -> bool) -> Option<String> {
        let tables = self.heap.tables();
        let mut places: HashMap<SnapshotLocation, u64> = HashMap::new();
        let mut all = 0_u64;
        for sample in &tables.samples {
            if is_wanted(sample.block.index())
                && let Some(place) = place_of(tables, sample.stack, false)
            {
                *places.entry(place).or_default() += u64::from(sample.samples);
                all += u64::from(sample.samples);
            }
        }
        let key = |place: &SnapshotLocation| (place.line, place.start_char);
        let (place, samples) =
            places.into_iter().max_by_key(|(place, samples)| (*samples, key(place)))?;
        let is_much = samples as f64 >= MADE_THERE * all as f64;
        is_much.then(|| self.heap.location(&place)).flatten()
    }
}
