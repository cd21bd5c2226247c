//! Walks over all blocks of a heap in address order, with one group in memory at a time.
//!
//! The graph has the edges; the snapshot is read again for what the graph does not contain: addresses, field
//! numbers, lengths and beginnings of strings.

use std::io;
use std::ops::Range;

use bactrian_graph::Node;
use bactrian_snapshot::{Block, Edges, Text};

use super::Heap;

/// A block and its targets.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The block.
    pub block: Block,
    /// The pointers in its fields: field index and target.
    pub fields: &'a [(u64, Node)],
    /// Its other targets: the data of an ephemeron, or what is on a continuation's stack.
    pub others: &'a [Node],
    /// Its text, if it is a string.
    pub text: Option<&'a Text>,
}

/// Passes all readable blocks to `visit`. [`Heap::losses`] reports the others.
pub fn every_block(heap: &Heap, visit: impl FnMut(Visit<'_>) -> io::Result<()>) -> io::Result<()> {
    blocks_of(heap, 0..heap.snapshot().groups().len(), visit)
}

/// Likewise, for a range of the snapshot's groups.
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
    /// The next pointer that was not taken yet.
    next: Option<(Node, u64, Node)>,
}

impl<'a> Pointers<'a> {
    fn new(edges: Edges<'a>) -> Pointers<'a> {
        let mut pointers = Pointers { edges, next: None };
        pointers.advance();
        pointers
    }

    fn advance(&mut self) {
        // Pointers before an error count, as they do in the graph.
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
