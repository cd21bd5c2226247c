//! The details of one block or root: what it is, its fields, and what points to it.

use bactrian_graph::{NONE, Node};
use bactrian_snapshot::{
    BlockId, FiberOwner, Field, FieldValue, FinaliserKind, SnapshotLocation, StackId, WeakSlot, tag,
};
use bactrian_trace::Micros;
use schemars::JsonSchema;
use serde::Serialize;

use super::age::age_of;
use super::value::{immediate, value};
use super::{Heap, ValueLimits, WORD};
use crate::parallel;
use crate::units::Time;

/// The most frames listed of an allocation's call stack.
const FRAMES: usize = 20;
/// The number of edges per parallel task in the search for predecessors.
const PIECE: usize = 1 << 20;

/// One block or root.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The block or root.
    pub this: NodeLine,
    /// The address of its first field; null for a root.
    pub address: Option<String>,
    /// The class that it is counted in.
    pub class: String,
    /// Its type, and where that comes from; null if unknown.
    pub of_type: Option<KnownType>,
    /// The block, or the only block that a root points to, as an OCaml value, to the requested depth.
    pub value: Option<String>,
    /// Its space: `major`, `minor`, `static`.
    pub space: Option<&'static str>,
    /// Shallow size with header; for a suspended continuation, including its stacks.
    pub shallow: u64,
    /// Size of the fiber stacks that a suspended continuation keeps.
    pub fiber_stacks: u64,
    /// Retained size: what would be freed without it, including itself.
    pub retained: u64,
    /// Share of the retained size in all reachable blocks.
    pub share: f64,
    /// Its immediate dominator: the nearest block or root that is on every path from a root to it.
    pub dominator: Option<NodeLine>,
    /// The beginning of a string, if the snapshot keeps it.
    pub text: Option<String>,
    /// Memory that it holds outside the heap, in bytes.
    pub external: u64,
    /// Its contents: fields, stacks, data; for a root, what it points to.
    pub fields: Vec<FieldLine>,
    /// Number of its fields.
    pub field_count: u64,
    /// Blocks and roots that point to it, those with the largest retained size first.
    pub held_by: Vec<NodeLine>,
    /// Number of pointers to it.
    pub held_by_count: u64,
    /// Number of distinct blocks and roots that point to it.
    pub holder_count: u64,
    /// Number of ephemerons with it as a key and of weak arrays that contain it; they do not hold it.
    pub weakly_held_by: u64,
    /// Finalisers that will be called when it dies.
    pub finalisers: Vec<NodeLine>,
    /// Where and when it was allocated, if it was sampled.
    pub allocation: Option<Allocation>,
}

/// The type of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownType {
    /// The type as a programmer writes it.
    pub name: String,
    /// Where it comes from, such as `global Main.table` or `sampled at main.ml:12`.
    pub origin: Option<String>,
    /// Whether it contains type variables.
    pub is_polymorphic: bool,
}

/// A block or root in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeLine {
    /// Its node.
    pub node: Node,
    /// A description: class, or name of the root.
    pub what: String,
    /// Retained size in bytes.
    pub retained: u64,
}

/// A field of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldLine {
    /// The field's name or number from 0, or `stack`, `data`, `key 0`; empty for what a root points to.
    pub place: String,
    /// Its value, if it is not a block.
    pub value: Option<String>,
    /// The block that it points to.
    pub block: Option<NodeLine>,
}

/// Where and when a block was allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Allocation {
    /// The frames, innermost first; empty if the trace does not have them.
    pub frames: Vec<String>,
    /// When, since recording began.
    pub time: Option<Time>,
    /// Its age when the snapshot was taken.
    pub age: Option<Time>,
}

/// Describes a block or root. At most `limit` fields and predecessors are listed; 0 for all.
pub fn show(heap: &Heap, node: Node, limit: usize, limits: &ValueLimits) -> Shown {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let block = heap.block(node);
    let dominator = heap.dominators().parent.get(node as usize).copied();
    let (fields, field_count) = fields(heap, node, limit);
    let (held_by, held_by_count, holder_count) = held_by(heap, node, limit);
    let retained = heap.retained_words(node);
    let custom = block.filter(|block| block.tag == tag::CUSTOM).and_then(|_| heap.custom(node));
    let prefix = heap.text(node).and_then(|text| text.prefix);
    Shown {
        this: heap.line(node),
        address: block.map(|block| format!("{:#x}", block.address)),
        class: heap.class(node).title(),
        of_type: known_type(heap, valued(heap, node)),
        value: value(heap, valued(heap, node), limits),
        space: block.map(|block| heap.space(block.address)),
        shallow: u64::from(heap.weights().get(node as usize).copied().unwrap_or(0)) * WORD,
        fiber_stacks: heap.stack_bytes(node),
        retained: retained.saturating_mul(WORD),
        share: retained as f64 / (heap.reached_words() as f64).max(1.0),
        dominator: dominator.filter(|&above| above != NONE).map(|above| heap.line(above)),
        text: prefix.map(|bytes| bytes.escape_ascii().to_string()),
        external: custom.map_or(0, |custom| custom.external_bytes),
        fields,
        field_count,
        held_by,
        held_by_count,
        holder_count,
        weakly_held_by: weakly_held_by(heap, node),
        finalisers: finalisers(heap, node),
        allocation: allocation(heap, node),
    }
}

impl Heap {
    /// The words that would be freed without a node.
    pub fn retained_words(&self, node: Node) -> u64 {
        self.dominators().retained.get(node as usize).copied().unwrap_or(0)
    }

    /// The bytes of the fiber stacks of a suspended continuation; 0 for other nodes.
    pub fn stack_bytes(&self, node: Node) -> u64 {
        let fibers = self.tables().fiber_stacks().iter();
        let own = fibers.filter(|fiber| fiber.owner == FiberOwner::Continuation(BlockId(node)));
        own.fold(0, |sum, fiber| sum.saturating_add(fiber.bytes))
    }

    /// A node in one line.
    pub fn line(&self, node: Node) -> NodeLine {
        let retained = self.retained_words(node).saturating_mul(WORD);
        NodeLine { node, what: self.describe(node), retained }
    }

    /// The space of an address: minor, major or static.
    pub fn space(&self, address: u64) -> &'static str {
        use bactrian_snapshot::SpaceKind::{Major, Minor, Static};
        match self.tables().space_of(address).map(|space| space.kind) {
            Some(Major) => "major",
            Some(Minor) => "minor",
            Some(Static) => "static",
            None => "unknown",
        }
    }
}

fn fields(heap: &Heap, node: Node, limit: usize) -> (Vec<FieldLine>, u64) {
    let pointer = |place: String, target: Node| FieldLine {
        place,
        value: None,
        block: Some(heap.line(target)),
    };
    if heap.holders().get(node).is_some() {
        let held = heap.graph().successors(node);
        let lines = held.iter().take(limit).map(|&target| pointer(String::new(), target));
        return (lines.collect(), held.len() as u64);
    }
    let tables = heap.tables();
    let mut lines = Vec::new();
    let mut count = 0;
    // Numbers are computed only for listed lines: an array may have millions of elements.
    let mut add = |line: &dyn Fn() -> FieldLine| {
        count += 1;
        if lines.len() < limit {
            lines.push(line());
        }
    };
    let plain = |place: String, value: String| FieldLine { place, value: Some(value), block: None };
    if let Some(closure) = heap.closure(node) {
        for code in &closure.codes {
            let code = tables.codes.get(code.index());
            let name = code.and_then(|code| heap.location(&code.location));
            let name = name.unwrap_or_else(|| "unknown function".to_owned());
            add(&|| plain("code".to_owned(), name.clone()));
        }
    }
    let block = BlockId(node);
    for &Field { index, value, .. } in heap.fields(node).iter() {
        let place = || heap.field_title(node, index).unwrap_or_else(|| index.to_string());
        let of = || heap.field_class(node, index);
        add(&|| match value {
            FieldValue::Immediate(None) if of().is_none() => plain(place(), "immediate".to_owned()),
            FieldValue::Immediate(number) => plain(place(), immediate(of(), number)),
            FieldValue::Outside => plain(place(), "pointer out of the heap".to_owned()),
            FieldValue::Missing => plain(place(), "a block that is missing in the file".to_owned()),
            FieldValue::Pointer(to) => pointer(place(), to.block.0),
        });
    }
    if let Ok(at) = tables.continuations.binary_search_by_key(&block, |one| one.block) {
        for held in &tables.continuations[at].held {
            let frame = held.frame.and_then(|frame| tables.frames.get(frame.index()));
            let frame = frame.and_then(|frame| heap.location(&frame.location));
            let place = frame.map_or_else(|| "stack".to_owned(), |frame| format!("frame {frame}"));
            add(&|| pointer(place.clone(), held.target.block.0));
        }
    }
    if let Ok(at) = tables.ephemerons.binary_search_by_key(&block, |one| one.block) {
        let ephemeron = &tables.ephemerons[at];
        let slot = |place: String, slot: WeakSlot| match slot {
            WeakSlot::Block(to) => pointer(place, to.block.0),
            WeakSlot::Empty => plain(place, "empty".to_owned()),
            WeakSlot::Other => plain(place, "no block".to_owned()),
            WeakSlot::Dead => plain(place, "a block that is dead".to_owned()),
        };
        for (index, &key) in ephemeron.keys.iter().enumerate() {
            add(&|| slot(format!("key {index}"), key));
        }
        add(&|| slot("data".to_owned(), ephemeron.data));
    }
    (lines, count)
}

/// The nodes that point to a node, found by scanning all edges, which is faster than reversing the graph.
pub(super) fn predecessors(heap: &Heap, node: Node) -> Vec<Node> {
    let graph = heap.graph();
    let (offsets, targets) = (graph.offsets(), graph.targets());
    let starts: Vec<usize> = (0..targets.len()).step_by(PIECE).collect();
    let found: Vec<Vec<Node>> = parallel::map(&starts, |&start| {
        let piece = targets[start..].iter().take(PIECE).zip(start as u32..);
        let edges = piece.filter(|(target, _)| **target == node).map(|(_, edge)| edge);
        let from = |edge| offsets.partition_point(|&start| start <= edge).saturating_sub(1) as Node;
        edges.map(from).collect()
    });
    found.concat()
}

fn held_by(heap: &Heap, node: Node, limit: usize) -> (Vec<NodeLine>, u64, u64) {
    let mut all = predecessors(heap, node);
    let count = all.len() as u64;
    all.sort_by_key(|&node| (std::cmp::Reverse(heap.retained_words(node)), node));
    all.dedup();
    let holders = all.len() as u64;
    (all.into_iter().take(limit).map(|node| heap.line(node)).collect(), count, holders)
}

/// The block whose value is shown: for a root that holds one block, as module fields do, that block.
fn valued(heap: &Heap, node: Node) -> Node {
    match (heap.holders().get(node), heap.graph().successors(node)) {
        (Some(holder), [block]) if holder.level == 3 => *block,
        _ => node,
    }
}

fn known_type(heap: &Heap, node: Node) -> Option<KnownType> {
    let (_, of) = heap.type_class(node)?;
    let origin = heap.typing().and_then(|typing| typing.origin(BlockId(node)));
    let (name, origin) = (of.name.clone(), origin.map(str::to_owned));
    Some(KnownType { name, origin, is_polymorphic: of.is_polymorphic })
}

fn weakly_held_by(heap: &Heap, node: Node) -> u64 {
    let is_it =
        |slot: &&WeakSlot| matches!(slot, WeakSlot::Block(pointer) if pointer.block.0 == node);
    let ephemerons = heap.tables().ephemerons.iter();
    ephemerons.map(|ephemeron| ephemeron.keys.iter().filter(is_it).count() as u64).sum()
}

fn finalisers(heap: &Heap, node: Node) -> Vec<NodeLine> {
    let all = heap.tables().finalisers.iter();
    let of_it = all.filter(|finaliser| {
        finaliser.kind != FinaliserKind::Pending
            && finaliser.value.is_some_and(|value| value.block.0 == node)
    });
    of_it.filter_map(|finaliser| finaliser.function.map(|to| heap.line(to.block.0))).collect()
}

fn allocation(heap: &Heap, node: Node) -> Option<Allocation> {
    let sample = heap.sample(node)?;
    Some(Allocation {
        frames: stack(heap, sample.stack),
        time: sample.time.map(|time| Time(Micros(time))),
        age: age_of(heap, &sample),
    })
}

fn stack(heap: &Heap, innermost: Option<StackId>) -> Vec<String> {
    let mut frames = Vec::new();
    let mut next = innermost;
    while let Some(node) = next.and_then(|id| heap.tables().stacks.get(id.index()))
        && frames.len() < FRAMES
    {
        let name =
            |at: &SnapshotLocation| heap.location(at).unwrap_or_else(|| "unknown".to_owned());
        frames.push(name(&node.location));
        next = node.caller;
    }
    frames
}
