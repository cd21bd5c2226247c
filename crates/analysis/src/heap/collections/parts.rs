//! Finds the blocks that make up a collection.
//!
//! The search uses only classes and pointers: the next cell of a list cell has the same class, as do the
//! branches of a tree node, and nothing else that a cell holds does. Each block is visited a bounded number
//! of times, whatever is shared.

use bactrian_graph::Node;
use bactrian_types::Collection;

use super::Count;
use crate::heap::{ClassKind, Heap};

/// The length of a chain that is not known yet, and of one that is being measured.
const NEW: u32 = u32::MAX;
const OPEN: u32 = u32::MAX - 1;

/// Collections by class.
pub(super) struct Parts<'a> {
    heap: &'a Heap,
    /// For each class, the kind of collection and its counts.
    pub counts: Vec<Option<(Collection, Count)>>,
    /// Blocks that are part of another collection and do not count as collections themselves.
    is_part: Vec<bool>,
    /// The number of cells in a chain from each cell on, including the cell itself.
    lengths: Vec<u32>,
}

impl Parts<'_> {
    pub fn find(heap: &Heap) -> Parts<'_> {
        // A corrupt index may have pointers from blocks to roots.
        let nodes = heap.graph().nodes();
        let collections = class_collections(heap);
        let counts = collections.iter().map(|of| of.map(|of| (of, Count::default())));
        let mut parts = Parts {
            heap,
            counts: counts.collect(),
            is_part: vec![false; nodes],
            lengths: vec![NEW; nodes],
        };
        // Collections that contain other collections come first.
        let is_whole = |of: Collection| {
            matches!(
                of,
                Collection::Hashtbl | Collection::Queue | Collection::Stack | Collection::Buffer
            )
        };
        parts.every(&collections, |parts, node, of| match of {
            Collection::Hashtbl => parts.hashtbl(node),
            Collection::Queue | Collection::Stack => parts.record_of_cells(node),
            Collection::Buffer => parts.buffer(node),
            _ => {}
        });
        parts.every(&collections, |parts, node, of| match of {
            Collection::Array | Collection::Lazy => {}
            _ if is_whole(of) => {}
            _ => parts.mark_next(node),
        });
        parts.every(&collections, |parts, node, of| {
            if !is_whole(of) {
                parts.alone(node, of);
            }
        });
        parts
    }

    fn every(
        &mut self,
        collections: &[Option<Collection>],
        mut visit: impl FnMut(&mut Self, Node, Collection),
    ) {
        let heap = self.heap;
        for (node, &class) in (0..heap.blocks() as Node).zip(heap.class_of()) {
            if let Some(Some(of)) = collections.get(class as usize) {
                visit(self, node, *of);
            }
        }
    }

    fn class(&self, node: Node) -> u32 {
        self.heap.class_of().get(node as usize).copied().unwrap_or(u32::MAX)
    }

    fn words(&self, node: Node) -> u64 {
        self.heap.weights().get(node as usize).copied().map_or(0, u64::from)
    }

    fn count(&mut self, node: Node) -> Option<&mut Count> {
        let class = self.class(node) as usize;
        self.counts.get_mut(class)?.as_mut().map(|(_, count)| count)
    }

    /// The targets of a block that have its own class.
    fn alike(&self, node: Node) -> impl Iterator<Item = Node> + use<'_> {
        let class = self.class(node);
        let targets = self.heap.graph().successors(node).iter().copied();
        targets.filter(move |&to| self.class(to) == class)
    }

    /// The next cell of a chain: the last target of the cell's own class.
    fn next(&self, node: Node) -> Option<Node> {
        self.alike(node).last().filter(|&next| next != node)
    }

    /// Marks the continuation of a list cell or tree node as not a collection of its own.
    fn mark_next(&mut self, node: Node) {
        let (heap, class) = (self.heap, self.class(node));
        for &to in heap.graph().successors(node) {
            if to != node && self.class(to) == class {
                self.is_part[to as usize] = true;
            }
        }
    }

    /// The number of cells in a chain; cells of a cycle count once.
    fn length(&mut self, first: Node) -> u64 {
        let mut way = Vec::new();
        let mut next = Some(first);
        let mut length = loop {
            let Some(node) = next else { break 0 };
            match self.lengths.get(node as usize) {
                Some(&NEW) => {
                    self.lengths[node as usize] = OPEN;
                    way.push(node);
                    next = self.next(node);
                }
                Some(&OPEN) | None => break 0,
                Some(&known) => break known,
            }
        };
        for node in way.into_iter().rev() {
            length = length.saturating_add(1).min(OPEN - 1);
            self.lengths[node as usize] = length;
        }
        u64::from(length)
    }

    /// The number and words of a chain's cells that do not belong to another collection.
    fn chain(&mut self, first: Node) -> (u64, u64) {
        let (mut cells, mut words) = (0, 0);
        let mut next = Some(first);
        while let Some(node) = next
            && let Some(part) = self.is_part.get_mut(node as usize)
            && !std::mem::replace(part, true)
        {
            cells += 1;
            words += self.words(node);
            next = self.next(node);
        }
        (cells, words)
    }

    /// A record with an array of buckets, each a chain of cells.
    fn hashtbl(&mut self, node: Node) {
        let heap = self.heap;
        let mut words = self.words(node);
        let (mut elements, mut places, mut used) = (0, 0, 0);
        // The first pointer of the record leads to the bucket array.
        if let Some(&buckets) = heap.graph().successors(node).first()
            && heap.kind(buckets) == ClassKind::Structured
            && !std::mem::replace(&mut self.is_part[buckets as usize], true)
        {
            words += self.words(buckets);
            places = self.words(buckets).saturating_sub(1);
            for &cell in heap.graph().successors(buckets) {
                let (cells, own) = self.chain(cell);
                used += u64::from(cells > 0);
                elements += cells;
                words += own;
            }
        }
        if let Some(count) = self.count(node) {
            count.add(node, elements, elements);
            count.words += words;
            count.places += places;
            count.used += used;
        }
    }

    /// A record that points to the first cell, and possibly to the last.
    fn record_of_cells(&mut self, node: Node) {
        let first = self.heap.graph().successors(node).first().copied();
        let (cells, words) = first.map_or((0, 0), |first| self.chain(first));
        let own = self.words(node);
        if let Some(count) = self.count(node) {
            count.add(node, cells, cells);
            count.words += words + own;
        }
    }

    /// A record that points to bytes, in some versions through another record.
    fn buffer(&mut self, node: Node) {
        let heap = self.heap;
        let mut words = self.words(node);
        let mut room = 0;
        let mut waiting: Vec<Node> = heap.graph().successors(node).to_vec();
        while let Some(part) = waiting.pop() {
            let Some(is_part) = self.is_part.get_mut(part as usize) else { continue };
            if std::mem::replace(is_part, true) {
                continue;
            }
            words += self.words(part);
            match heap.kind(part) {
                ClassKind::String => room += self.words(part).saturating_sub(1),
                ClassKind::Structured => waiting.extend(heap.graph().successors(part)),
                _ => {}
            }
        }
        if let Some(count) = self.count(node) {
            count.add(node, room, room);
            count.words += words;
        }
    }

    /// Collections whose blocks are all of one class.
    fn alone(&mut self, node: Node, of: Collection) {
        let words = self.words(node);
        let is_part = self.is_part[node as usize];
        match of {
            Collection::Array => {
                if is_part {
                    return;
                }
                let elements = words.saturating_sub(1);
                if let Some(count) = self.count(node) {
                    count.add(node, elements, elements);
                    count.words += words;
                }
            }
            Collection::Lazy => {
                let is_forced = self.heap.kind(node) != ClassKind::Lazy;
                if let Some(count) = self.count(node) {
                    count.add(node, 1, 1);
                    count.words += words;
                    count.places += 1;
                    count.used += u64::from(is_forced);
                }
            }
            Collection::List | Collection::Seq => {
                self.cell(node, is_part, |parts, node| parts.length(node));
            }
            _ => self.cell(node, is_part, |parts, node| parts.size(node)),
        }
    }

    /// A list cell or tree node: an element, and if no other cell continues with it, a collection.
    fn cell(&mut self, node: Node, is_part: bool, size: impl Fn(&mut Self, Node) -> u64) {
        let size = if is_part { 0 } else { size(self, node) };
        let words = self.words(node);
        if let Some(count) = self.count(node) {
            if !is_part {
                count.add(node, size, 0);
            }
            count.elements += 1;
            count.words += words;
        }
    }

    /// The number of nodes in a tree.
    fn size(&mut self, top: Node) -> u64 {
        // Post-order. Where trees share branches, their sizes are known already.
        let mut way: Vec<Node> = vec![top];
        while let Some(&node) = way.last() {
            let at = node as usize;
            if self.lengths.get(at) == Some(&NEW) {
                self.lengths[at] = OPEN;
                let below: Vec<Node> = self.alike(node).collect();
                way.extend(below.into_iter().filter(|&to| self.lengths[to as usize] == NEW));
                continue;
            }
            way.pop();
            if self.lengths.get(at) == Some(&OPEN) {
                let known = |&to: &u32| self.lengths[to as usize];
                let below: Vec<Node> = self.alike(node).collect();
                let below = below.iter().map(known).filter(|&size| size < OPEN);
                let size = below.fold(1_u32, |sum, size| sum.saturating_add(size));
                self.lengths[at] = size.min(OPEN - 1);
            }
        }
        self.lengths.get(top as usize).map_or(0, |&size| u64::from(size))
    }
}

/// The kind of collection of each class.
fn class_collections(heap: &Heap) -> Vec<Option<Collection>> {
    let mut found = vec![None; heap.classes().len()];
    for (block, &class) in (0..heap.blocks() as Node).zip(heap.class_of()) {
        if let Some(place) = found.get_mut(class as usize)
            && place.is_none()
        {
            *place = Some(heap.type_class(block).and_then(|(_, of)| of.collection));
        }
    }
    found.into_iter().map(Option::flatten).collect()
}
