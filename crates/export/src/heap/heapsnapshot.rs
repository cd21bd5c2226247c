//! The format of Chrome DevTools' heap snapshots (`.heapsnapshot`), which memlab reads, too.
//!
//! It is one JSON object. `snapshot` describes the numbers. `nodes` and `edges` are flat arrays of numbers;
//! edges are in the order of the nodes that they come from. `strings` has the texts that numbers refer to. The
//! first node is the root. Its only child is called `(GC roots)`, as DevTools expects; below are the holders of
//! our graph, then the blocks.
//!
//! The id of a block is its number, so that `@12` means the same there and here. Sizes are in bytes with
//! headers, capped at 2^32 - 1, because readers store them in four bytes.

use std::collections::HashMap;
use std::io::{self, Write};

use bactrian_analysis::heap::{ClassKind, Heap, Visit, every_block};
use bactrian_graph::Node;
use bactrian_snapshot::{Ephemeron, WeakSlot};

/// Types of nodes, in the order that readers expect.
const NODE_TYPES: [&str; 13] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
];
/// Types of edges.
const EDGE_TYPES: [&str; 7] =
    ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];
/// The numbers of a node, and those of an edge.
const NODE_FIELDS: [&str; 7] =
    ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"];
const EDGE_FIELDS: [&str; 3] = ["type", "name_or_index", "to_node"];

const SYNTHETIC: u8 = 9;
const ELEMENT: u8 = 1;
const PROPERTY: u8 = 2;
const INTERNAL: u8 = 3;
const WEAK: u8 = 6;

/// Texts with fixed indices; those of classes and holders follow.
const TEXTS: [&str; 4] = ["", "(GC roots)", "data", "on its stack"];
const NO_TEXT: usize = 0;
const GC_ROOTS: usize = 1;
const DATA: usize = 2;
const ON_STACK: usize = 3;

/// Writes a heap.
pub fn write(heap: &Heap, out: &mut dyn Write) -> io::Result<()> {
    let weak = Weak::of(heap);
    let nodes = heap.graph().nodes() + 1;
    let edges = heap.graph().edges() + 1 + weak.count();
    head(nodes, edges, out)?;
    write_nodes(heap, &weak, out)?;
    let fields = write_edges(heap, &weak, out)?;
    // DevTools expects these even if they are empty.
    for name in ["trace_function_infos", "trace_tree", "samples", "locations"] {
        write!(out, "],\n\"{name}\":[")?;
    }
    strings(heap, &fields, out)
}

fn head(nodes: usize, edges: usize, out: &mut dyn Write) -> io::Result<()> {
    let meta = serde_json::json!({
        "node_fields": NODE_FIELDS,
        "node_types": [NODE_TYPES, "string", "number", "number", "number", "number", "number"],
        "edge_fields": EDGE_FIELDS,
        "edge_types": [EDGE_TYPES, "string_or_number", "node"],
        "trace_function_info_fields": [],
        "trace_node_fields": [],
        "sample_fields": [],
        "location_fields": ["object_index", "script_id", "line", "column"],
    });
    let snapshot = serde_json::json!({
        "meta": meta,
        "node_count": nodes,
        "edge_count": edges,
        "trace_function_count": 0,
    });
    writeln!(out, "{{\"snapshot\":{snapshot},")
}

/// The node type of a class's blocks.
fn node_type(kind: ClassKind) -> u8 {
    let name = match kind {
        ClassKind::String => "string",
        ClassKind::Float => "number",
        ClassKind::Closure => "closure",
        ClassKind::FloatArray | ClassKind::Custom | ClassKind::Abstract => "native",
        ClassKind::Ephemeron => "array",
        ClassKind::Unread => "hidden",
        ClassKind::Holder => return SYNTHETIC,
        _ => "object",
    };
    NODE_TYPES.iter().position(|known| *known == name).unwrap_or(0) as u8
}

fn write_nodes(heap: &Heap, weak: &Weak<'_>, out: &mut dyn Write) -> io::Result<()> {
    let types: Vec<u8> = heap.shapes().iter().map(|class| node_type(class.kind)).collect();
    let blocks = heap.blocks();
    // The root gets the number after all others.
    write!(out, "\"nodes\":[{SYNTHETIC},{NO_TEXT},{},0,1,0,0", heap.graph().nodes())?;
    for (node, (&class, &weight)) in (0..).zip(heap.shape_of().iter().zip(heap.weights())) {
        let name = match (node as usize).checked_sub(blocks) {
            None => TEXTS.len() + class as usize,
            Some(_) if node == heap.root() => GC_ROOTS,
            Some(holder) => TEXTS.len() + heap.shapes().len() + holder,
        };
        let kind = types.get(class as usize).copied().unwrap_or(0);
        let size = u64::from(weight).saturating_mul(8).min(u64::from(u32::MAX));
        let edges = heap.graph().successors(node).len() + weak.keys(node).count();
        write!(out, ",\n{kind},{name},{node},{size},{edges},0,0")?;
    }
    Ok(())
}

/// Writes edges. Returns the names of fields, whose texts come after all others.
fn write_edges<'a>(
    heap: &'a Heap,
    weak: &Weak<'_>,
    out: &mut dyn Write,
) -> io::Result<Vec<&'a str>> {
    let typing = heap.typing();
    let mut names: Vec<&str> = Vec::new();
    let mut known: HashMap<&str, u64> = HashMap::new();
    let first_field = TEXTS.len() + heap.shapes().len() + heap.holders().len();
    write!(out, "],\n\"edges\":[{ELEMENT},1,{}", place(heap.root()))?;
    let mut edge = |kind: u8, name: u64, to: Node| write!(out, ",\n{kind},{name},{}", place(to));
    every_block(heap, |Visit { block, fields, others, .. }| {
        for &(field, target) in fields {
            let name = typing.and_then(|typing| typing.field_name(block.id, field));
            match name {
                Some(name) => {
                    let number = *known.entry(name).or_insert_with(|| {
                        names.push(name);
                        (first_field + names.len() - 1) as u64
                    });
                    edge(PROPERTY, number, target)?;
                }
                None => edge(ELEMENT, field, target)?,
            }
        }
        let is_continuation = heap.kind(block.id.0) == ClassKind::Continuation;
        let name = if is_continuation { ON_STACK } else { DATA };
        for &target in others {
            edge(INTERNAL, name as u64, target)?;
        }
        for key in weak.keys(block.id.0) {
            edge(WEAK, NO_TEXT as u64, key)?;
        }
        Ok(())
    })?;
    let first_name = TEXTS.len() + heap.shapes().len();
    for holder in heap.holders().iter() {
        let targets = (1..).zip(heap.graph().successors(holder.node));
        for (number, &target) in targets {
            match (target as usize).checked_sub(heap.blocks()) {
                Some(below) => edge(PROPERTY, (first_name + below) as u64, target)?,
                None => edge(ELEMENT, number, target)?,
            }
        }
    }
    Ok(names)
}

/// The index of a node's first number.
fn place(node: Node) -> u64 {
    (u64::from(node) + 1) * NODE_FIELDS.len() as u64
}

fn strings(heap: &Heap, fields: &[&str], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "],\n\"strings\":[")?;
    let mut is_first = true;
    let mut string = |text: &str| {
        let comma = if std::mem::take(&mut is_first) { "" } else { ",\n" };
        write!(out, "{comma}{}", serde_json::Value::from(text))
    };
    TEXTS.iter().try_for_each(|text| string(text))?;
    for class in heap.shapes() {
        string(&class.title())?;
    }
    for holder in heap.holders().iter() {
        string(&heap.holder_name(holder.node))?;
    }
    fields.iter().try_for_each(|name| string(name))?;
    writeln!(out, "]}}")
}

/// Keys of ephemerons, which hold nothing. DevTools shows such edges and does not follow them.
struct Weak<'a> {
    heap: &'a Heap,
    ephemerons: &'a [Ephemeron],
}

impl<'a> Weak<'a> {
    fn of(heap: &'a Heap) -> Weak<'a> {
        let ephemerons = &heap.snapshot().tables().ephemerons;
        let is_sorted = ephemerons.windows(2).all(|pair| pair[0].block < pair[1].block);
        // Only a damaged file has them in another order.
        Weak { heap, ephemerons: if is_sorted { ephemerons } else { &[] } }
    }

    /// The keys of a node, if it is a readable ephemeron.
    fn keys(&self, node: Node) -> impl Iterator<Item = Node> {
        let is_one = self.heap.kind(node) == ClassKind::Ephemeron;
        let found = self.ephemerons.binary_search_by_key(&node, |ephemeron| ephemeron.block.0);
        let found = found.ok().filter(|_| is_one).and_then(|at| self.ephemerons.get(at));
        self.targets(found.map_or(&[], |ephemeron| &ephemeron.keys))
    }

    fn targets<'b>(&self, keys: &'b [WeakSlot]) -> impl Iterator<Item = Node> + use<'b> {
        let blocks = self.heap.blocks();
        keys.iter().filter_map(move |key| match key {
            WeakSlot::Block(pointer) if pointer.block.index() < blocks => Some(pointer.block.0),
            _ => None,
        })
    }

    fn count(&self) -> usize {
        self.ephemerons.iter().map(|ephemeron| self.keys(ephemeron.block.0).count()).sum()
    }
}
