//! Through which field one block points to another. The graph does not contain this: it is read from the
//! snapshot, each group of blocks once.

use bactrian_graph::{NONE, Node};
use bactrian_snapshot::{FieldValue, Group, tag};

use crate::heap::{ClassKind, Heap};
use crate::parallel;

/// Fields of blocks up to this size are distinguished; those of larger blocks are treated as elements.
const FEW: u64 = 8;
/// How one node holds another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A root holds a block or another root.
    Root,
    /// A field of a small block, or of a closure's environment.
    Field(u64),
    /// A field of a large block.
    Element(u64),
    /// The stack of a continuation.
    Stack,
    /// The data of an ephemeron.
    Data,
    /// The block cannot be read.
    Unknown,
}

impl Step {
    /// The step without the index of an element.
    pub fn shape(self) -> Step {
        match self {
            Step::Element(_) => Step::Element(0),
            step => step,
        }
    }

    /// The step for people, with the field's name if the type is known; empty where a root holds something.
    pub fn text(self, heap: &Heap, from: Node) -> String {
        match self {
            Step::Root => String::new(),
            Step::Field(field) => {
                heap.field_title(from, field).unwrap_or_else(|| format!("field {field}"))
            }
            Step::Element(at) => format!("element {at}"),
            Step::Stack => "stack".to_owned(),
            Step::Data => "data".to_owned(),
            Step::Unknown => "unknown field".to_owned(),
        }
    }

    /// Likewise, with all elements treated alike.
    pub fn shape_text(self, heap: &Heap, from: Node) -> String {
        match self {
            Step::Element(_) => "an element".to_owned(),
            step => step.text(heap, from),
        }
    }

    /// How a node holds a target that none of its fields points to.
    pub fn beside_fields(heap: &Heap, from: Node) -> Step {
        if from as usize >= heap.blocks() {
            return Step::Root;
        }
        match heap.kind(from) {
            ClassKind::Continuation => Step::Stack,
            ClassKind::Ephemeron => Step::Data,
            _ => Step::Unknown,
        }
    }
}

/// Calls `visit` with each pointer field of a group: source, field, target. Unreadable fields are skipped.
fn pointers(group: &Group<'_>, mut visit: impl FnMut(Node, Step, Node)) {
    let first = group.facts().first.0;
    let Ok(fields) = group.fields() else { return };
    for field in fields.iter() {
        let Ok(field) = field else { return };
        if let FieldValue::Pointer(to) = field.value {
            let block = group.blocks().get((field.block.0 - first) as usize);
            let is_small =
                block.is_some_and(|block| block.words <= FEW || block.tag == tag::CLOSURE);
            let step = if is_small { Step::Field(field.index) } else { Step::Element(field.index) };
            visit(field.block.0, step, to.block.0);
        }
    }
}

/// How the first node of each pair holds the second: through the first such field.
pub fn steps(heap: &Heap, pairs: &[(Node, Node)]) -> Vec<Step> {
    let beside = pairs.iter().map(|(from, _)| Step::beside_fields(heap, *from));
    let mut found: Vec<Step> = beside.collect();
    let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
    order.sort_unstable_by_key(|&at| pairs[at as usize]);
    order.retain(|&at| (pairs[at as usize].0 as usize) < heap.blocks());
    let group_of =
        |at: u32| heap.snapshot().group_of(bactrian_snapshot::BlockId(pairs[at as usize].0));
    let by_group: Vec<&[u32]> = order.chunk_by(|a, b| group_of(*a) == group_of(*b)).collect();
    let read = |wanted: &&[u32]| steps_of_group(heap, pairs, wanted);
    parallel::map_then(&by_group, read, |_, steps| {
        for (at, step) in steps {
            found[at as usize] = step;
        }
    });
    found
}

/// Every field through which one of these sorted nodes points to another.
pub fn fields_between(heap: &Heap, nodes: &[Node]) -> Vec<(Node, Step, Node)> {
    let group_of = |node: &Node| heap.snapshot().group_of(bactrian_snapshot::BlockId(*node));
    let blocks = &nodes[..nodes.partition_point(|&node| (node as usize) < heap.blocks())];
    let by_group: Vec<&[Node]> = blocks.chunk_by(|a, b| group_of(a) == group_of(b)).collect();
    let is_one = |node: Node| nodes.binary_search(&node).is_ok();
    let between = |part: &&[Node]| {
        let mut found = Vec::new();
        let group = part.first().and_then(group_of).map(|index| heap.snapshot().group(index));
        let Some(Ok(group)) = group else { return found };
        pointers(&group, |from, step, to| {
            if is_one(from) && is_one(to) {
                found.push((from, step, to));
            }
        });
        found
    };
    parallel::map(&by_group, between).into_iter().flatten().collect()
}

fn steps_of_group(heap: &Heap, pairs: &[(Node, Node)], wanted: &[u32]) -> Vec<(u32, Step)> {
    let mut found = Vec::new();
    let index = wanted.first().map(|&at| bactrian_snapshot::BlockId(pairs[at as usize].0));
    let group = index.and_then(|block| heap.snapshot().group_of(block));
    let Some(Ok(group)) = group.map(|index| heap.snapshot().group(index)) else { return found };
    // Many paths may contain the same pair, and blocks may have many fields: equal pairs are resolved
    // together.
    let pair = |at: u32| pairs[at as usize];
    let wanted: Vec<&[u32]> = wanted.chunk_by(|&a, &b| pair(a) == pair(b)).collect();
    let mut is_found = vec![false; wanted.len()];
    let mut next = 0;
    pointers(&group, |from, step, to| {
        while wanted.get(next).is_some_and(|same| pair(same[0]).0 < from) {
            next += 1;
        }
        if wanted.get(next).is_none_or(|same| pair(same[0]).0 > from) {
            return;
        }
        let place = wanted[next..].binary_search_by_key(&(from, to), |same| pair(same[0]));
        if let Ok(at) = place.map(|at| next + at)
            && !std::mem::replace(&mut is_found[at], true)
        {
            found.extend(wanted[at].iter().map(|&same| (same, step)));
        }
    });
    found
}

/// How nodes are held by their predecessors on shortest paths, one byte each.
pub struct Labels {
    bytes: Vec<u8>,
}

const ELEMENT: u8 = 254;
const UNREAD: u8 = 255;

impl Labels {
    /// Reads the steps to all nodes in `is_wanted` from their predecessors in `before`.
    pub fn read(heap: &Heap, before: &[Node], is_wanted: &[bool]) -> Labels {
        let mut bytes = vec![UNREAD; before.len()];
        // Groups without a predecessor of a wanted node need not be read.
        let snapshot = heap.snapshot();
        let mut is_needed = vec![false; snapshot.groups().len()];
        for (&from, _) in
            before.iter().zip(is_wanted).filter(|(from, wanted)| **wanted && **from != NONE)
        {
            if let Some(group) = snapshot.group_of(bactrian_snapshot::BlockId(from)) {
                is_needed[group] = true;
            }
        }
        let needed: Vec<usize> = (0..is_needed.len()).filter(|&group| is_needed[group]).collect();
        let read = |&index: &usize| -> Vec<(Node, u8)> {
            let mut found = Vec::new();
            let Ok(group) = snapshot.group(index) else { return found };
            pointers(&group, |from, step, to| {
                let to_index = to as usize;
                if before.get(to_index) == Some(&from) && is_wanted.get(to_index) == Some(&true) {
                    let byte = match step {
                        Step::Field(field) => field.min(u64::from(ELEMENT)) as u8,
                        _ => ELEMENT,
                    };
                    found.push((to, byte));
                }
            });
            found
        };
        parallel::map_then(&needed, read, |_, found| {
            for (to, byte) in found {
                let place = &mut bytes[to as usize];
                // Of several fields the first counts.
                *place = (*place).min(byte);
            }
        });
        Labels { bytes }
    }

    /// How a node is held by its predecessor.
    pub fn step(&self, heap: &Heap, from: Node, to: Node) -> Step {
        match self.bytes.get(to as usize) {
            None | Some(&UNREAD) => Step::beside_fields(heap, from),
            Some(&ELEMENT) => Step::Element(0),
            Some(&field) => Step::Field(u64::from(field)),
        }
    }
}
