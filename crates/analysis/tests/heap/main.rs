//! Questions about heap snapshots as graphs, for small heaps that are written down here block by block.

mod alike;
mod around;
mod blocks;
mod classes;
mod diff;
mod diff_flame;
mod dominators;
mod duplicates;
mod evolution;
mod finalisers;
mod graph;
mod hostile;
mod index;
mod paths;
mod reduced;
mod roots;
mod summary;
mod suspects;
mod types;
mod what_if;
#[allow(dead_code, reason = "shared with the tests of inference, which use more of it")]
#[path = "../../../types/tests/infer/world.rs"]
mod world;
mod written;
