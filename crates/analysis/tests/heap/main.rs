//! Questions to heap snapshots as graphs, asked to small heaps that are written down here block by block.

mod around;
mod classes;
mod diff;
mod dominators;
mod duplicates;
mod finalisers;
mod graph;
mod hostile;
mod index;
mod paths;
mod reduced;
mod roots;
mod summary;
mod suspects;
mod written;
