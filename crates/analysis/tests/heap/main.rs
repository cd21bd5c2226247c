//! Questions to heap snapshots as graphs, asked to small heaps that are written down here block by block.

mod classes;
mod dominators;
mod graph;
mod hostile;
mod index;
mod roots;
mod summary;
mod written;
