//! petgraph, which is only built on request: `--features petgraph`.

use std::path::Path;

use xtask::Outcome;

/// Builds petgraph's graph from the one in a file. If `answer` is given, also finds dominators and writes their
/// checksum to it.
#[cfg(feature = "petgraph")]
pub fn run(file: &Path, answer: Option<&Path>) -> Outcome {
    use petgraph::algo::dominators::simple_fast;
    use petgraph::graph::{DiGraph, NodeIndex};

    use crate::graph::file::Opened;

    let Opened { graph, root, .. } = Opened::open(file)?;
    let mut theirs: DiGraph<(), ()> = DiGraph::with_capacity(graph.nodes(), graph.edges());
    (0..graph.nodes()).for_each(|_| {
        theirs.add_node(());
    });
    for node in 0..graph.nodes() as u32 {
        for &target in graph.successors(node) {
            theirs.add_edge(node.into(), target.into(), ());
        }
    }
    let Some(answer) = answer else { return Ok(()) };
    let found = simple_fast(&theirs, root.into());
    let pairs = (0..graph.nodes()).filter_map(|node| {
        let dominator = found.immediate_dominator(NodeIndex::new(node))?;
        Some((node as u64, dominator.index() as u64))
    });
    std::fs::write(answer, super::checksum(pairs).to_string())
        .map_err(|error| format!("{}: {error}", answer.display()))
}

/// It was not built.
#[cfg(not(feature = "petgraph"))]
pub fn run(_: &Path, _: Option<&Path>) -> Outcome {
    Err("this is built without petgraph".to_owned())
}
