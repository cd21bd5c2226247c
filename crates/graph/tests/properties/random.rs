//! Random graphs of several shapes, the same in every run.

use bactrian_graph::{Builder, Graph, Node};

/// Pseudo-random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// A graph to be tested.
pub struct Case {
    pub graph: Graph,
    pub root: Node,
    pub weights: Vec<u32>,
}

/// A random graph whose shape depends on the seed: sparse or dense, mostly forward or backward, long chains
/// with shortcuts, few targets, doubled edges, self-loops, unreachable parts.
pub fn case(seed: u64) -> Case {
    let mut random = Random(seed);
    let nodes = 1 + random.below(if seed.is_multiple_of(10) { 60 } else { 14 });
    let shape = seed % 7;
    let most = [1, 2, 3, 4, 3, 6, 2][shape as usize];
    let mut builder = Builder::with_capacity(nodes, 0);
    for node in 0..nodes {
        for _ in 0..random.below(most + 1) {
            let target = match shape {
                // Near targets, mostly later ones: a chain with shortcuts and few back edges.
                3 if random.below(5) > 0 => (node + 1 + random.below(3)).min(nodes - 1),
                // Without cycles.
                4 => node + random.below(nodes - node),
                // Few targets.
                5 => random.below(nodes.div_ceil(4)),
                _ => random.below(nodes),
            };
            builder.target(target as Node);
            if random.below(12) == 0 {
                builder.target(target as Node);
            }
        }
        // A chain through all nodes.
        if shape == 6 && node + 1 < nodes {
            builder.target(node as Node + 1);
        }
        builder.end_node();
    }
    let root = if random.below(2) == 0 { 0 } else { random.below(nodes) };
    let weights = (0..nodes).map(|_| random.below(100) as u32).collect();
    let graph = builder.finish().expect("all targets are nodes");
    Case { graph, root: root as Node, weights }
}
