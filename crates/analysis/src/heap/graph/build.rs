//! Builds a graph from a snapshot: groups of blocks are read in parallel and concatenated in order.

use bactrian_graph::{Column, Graph, MAX_NODES, Node};
use bactrian_snapshot::{
    BlockId, FiberOwner, Field, FieldValue, Group, Losses, MODULES_OF_BYTECODE, Result, Root,
    RootKind, Snapshot, SnapshotError, Tables, WeakSlot,
};
use bactrian_types::Typing;

use super::HeapError;
use super::classes::{CONTINUATION, Classifier, HOLDER, UNREAD, ephemeron_blocks, renumber};
use super::holders::{Holders, Planted};
use super::types::{NodeClasses, ShapeKey, Types};
use crate::heap::WORD;
use crate::heap::census::{Census, FieldCounts};
use crate::parallel;

/// A snapshot as a graph.
pub(super) struct Built {
    pub graph: Graph,
    pub weights: Column<u32>,
    /// The class of each node.
    pub class_of: Column<u32>,
    /// The shape of each node; None if it is the same as the class.
    pub shape_of: Option<Column<u32>>,
    /// The shapes by number.
    pub shape_keys: Vec<ShapeKey>,
    pub holders: Holders,
    pub census: Census,
    pub losses: Losses,
}

/// Reads all of a snapshot, and infers types if there is a type table.
pub(super) fn build(
    snapshot: &Snapshot,
    types: Option<&Types>,
    progress: &mut dyn FnMut(f64),
) -> std::result::Result<(Built, Option<Typing>), HeapError> {
    let tables = snapshot.tables();
    let blocks = snapshot.blocks() as usize;
    let most_holders = 3 * tables.roots.len() + 2 * tables.finalisers.len() + 16;
    if blocks + most_holders > MAX_NODES {
        return Err(bactrian_graph::GraphError::TooManyNodes(blocks + most_holders).into());
    }
    let classifier = Classifier::new(tables, snapshot.columns());
    let reading = Reading {
        snapshot,
        tables,
        classifier: &classifier,
        extras: extras(tables),
        ephemerons: ephemeron_blocks(tables),
        modules: BlockOfModules::find(tables),
    };
    let mut nodes = Nodes::with_room_for(snapshot);
    let mut losses = snapshot.losses().clone();
    // Type inference takes as long again.
    let part = if types.is_some() { 0.5 } else { 1.0 };
    let groups: Vec<usize> = (0..snapshot.groups().len()).collect();
    let read = |&index: &usize| reading.part(index);
    parallel::map_then(&groups, read, |&index, read| {
        progress(part * index as f64 / groups.len() as f64);
        let facts = &snapshot.groups()[index];
        // In a damaged file, groups may be missing.
        nodes.skip_to(facts.first.index());
        match read {
            Ok((part, None)) => nodes.add(&part),
            Ok((part, Some(error))) => {
                nodes.add(&part);
                losses.note_group(&error, 0);
            }
            Err(error) => {
                nodes.skip_to(facts.end() as usize);
                losses.note_group(&error, facts.blocks);
            }
        }
    });
    nodes.skip_to(blocks);
    let typing = types.map(|types| {
        Typing::infer(types.table(), snapshot, &mut |share| progress(part + (1.0 - part) * share))
    });
    progress(1.0);
    let built = nodes.finish(tables, losses, &classifier, typing.as_ref())?;
    Ok((built, typing))
}

/// Pointers that are not in fields, sorted by block: those from continuation stacks, and the data of
/// ephemerons, which live as long as the ephemeron.
fn extras(tables: &Tables) -> Vec<(BlockId, Node)> {
    let stacks = tables.continuations.iter().flat_map(|continuation| {
        continuation.held.iter().map(|held| (continuation.block, held.target.block.0))
    });
    let data = tables.ephemerons.iter().filter_map(|ephemeron| match ephemeron.data {
        WeakSlot::Block(pointer) => Some((ephemeron.block, pointer.block.0)),
        WeakSlot::Empty | WeakSlot::Other | WeakSlot::Dead => None,
    });
    let mut extras: Vec<_> = stacks.chain(data).collect();
    extras.sort_by_key(|(block, _)| *block);
    extras
}

/// In bytecode, the block that holds all modules. Each of its fields is also a root of its own, that of the
/// module. If it also counted as a pointer, it would be a second holder of everything, and no module would
/// retain anything alone.
struct BlockOfModules {
    block: BlockId,
    /// The targets of module roots, sorted.
    modules: Vec<BlockId>,
}

impl BlockOfModules {
    fn find(tables: &Tables) -> Option<BlockOfModules> {
        let is_it = |root: &&Root| match root.kind {
            RootKind::Hook { what } => tables.names.get(what) == MODULES_OF_BYTECODE,
            _ => false,
        };
        let block = tables.roots.iter().find(is_it)?.target.block;
        let of_modules = tables.roots.iter().filter(|root| {
            matches!(root.kind, RootKind::Global { .. } | RootKind::DynamicGlobal { .. })
        });
        let mut modules: Vec<_> = of_modules.map(|root| root.target.block).collect();
        modules.sort_unstable();
        Some(BlockOfModules { block, modules })
    }

    /// Whether a pointer duplicates a root. In a damaged snapshot it may not.
    fn repeats_a_root(&self, from: BlockId, to: BlockId) -> bool {
        from == self.block && self.modules.binary_search(&to).is_ok()
    }
}

/// What is needed to read a group.
struct Reading<'a> {
    snapshot: &'a Snapshot,
    tables: &'a Tables,
    classifier: &'a Classifier<'a>,
    extras: Vec<(BlockId, Node)>,
    ephemerons: Vec<BlockId>,
    modules: Option<BlockOfModules>,
}

/// The blocks of a group as nodes.
#[derive(Default)]
struct Part {
    /// For each block, the end of its targets in `targets`.
    ends: Vec<u32>,
    targets: Vec<Node>,
    weights: Vec<u32>,
    classes: Vec<u32>,
    census: Census,
}

impl Reading<'_> {
    /// Reads a group. The second result is the error in its fields, if there is one.
    fn part(&self, index: usize) -> Result<(Part, Option<SnapshotError>)> {
        let group = self.snapshot.group(index)?;
        let mut part = Part::default();
        part.census.blocks(&group, self.tables, self.snapshot.columns());
        let weight = |words: u64| u32::try_from(words.saturating_add(1)).unwrap_or(u32::MAX);
        part.weights = group.blocks().iter().map(|block| weight(block.words)).collect();
        let wrong = self.classify(&group, &mut part.classes).err();
        let mut targets = self.targets(&group, &mut part).err();
        Ok((part, targets.take().or(wrong)))
    }

    /// Determines the classes of a group's blocks.
    fn classify(&self, group: &Group<'_>, classes: &mut Vec<u32>) -> Result<()> {
        let shape =
            |block: &bactrian_snapshot::Block| self.classifier.of_shape(block.tag, block.words);
        classes.extend(group.blocks().iter().map(shape));
        let first = group.facts().first.index();
        let mut put = |block: BlockId, class: u32| {
            let place = block.index().checked_sub(first).and_then(|at| classes.get_mut(at));
            place.into_iter().for_each(|place| *place = class);
        };
        let after = self.ephemerons.partition_point(|block| *block < group.facts().first);
        let within = self.ephemerons[after..].iter();
        for &block in within.take_while(|block| u64::from(block.0) < group.facts().end()) {
            put(block, self.classifier.of_ephemeron());
        }
        // One column at a time, so that a damaged column loses only its own information.
        let closures = group.closures();
        for closure in closures.as_deref().unwrap_or_default() {
            put(closure.block, self.classifier.of_closure(closure));
        }
        let customs = group.customs();
        for custom in customs.as_deref().unwrap_or_default() {
            put(custom.block, self.classifier.of_custom(custom));
        }
        closures.and(customs).map(|_| ())
    }

    /// Determines the targets of a group's blocks. What was read before an error counts.
    fn targets(&self, group: &Group<'_>, part: &mut Part) -> Result<()> {
        let facts = group.facts();
        let (first, count) = (facts.first.0, facts.blocks as usize);
        let after = self.extras.partition_point(|(block, _)| *block < facts.first);
        let mut extras = self.extras[after..].iter().peekable();
        let Part { ends, targets, census, .. } = part;
        ends.reserve_exact(count);
        targets.reserve_exact(facts.edges.min(1 << 24) as usize);
        let mut finish = |ends: &mut Vec<u32>, targets: &mut Vec<Node>| {
            let block = BlockId(first + ends.len() as u32);
            while let Some((_, target)) = extras.next_if(|(from, _)| *from == block) {
                targets.push(*target);
            }
            ends.push(targets.len() as u32);
        };
        let mut counts = FieldCounts::default();
        let read = |field: Field| {
            let at = (field.block.0 - first) as usize;
            while ends.len() < at {
                finish(ends, targets);
            }
            counts.add(&field.value);
            if let FieldValue::Pointer(pointer) = field.value {
                let modules = self.modules.as_ref();
                if !modules.is_some_and(|all| all.repeats_a_root(field.block, pointer.block)) {
                    targets.push(pointer.block.0);
                }
            }
        };
        let ended = group.fields().and_then(|fields| fields.each(read));
        census.fields(&counts);
        while part.ends.len() < count {
            finish(&mut part.ends, &mut part.targets);
        }
        ended
    }
}

/// The nodes so far.
struct Nodes {
    offsets: Vec<u32>,
    targets: Vec<Node>,
    weights: Vec<u32>,
    classes: Vec<u32>,
    census: Census,
    /// The number of all targets, including those beyond the limit.
    edges: usize,
}

impl Nodes {
    fn with_room_for(snapshot: &Snapshot) -> Nodes {
        // The sizes that a damaged file claims are not trusted beyond what the file's own size permits.
        let blocks = snapshot.blocks() as usize;
        let edges =
            snapshot.edges().min(u64::from(u32::MAX)).min(snapshot.file_bytes() * 64) as usize;
        let mut offsets = Vec::with_capacity(blocks + 2);
        offsets.push(0);
        Nodes {
            offsets,
            targets: Vec::with_capacity(edges),
            weights: Vec::with_capacity(blocks + 1),
            classes: Vec::with_capacity(blocks + 1),
            census: Census::default(),
            edges: 0,
        }
    }

    fn add(&mut self, part: &Part) {
        self.edges += part.targets.len();
        if self.edges > bactrian_graph::MAX_EDGES {
            return;
        }
        let before = self.targets.len() as u32;
        self.offsets.extend(part.ends.iter().map(|end| before + end));
        self.targets.extend_from_slice(&part.targets);
        self.weights.extend_from_slice(&part.weights);
        self.classes.extend_from_slice(&part.classes);
        self.census.merge(&part.census);
    }

    /// Inserts lost blocks up to this number.
    fn skip_to(&mut self, node: usize) {
        let end = self.targets.len() as u32;
        if self.weights.len() < node {
            self.offsets.resize(node + 1, end);
            self.weights.resize(node, 0);
            self.classes.resize(node, UNREAD);
        }
    }

    /// Adds the roots that hold the blocks.
    fn finish(
        mut self,
        tables: &Tables,
        losses: Losses,
        classifier: &Classifier<'_>,
        typing: Option<&Typing>,
    ) -> std::result::Result<Built, HeapError> {
        if self.edges > bactrian_graph::MAX_EDGES {
            return Err(bactrian_graph::GraphError::TooManyEdges(self.edges).into());
        }
        let blocks = self.weights.len();
        self.add_stacks(tables);
        self.classes.push(HOLDER);
        let numbers = renumber(&mut self.classes, classifier.limit());
        let mut sorted =
            NodeClasses::new(std::mem::take(&mut self.classes), &numbers, typing, |number| {
                classifier.class(number)
            });
        let class_of = |node: Node| sorted.class_of.get(node as usize).copied().unwrap_or(u32::MAX);
        let mut planted = Holders::plant(tables, blocks as Node, class_of);
        self.hold_finalised(&mut planted);
        for targets in &planted.targets {
            self.targets.extend_from_slice(targets);
            self.offsets.push(self.targets.len() as u32);
        }
        let nodes = blocks + planted.holders.len();
        self.weights.resize(nodes, 0);
        sorted.resize(nodes);
        Ok(Built {
            graph: Graph::new(self.offsets.into(), self.targets.into())?,
            weights: self.weights.into(),
            class_of: sorted.class_of.into(),
            shape_of: sorted.shape_of.map(Column::from),
            shape_keys: sorted.keys,
            holders: planted.holders,
            census: self.census,
            losses,
        })
    }

    /// Adds the stacks of suspended fibers to the weights of the continuations that own them. A damaged file
    /// may name any block as the owner.
    fn add_stacks(&mut self, tables: &Tables) {
        for fiber in tables.fiber_stacks() {
            if let FiberOwner::Continuation(block) = fiber.owner
                && self.classes.get(block.index()) == Some(&CONTINUATION)
                && let Some(weight) = self.weights.get_mut(block.index())
            {
                let words = u32::try_from(fiber.bytes.div_ceil(WORD)).unwrap_or(u32::MAX);
                *weight = weight.saturating_add(words);
            }
        }
    }

    /// Lets finalisers hold the values that nothing else holds. The collector does the same: a value is kept
    /// for its finaliser when it is found unreachable, not before.
    fn hold_finalised(&self, planted: &mut Planted) {
        if planted.values.is_empty() {
            return;
        }
        let blocks = self.weights.len();
        let mut is_reached = vec![false; blocks];
        let mut waiting: Vec<Node> = planted.targets.iter().flatten().copied().collect();
        while let Some(node) = waiting.pop() {
            // Holders are among the targets too; what they hold is in the graph itself.
            let Some(reached) = is_reached.get_mut(node as usize) else { continue };
            if !std::mem::replace(reached, true) {
                let [start, end] = [0, 1].map(|next| self.offsets[node as usize + next] as usize);
                waiting.extend_from_slice(&self.targets[start..end]);
            }
        }
        let first = blocks as Node;
        for &(holder, value) in &planted.values {
            if is_reached.get(value as usize) == Some(&false)
                && let Some(targets) = planted.targets.get_mut((holder - first) as usize)
            {
                targets.push(value);
            }
        }
    }
}
