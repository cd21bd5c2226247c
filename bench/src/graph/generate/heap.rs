//! A heap that is being generated.

use std::ops::Range;

use crate::generate::random::Random;
use crate::graph::file::Written;

/// A field that is still empty.
const EMPTY: u32 = u32::MAX;
/// Nodes are shuffled within blocks of this size.
const BLOCK: usize = 64;

pub struct Heap {
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<u32>,
    pub random: Random,
    size: usize,
    /// Popular nodes to which all others point: the lower the number, the more often.
    hubs: Range<usize>,
    /// Closed records, which have no open fields below them: the most recent ones, and a sample of all.
    /// Pointers to these make no cycles.
    recent: [u32; 64],
    records: usize,
    closed: Vec<u32>,
    /// Indices in `targets` that wait for a structure.
    open: Vec<u32>,
}

impl Heap {
    pub fn new(size: usize, seed: u64) -> Heap {
        Heap {
            offsets: vec![0],
            targets: Vec::new(),
            weights: Vec::new(),
            random: Random::new(seed),
            size,
            hubs: 0..0,
            recent: [0; 64],
            records: 0,
            closed: Vec::new(),
            open: Vec::new(),
        }
    }

    pub fn nodes(&self) -> usize {
        self.weights.len()
    }

    pub fn is_full(&self) -> bool {
        self.nodes() >= self.size
    }

    /// Adds a node with this many pointer fields.
    pub fn node(&mut self, fields: usize) -> u32 {
        let node = self.nodes() as u32;
        self.targets.resize(self.targets.len() + fields, EMPTY);
        self.offsets.push(self.targets.len() as u32);
        let others = if fields == 0 { 1 + self.random.below(6) } else { self.random.below(2) };
        self.weights.push((1 + fields + others) as u32);
        node
    }

    /// Adds a node whose fields all wait for structures.
    pub fn open_node(&mut self, fields: usize) -> u32 {
        let node = self.node(fields);
        (0..fields).for_each(|field| self.leave_open(node, field));
        node
    }

    pub fn set(&mut self, node: u32, field: usize, target: u32) {
        let place = self.offsets[node as usize] as usize + field;
        self.targets[place] = target;
    }

    /// The target of a field, if it has one.
    pub fn get(&self, node: u32, field: usize) -> Option<u32> {
        let target = self.targets[self.offsets[node as usize] as usize + field];
        (target != EMPTY).then_some(target)
    }

    fn leave_open(&mut self, node: u32, field: usize) {
        self.open.push(self.offsets[node as usize] + field as u32);
    }

    /// Makes the popular nodes: constants, shared strings, descriptors.
    pub fn make_hubs(&mut self) {
        let count = ((self.size.min(1 << 30) as f64).sqrt() as usize).max(300);
        let first = self.nodes();
        for at in 0..count {
            let fields = self.random.below(3).min(at);
            let node = self.node(fields);
            for field in 0..fields {
                let target = first + self.random.below(at);
                self.set(node, field, target as u32);
            }
        }
        self.hubs = first..first + count;
        self.recent = [first as u32; 64];
        self.closed = vec![first as u32];
    }

    pub fn hub(&mut self) -> u32 {
        let unit = self.random.unit();
        let skewed = unit * unit * unit * unit;
        self.hubs.start as u32 + (skewed * self.hubs.len() as f64) as u32
    }

    /// Fills a field with a popular node, an old or a recent one, a leaf of its own, or leaves it open for a
    /// structure.
    pub fn fill(&mut self, node: u32, field: usize) {
        let unit = self.random.unit();
        let target = if unit < 0.30 {
            self.hub()
        } else if unit < 0.40 {
            self.anything()
        } else if unit < 0.80 {
            self.recent[self.random.below(self.recent.len())]
        } else if unit < 0.95 {
            self.node(0)
        } else {
            return self.leave_open(node, field);
        };
        self.set(node, field, target);
    }

    /// A closed node, except for a few pointers in all: with many of them, half of the heap would be one cycle.
    fn anything(&mut self) -> u32 {
        if self.random.chance(100.0 / self.size as f64) {
            return self.random.below(self.nodes()) as u32;
        }
        self.closed[self.random.below(self.closed.len())]
    }

    /// An element of a structure: most often a record of its own.
    pub fn element(&mut self) -> u32 {
        let unit = self.random.unit();
        if unit < 0.10 {
            return self.node(0);
        } else if unit < 0.17 {
            return self.hub();
        } else if unit < 0.22 {
            return self.anything();
        }
        let fields = 3 + self.random.below(7);
        let record = self.node(fields);
        let open = self.open.len();
        (0..fields).for_each(|field| self.fill(record, field));
        if self.open.len() == open {
            self.recent[self.records % self.recent.len()] = record;
            self.records += 1;
            if self.records.is_multiple_of(16) {
                self.closed.push(record);
            }
        }
        record
    }

    /// The number of fields that wait for a structure.
    pub fn waiting(&self) -> usize {
        self.open.len()
    }

    /// Drops a structure that was made when `waiting` fields waited: its open fields are not filled any more.
    pub fn forget(&mut self, waiting: usize) {
        self.open.truncate(waiting);
    }

    /// Puts a structure into a field that was waiting before the structure was made, most often a recent one.
    /// So a structure is never put into itself. False if no field waits.
    pub fn attach(&mut self, structure: u32, waiting: usize) -> bool {
        let waiting = waiting.min(self.open.len());
        let Some(last) = waiting.checked_sub(1) else { return false };
        let at = if self.random.chance(0.9) {
            last - self.random.below(waiting.min(200))
        } else {
            self.random.below(waiting)
        };
        // The order is kept where it matters: fields that waited before stay before.
        let place = self.open[at];
        self.open[at] = self.open[last];
        self.open.swap_remove(last);
        self.targets[place as usize] = structure;
        true
    }

    /// Fills the empty fields, adds the root, and shuffles the order.
    pub fn finish(mut self, roots: &[u32]) -> Written {
        let root = self.node(roots.len());
        roots.iter().enumerate().for_each(|(field, &target)| self.set(root, field, target));
        for place in 0..self.targets.len() {
            if self.targets[place] == EMPTY {
                self.targets[place] = self.hub();
            }
        }
        let nodes = self.nodes();
        let mut written = Written {
            offsets: Vec::with_capacity(nodes + 1),
            targets: Vec::with_capacity(self.targets.len()),
            weights: Vec::with_capacity(nodes),
            root: moved(root, nodes),
        };
        written.offsets.push(0);
        let mut order: Vec<u32> = Vec::with_capacity(BLOCK);
        for block in (0..nodes).step_by(BLOCK) {
            order.clear();
            order.extend(block as u32..(block + BLOCK).min(nodes) as u32);
            order.sort_unstable_by_key(|&node| moved(node, nodes));
            for &node in &order {
                let (start, end) = (self.offsets[node as usize], self.offsets[node as usize + 1]);
                let targets = &self.targets[start as usize..end as usize];
                written.targets.extend(targets.iter().map(|&target| moved(target, nodes)));
                written.offsets.push(written.targets.len() as u32);
                written.weights.push(self.weights[node as usize]);
            }
        }
        written
    }
}

/// The new position of a node: another one in its block, if the block is complete.
fn moved(node: u32, nodes: usize) -> u32 {
    let block = node / BLOCK as u32;
    if (block as usize + 1) * BLOCK > nodes {
        return node;
    }
    let within = node.wrapping_mul(2 * (block % 16) + 1).wrapping_add(block) % BLOCK as u32;
    block * BLOCK as u32 + within
}
