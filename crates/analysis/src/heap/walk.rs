//! A way through all blocks of a heap in order of their addresses, one group in memory at a time.
//!
//! What points where is said by the graph; the snapshot is read again for what the graph does not keep: addresses,
//! numbers of fields, lengths and beginnings of strings.

use std::io;
use std::ops::Range;

use bactrian_graph::Node;
use bactrian_snapshot::{Block, Edges, Text};

use super::Heap;

/// A block with what it points to.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The block.
    pub block: Block,
    /// Pointers in its fields: the index of the field, and where it points.
    pub fields: &'a [(u64, Node)],
    /// What it holds otherwise: the data of an ephemeron, what is on the stack of a continuation.
    pub others: &'a [Node],
    /// What is known of it if it is a string.
    pub text: Option<&'a Text>,
}

/// Hands all blocks that can be read to `visit`. What cannot be read is in [`Heap::losses`].
pub fn every_block(heap: &Heap, visit: impl FnMut(Visit<'_>) -> io::Result<()>) -> io::Result<()> {
    blocks_of(heap, 0..heap.snapshot().groups().len(), visit)
}

/// The same of some of the snapshot's groups, by their places.
pub fn blocks_of(
    heap: &Heap,
    groups: Range<usize>,
    mut visit: impl FnMut(Visit<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut found = Vec::new();
    for index in groups {
        let Ok(group) = heap.snapshot().group(index) else { continue };
        let strings = group.strings().unwrap_or_default();
        let mut strings = strings.iter().peekable();
        let fields = group.fields();
        let mut edges = fields.as_ref().ok().map(|fields| Pointers::new(fields.edges()));
        for &block in group.blocks() {
            found.clear();
            if let Some(edges) = &mut edges {
                edges.of(block.id.0, &mut found);
            }
            let targets = heap.graph().successors(block.id.0);
            let others = targets.get(found.len()..).unwrap_or_default();
            let text = strings.next_if(|text| text.block == block.id);
            visit(Visit { block, fields: &found, others, text })?;
        }
    }
    Ok(())
}

/// The pointers of a group, to be taken block by block.
struct Pointers<'a> {
    edges: Edges<'a>,
    /// The first that is not taken yet.
    next: Option<(Node, u64, Node)>,
}

impl<'a> Pointers<'a> {
    fn new(edges: Edges<'a>) -> Pointers<'a> {
        let mut pointers = Pointers { edges, next: None };
        pointers.advance();
        pointers
    }

    fn advance(&mut self) {
        // Those before an error count, as they do in the graph.
        let edge = self.edges.next().and_then(Result::ok);
        self.next = edge.map(|edge| (edge.from.0, edge.field, edge.to.block.0));
    }

    fn of(&mut self, block: Node, found: &mut Vec<(u64, Node)>) {
        while let Some((from, field, to)) = self.next
            && from <= block
        {
            found.push((field, to));
            self.advance();
        }
    }
}
