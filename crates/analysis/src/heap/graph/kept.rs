//! Transfers data between a heap and its index: loading, with all checks that numbers from a file need, and
//! saving.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use bactrian_graph::{Column, Components, Dominators, Graph, NONE, Node, is_forest};
use bactrian_snapshot::Snapshot;
use bactrian_types::Overview;

use super::Heap;
use super::build::Built;
use super::holders::{Holders, Planted};
use super::index::{Index, IndexSection, Sections};
use super::numbers::{ClassTotal, HeldNumbers, HolderSizes};
use super::types::{NO_TYPE, Named, ShapeKey};
use crate::heap::census::Census;

/// The numbers of a [`HolderSizes`]: shallow, reached, retained, share.
const OF_HELD: usize = 4;
/// The numbers of a [`ClassTotal`].
const OF_TOTAL: usize = 3;
/// Marks a number that was not computed.
const UNKNOWN: u64 = u64::MAX;

/// Loads the basic data of a heap from an index, with the type overview if `has_types`. None if anything does
/// not match the snapshot.
pub(super) fn load(
    index: &Index,
    snapshot: &Snapshot,
    has_types: bool,
) -> Option<(Built, Option<Overview>)> {
    let ((graph, weights), class_of) = rayon::join(
        || {
            rayon::join(
                || graph(index, IndexSection::Offsets, IndexSection::Targets),
                || index.column::<u32>(IndexSection::Weights),
            )
        },
        || index.column::<u32>(IndexSection::ClassOf),
    );
    let (graph, weights, class_of) = (graph?, weights?, class_of?);
    let overview = match has_types {
        true => Some(Overview::from_bytes(&index.column::<u8>(IndexSection::TypeOverview)?)?),
        false => None,
    };
    let shape_keys = shape_keys(index, overview.as_ref())?;
    let shape_of = match has_types {
        true => Some(index.column::<u32>(IndexSection::ShapeOf)?),
        false => None,
    };
    let census = Census::from_numbers(&index.column::<u64>(IndexSection::Census)?)?;
    let blocks = snapshot.blocks() as usize;
    let first = Node::try_from(blocks).ok()?;
    let class_at = |node: Node| class_of.get(node as usize).copied().unwrap_or(u32::MAX);
    let planted = Holders::plant(snapshot.tables(), first, class_at);
    let nodes = blocks.checked_add(planted.holders.len())?;
    let fits = graph.nodes() == nodes
        && weights.len() == nodes
        && class_of.len() == nodes
        && are_classes(&class_of, shape_of.as_deref(), &shape_keys, overview.as_ref(), snapshot)
        && holds_the_same(&graph, &planted);
    let Planted { holders, .. } = planted;
    let losses = snapshot.losses().clone();
    let built = Built { graph, weights, class_of, shape_of, shape_keys, holders, census, losses };
    fits.then_some((built, overview))
}

/// The shapes by number.
fn shape_keys(index: &Index, overview: Option<&Overview>) -> Option<Vec<ShapeKey>> {
    let numbers = index.column::<u32>(IndexSection::ClassNumbers)?;
    let Some(overview) = overview else {
        return Some(numbers.iter().map(|&number| ShapeKey { number, of: NO_TYPE }).collect());
    };
    let types = index.column::<u32>(IndexSection::ShapeTypes)?;
    let is_type = |&of: &u32| of == NO_TYPE || (of as usize) < overview.classes.len();
    let fits = types.len() == numbers.len() && types.iter().all(is_type);
    let keys = numbers.iter().zip(types.iter()).map(|(&number, &of)| ShapeKey { number, of });
    fits.then(|| keys.collect())
}

/// Whether all classes of nodes exist and are consistent with their shapes.
fn are_classes(
    class_of: &[u32],
    shape_of: Option<&[u32]>,
    keys: &[ShapeKey],
    overview: Option<&Overview>,
    snapshot: &Snapshot,
) -> bool {
    let Some(shape_of) = shape_of else {
        return class_of.iter().all(|&class| (class as usize) < keys.len());
    };
    let named = Named::of_snapshot(snapshot, keys, overview);
    let goes_with =
        |(class, shape): (&u32, &u32)| named.class_of_shape.get(*shape as usize) == Some(class);
    shape_of.len() == class_of.len() && class_of.iter().zip(shape_of).all(goes_with)
}

fn graph(index: &Index, offsets: IndexSection, targets: IndexSection) -> Option<Graph> {
    Graph::new(index.column(offsets)?, index.column(targets)?).ok()
}

/// Whether holders point to what the snapshot says. Holders of finalisers may point to their value as well.
fn holds_the_same(graph: &Graph, planted: &Planted) -> bool {
    let holders = planted.holders.iter().zip(&planted.targets);
    let mut values = planted.values.iter().peekable();
    holders.into_iter().all(|(holder, targets)| {
        let value = values.next_if(|(node, _)| *node == holder.node).map(|(_, value)| *value);
        match graph.successors(holder.node).strip_prefix(&targets[..]) {
            Some([]) => true,
            Some([one]) => Some(*one) == value,
            _ => false,
        }
    })
}

impl Heap {
    /// Loads a value from the index, or computes it.
    pub(super) fn kept_or<T>(
        &self,
        load: impl FnOnce(&Index) -> Option<T>,
        compute: impl FnOnce() -> T,
    ) -> T {
        let index = self.kept.as_ref().and_then(|kept| kept.index.as_ref());
        index.and_then(load).unwrap_or_else(|| {
            self.is_new.store(true, Ordering::Relaxed);
            compute()
        })
    }

    pub(super) fn load_dominators(&self, index: &Index) -> Option<Dominators> {
        let (parent, retained) = rayon::join(
            || {
                let parents = index.column::<Node>(IndexSection::Dominators)?;
                (parents.len() == self.graph.nodes() && is_forest(&parents)).then_some(parents)
            },
            || index.column::<u64>(IndexSection::Retained),
        );
        let (parent, retained) = (parent?, retained?);
        let all: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        let fits =
            retained.len() == self.graph.nodes() && retained.iter().all(|&words| words <= all);
        fits.then_some(Dominators { parent, retained })
    }

    pub(super) fn load_components(&self, index: &Index) -> Option<Components> {
        let of = index.column::<u32>(IndexSection::Components)?;
        let [count] = index.column::<u32>(IndexSection::ComponentCount)?[..] else { return None };
        let fits = of.len() == self.graph.nodes()
            && count as usize <= of.len()
            && of.iter().all(|&component| component < count || component == NONE);
        fits.then_some(Components { of, count })
    }

    pub(super) fn load_shares(&self, index: &Index) -> Option<Column<f64>> {
        let shares = index.column::<f64>(IndexSection::Shares)?;
        let fits =
            shares.len() == self.graph.nodes() && shares.iter().all(|share| share.is_finite());
        fits.then_some(shares)
    }

    pub(super) fn load_shortest(&self, index: &Index) -> Option<Column<Node>> {
        let parents = index.column::<Node>(IndexSection::Shortest)?;
        (parents.len() == self.graph.nodes() && is_forest(&parents)).then_some(parents)
    }

    pub(super) fn load_reversed(&self, index: &Index) -> Option<Graph> {
        let reversed = graph(index, IndexSection::ReversedOffsets, IndexSection::ReversedTargets)?;
        let fits = (reversed.nodes(), reversed.edges()) == (self.graph.nodes(), self.graph.edges());
        fits.then_some(reversed)
    }

    pub(super) fn load_held(&self, index: &Index) -> Option<HeldNumbers> {
        let numbers = index.column::<u64>(IndexSection::Held)?;
        let (unreached, numbers) = numbers.split_first()?;
        let held = numbers.chunks_exact(OF_HELD).map(|numbers| HolderSizes {
            shallow: numbers[0],
            reached: Some(numbers[1]).filter(|&words| words != UNKNOWN),
            retained: numbers[2],
            share: f64::from_bits(numbers[3]),
        });
        let held: Vec<_> = held.collect();
        let fits = numbers.len() == OF_HELD * self.holders.len()
            && held.iter().all(|held| held.share.is_finite());
        fits.then_some(HeldNumbers { held, unreached: *unreached })
    }

    pub(super) fn load_totals(
        &self,
        index: &Index,
        kind: IndexSection,
        count: usize,
    ) -> Option<Vec<ClassTotal>> {
        let numbers = index.column::<u64>(kind)?;
        let totals = numbers.chunks_exact(OF_TOTAL).map(|numbers| ClassTotal {
            blocks: numbers[0],
            words: numbers[1],
            retained: numbers[2],
        });
        (numbers.len() == OF_TOTAL * count).then(|| totals.collect())
    }

    /// Saves what was computed in the index of the snapshot. A failure to write is ignored, because
    /// everything can be recomputed. Nothing is saved of a damaged snapshot.
    pub fn keep(&self) {
        let Some(kept) = &self.kept else { return };
        if !self.losses.is_clean() || !self.is_new.load(Ordering::Relaxed) {
            return;
        }
        // Class totals are small, but saving them later would rewrite the whole index, which takes longer
        // than computing them now. A user who asked for components has waited long enough already.
        if self.dominators.get().is_some() && self.components.get().is_none() {
            self.class_totals();
        }
        self.is_new.store(false, Ordering::Relaxed);
        let held = self.numbers.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = held.as_ref().map(held_numbers);
        let [classes, tags] = [&self.numbers.classes, &self.numbers.tags]
            .map(|totals| totals.get().map(|totals| total_numbers(totals)));
        let census = self.census.numbers();
        let shapes: Vec<u32> = self.shape_keys.iter().map(|key| key.number).collect();
        let types: Vec<u32> = self.shape_keys.iter().map(|key| key.of).collect();
        let known = self.known.as_ref();
        let overview = known.map(|known| known.overview.to_bytes());
        let typing = known.and_then(|known| known.typing.get());
        let details = typing.map(|typing| (typing.details_to_bytes(), typing.form_numbers()));
        let mut sections = Sections::default();
        sections.add(IndexSection::Offsets, self.graph.offsets());
        sections.add(IndexSection::Targets, self.graph.targets());
        sections.add(IndexSection::Weights, &self.weights);
        sections.add(IndexSection::ClassOf, &self.class_of);
        sections.add(IndexSection::ClassNumbers, &shapes);
        if let Some((overview, shape_of)) = overview.as_ref().zip(self.shape_of.as_ref()) {
            sections.add(IndexSection::ShapeOf, shape_of);
            sections.add(IndexSection::ShapeTypes, &types);
            sections.add(IndexSection::TypeOverview, overview);
        }
        if let Some((typing, (details, forms))) = typing.zip(details.as_ref()) {
            let columns = typing.columns(forms);
            sections.add(IndexSection::TypeOf, columns.classes);
            sections.add(IndexSection::Categories, columns.categories);
            sections.add(IndexSection::Origins, columns.origins);
            sections.add(IndexSection::Reasons, columns.reasons);
            sections.add(IndexSection::Forms, columns.forms);
            sections.add(IndexSection::BlockWords, columns.words);
            sections.add(IndexSection::TypeDetails, details);
        }
        sections.add(IndexSection::Census, &census);
        if let Some(dominators) = self.dominators.get() {
            sections.add(IndexSection::Dominators, &dominators.parent);
            sections.add(IndexSection::Retained, &dominators.retained);
        }
        if let Some(components) = self.components.get() {
            sections.add(IndexSection::Components, &components.of);
            sections.add(IndexSection::ComponentCount, std::slice::from_ref(&components.count));
        }
        if let Some(shares) = self.shares.get() {
            sections.add(IndexSection::Shares, shares);
        }
        if let Some(shortest) = self.shortest.get() {
            sections.add(IndexSection::Shortest, shortest);
        }
        if let Some(reversed) = self.reversed.get() {
            sections.add(IndexSection::ReversedOffsets, reversed.offsets());
            sections.add(IndexSection::ReversedTargets, reversed.targets());
        }
        for (kind, numbers) in [
            (IndexSection::Held, &held),
            (IndexSection::ClassTotals, &classes),
            (IndexSection::TagTotals, &tags),
        ] {
            if let Some(numbers) = numbers {
                sections.add(kind, numbers);
            }
        }
        if let Some(old) = &kept.index {
            sections.add_old(
                old,
                &[
                    IndexSection::Dominators,
                    IndexSection::Retained,
                    IndexSection::Components,
                    IndexSection::ComponentCount,
                    IndexSection::Shares,
                    IndexSection::Shortest,
                    IndexSection::ReversedOffsets,
                    IndexSection::ReversedTargets,
                    IndexSection::Held,
                    IndexSection::ClassTotals,
                    IndexSection::TagTotals,
                    IndexSection::TypeOf,
                    IndexSection::Categories,
                    IndexSection::Origins,
                    IndexSection::Reasons,
                    IndexSection::Forms,
                    IndexSection::BlockWords,
                    IndexSection::TypeDetails,
                ],
            );
        }
        // If the directory is not ours or is full, or the index is too large, there is no index.
        let _ = sections.keep(&kept.store, &kept.subject);
    }
}

fn held_numbers(numbers: &HeldNumbers) -> Vec<u64> {
    let held = numbers.held.iter().flat_map(|held| {
        let reached = held.reached.unwrap_or(UNKNOWN);
        [held.shallow, reached, held.retained, held.share.to_bits()]
    });
    std::iter::once(numbers.unreached).chain(held).collect()
}

fn total_numbers(totals: &[ClassTotal]) -> Vec<u64> {
    totals.iter().flat_map(|total| [total.blocks, total.words, total.retained]).collect()
}
