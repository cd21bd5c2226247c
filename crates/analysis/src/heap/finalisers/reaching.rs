//! Reachability for many pairs of blocks. Most pairs are decided by their components or by a short search
//! from either end; the rest by passes over the whole graph, 64 pairs at a time.

use bactrian_graph::{Graph, Node};

use crate::heap::Heap;

/// The most nodes that a search visits from one end before the other end is tried.
const SHORT: usize = 20_000;

/// For each pair, whether the first reaches the second.
pub fn reaches(heap: &Heap, pairs: &[(Node, Node)]) -> Vec<bool> {
    let components = &*heap.components().of;
    let component = |node: Node| components.get(node as usize).copied().unwrap_or(u32::MAX);
    let mut search = Search::new(heap.graph().nodes());
    let mut hard = Vec::new();
    let mut answers: Vec<bool> = Vec::with_capacity(pairs.len());
    for (at, &(from, to)) in pairs.iter().enumerate() {
        // Edges lead to components of the same or a lower number.
        let quick = match (component(from), component(to)) {
            (one, other) if one == other => Some(true),
            (one, other) if one < other => Some(false),
            _ => None,
        };
        let found = quick
            .or_else(|| search.short(heap.graph(), from, to))
            .or_else(|| search.short(heap.reversed(), to, from));
        if found.is_none() {
            hard.push(at);
        }
        answers.push(found.unwrap_or(false));
    }
    drop(search);
    if !hard.is_empty() {
        by_passes(heap, pairs, &hard, &mut answers);
    }
    answers
}

/// Decides pairs that have large neighbourhoods at both ends.
fn by_passes(heap: &Heap, pairs: &[(Node, Node)], hard: &[usize], answers: &mut [bool]) {
    let components = heap.components();
    let of = &*components.of;
    let component = |node: Node| of.get(node as usize).map_or(0, |component| *component as usize);
    let mut order: Vec<Node> = (0..of.len() as Node).collect();
    order.retain(|&node| (component(node) as u64) < u64::from(components.count));
    rayon::slice::ParallelSliceMut::par_sort_unstable_by_key(&mut order[..], |&node| {
        std::cmp::Reverse(component(node))
    });
    let mut starts: Vec<usize> = hard.iter().map(|&at| component(pairs[at].0)).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut reached = vec![0_u64; components.count as usize];
    for part in starts.chunks(64) {
        reached.fill(0);
        for (bit, &start) in part.iter().enumerate() {
            reached.get_mut(start).into_iter().for_each(|bits| *bits |= 1 << bit);
        }
        for &node in &order {
            let bits = reached[component(node)];
            if bits != 0 {
                for &target in heap.graph().successors(node) {
                    if let Some(reached) = reached.get_mut(component(target)) {
                        *reached |= bits;
                    }
                }
            }
        }
        for &at in hard {
            let (from, to) = pairs[at];
            if let Ok(bit) = part.binary_search(&component(from)) {
                let bits = reached.get(component(to)).copied().unwrap_or(0);
                answers[at] = bits >> bit & 1 == 1;
            }
        }
    }
}

/// Reusable state of consecutive searches.
pub struct Search {
    /// For each node, the number of the last search that visited it.
    seen: Vec<u32>,
    before: Vec<Node>,
    number: u32,
    waiting: Vec<Node>,
}

impl Search {
    pub fn new(nodes: usize) -> Search {
        Search { seen: vec![0; nodes], before: vec![0; nodes], number: 0, waiting: Vec::new() }
    }

    /// Breadth-first search of at most `most` nodes. Returns whether `to` was reached, None if undecided.
    fn run(&mut self, graph: &Graph, from: Node, to: Node, most: usize) -> Option<bool> {
        self.number += 1;
        self.waiting.clear();
        self.waiting.push(from);
        let Some(seen) = self.seen.get_mut(from as usize) else { return Some(false) };
        *seen = self.number;
        let mut next = 0;
        while let Some(&node) = self.waiting.get(next) {
            if node == to {
                return Some(true);
            }
            next += 1;
            for &target in graph.successors(node) {
                let seen = &mut self.seen[target as usize];
                if *seen != self.number {
                    *seen = self.number;
                    self.before[target as usize] = node;
                    self.waiting.push(target);
                }
            }
            if self.waiting.len() > most {
                // It may be among the queued nodes.
                return self
                    .seen
                    .get(to as usize)
                    .filter(|seen| **seen == self.number)
                    .map(|_| true);
            }
        }
        Some(false)
    }

    fn short(&mut self, graph: &Graph, from: Node, to: Node) -> Option<bool> {
        self.run(graph, from, to, SHORT)
    }

    /// The shortest path, including both ends, if at most `most` nodes are visited; and how many were.
    pub fn path(
        &mut self,
        graph: &Graph,
        from: Node,
        to: Node,
        most: usize,
    ) -> (Option<Vec<Node>>, usize) {
        let found = self.run(graph, from, to, most);
        let seen = self.waiting.len();
        if found != Some(true) {
            return (None, seen);
        }
        let mut path = vec![to];
        while let Some(&last) = path.last()
            && last != from
        {
            path.push(self.before[last as usize]);
        }
        path.reverse();
        (Some(path), seen)
    }
}
