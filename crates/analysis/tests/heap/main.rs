//! Questions to heap snapshots as graphs, asked to small heaps that are written down here block by block.

mod graph;
mod written;
