//! The same answers by definition: slow, and sharing nothing with the crate but the graph.

use std::collections::{BTreeSet, HashMap};

use bactrian_graph::{Graph, NONE, Node};

pub type Nodes = BTreeSet<Node>;

/// All nodes reachable from some nodes without passing through `without`.
pub fn reached(graph: &Graph, from: &[Node], without: Option<Node>) -> Nodes {
    let mut found: Nodes = from.iter().copied().filter(|&node| Some(node) != without).collect();
    let mut left: Vec<_> = found.iter().copied().collect();
    while let Some(node) = left.pop() {
        for &target in graph.successors(node) {
            if Some(target) != without && found.insert(target) {
                left.push(target);
            }
        }
    }
    found
}

/// What each reachable node dominates: the nodes that are unreachable without it.
pub fn dominated(graph: &Graph, root: Node) -> HashMap<Node, Nodes> {
    let all = reached(graph, &[root], None);
    let without = |node| all.difference(&reached(graph, &[root], Some(node))).copied().collect();
    all.iter().map(|&node| (node, without(node))).collect()
}

/// The immediate dominator of each node: the dominator that all its other dominators dominate.
pub fn immediate(dominated: &HashMap<Node, Nodes>, nodes: usize) -> Vec<Node> {
    let find = |node: Node| {
        let above =
            dominated.iter().filter(|(other, below)| **other != node && below.contains(&node));
        above.min_by_key(|(_, below)| below.len()).map_or(NONE, |(&other, _)| other)
    };
    (0..nodes as Node).map(find).collect()
}

/// For each reachable node, all nodes that reach it and are reachable from it.
pub fn circles(graph: &Graph, root: Node) -> HashMap<Node, Nodes> {
    let all = reached(graph, &[root], None);
    let from: HashMap<_, _> =
        all.iter().map(|&node| (node, reached(graph, &[node], None))).collect();
    let circle = |node: Node| {
        let mutual = from[&node].iter().copied().filter(|other| from[other].contains(&node));
        (node, mutual.collect())
    };
    all.iter().map(|&node| circle(node)).collect()
}

/// The share of a cycle: the weight of its nodes plus the target's part for each edge that leaves it.
pub fn share(
    graph: &Graph,
    circles: &HashMap<Node, Nodes>,
    weights: &[u32],
    node: Node,
    known: &mut HashMap<Node, f64>,
) -> f64 {
    let circle = &circles[&node];
    let name = *circle.first().expect("it has the node");
    if let Some(&share) = known.get(&name) {
        return share;
    }
    let mut sum = 0.0;
    for &member in circle {
        sum += f64::from(weights[member as usize]);
        for &target in graph.successors(member).iter().filter(|target| !circle.contains(target)) {
            let others = circles.keys().filter(|other| !circles[&target].contains(other));
            let edges = others.flat_map(|&other| graph.successors(other));
            let edges = edges.filter(|to| circles[&target].contains(to)).count();
            sum += share(graph, circles, weights, target, known) / edges as f64;
        }
    }
    known.insert(name, sum);
    sum
}

/// The distance of each node from the root, in edges.
pub fn distances(graph: &Graph, root: Node) -> Vec<Option<usize>> {
    let mut distances = vec![None; graph.nodes()];
    distances[root as usize] = Some(0);
    // As many rounds as nodes suffice for the farthest one.
    for _ in 0..graph.nodes() {
        for node in 0..graph.nodes() as Node {
            let Some(distance) = distances[node as usize] else { continue };
            for &target in graph.successors(node) {
                let known = &mut distances[target as usize];
                *known = Some(known.map_or(distance + 1, |known: usize| known.min(distance + 1)));
            }
        }
    }
    distances
}

/// The distance of each node from another, in edges of either direction.
pub fn distances_either_way(graph: &Graph, from: Node) -> Vec<Option<u32>> {
    let touch =
        |a: Node, b: Node| graph.successors(a).contains(&b) || graph.successors(b).contains(&a);
    let nodes = 0..graph.nodes() as Node;
    let mut distances = vec![None; graph.nodes()];
    distances[from as usize] = Some(0);
    for distance in 1..graph.nodes() as u32 {
        for node in nodes.clone().filter(|&node| node != from) {
            let is_next = nodes
                .clone()
                .any(|other| distances[other as usize] == Some(distance - 1) && touch(node, other));
            if is_next && distances[node as usize].is_none() {
                distances[node as usize] = Some(distance);
            }
        }
    }
    distances
}

/// Whether two nodes are equal all the way down.
pub fn is_equal(
    graph: &Graph,
    circles: &HashMap<Node, Nodes>,
    key: &dyn Fn(Node) -> Option<u64>,
    (a, b): (Node, Node),
    known: &mut HashMap<(Node, Node), bool>,
) -> bool {
    if a == b {
        return true;
    }
    if let Some(&equal) = known.get(&(a, b)) {
        return equal;
    }
    let circular = |node| circles[&node].len() > 1 || graph.successors(node).contains(&node);
    let (of_a, of_b) = (graph.successors(a), graph.successors(b));
    let equal = !circular(a)
        && !circular(b)
        && key(a).is_some()
        && key(a) == key(b)
        && of_a.len() == of_b.len()
        && of_a.iter().zip(of_b).all(|(&a, &b)| is_equal(graph, circles, key, (a, b), known));
    known.insert((a, b), equal);
    equal
}
