//! Ten thousand random graphs, checked against naive implementations of the definitions and against petgraph.
//!
//! Three variants of one idea once agreed and were all wrong. Only implementations that have nothing in common
//! reveal such errors.

mod naive;
mod random;
mod reduction;

use std::collections::{HashMap, HashSet};

use bactrian_graph::{
    Graph, NONE, Neighbour, Node, Tree, Within, components, dominators, duplicates, fair_shares,
    neighbourhood, reach, shortest,
};

use random::{Case, Random, case};

const CASES: u64 = 10_000;

fn judge(mut verdict: impl FnMut(u64, Case)) {
    for seed in 0..CASES {
        verdict(seed, case(seed));
    }
}

#[test]
fn dominators_match_the_removal_of_each_node() {
    judge(|seed, Case { graph, root, weights }| {
        let found = dominators(&graph, root, &weights);
        let dominated = naive::dominated(&graph, root);
        assert_eq!(*found.parent, naive::immediate(&dominated, graph.nodes()), "case {seed}");
        let sum = |node: Node| {
            let below = dominated.get(&node).into_iter().flatten();
            below.map(|&node| u64::from(weights[node as usize])).sum::<u64>()
        };
        assert!(
            found.retained.iter().copied().eq((0..graph.nodes() as Node).map(sum)),
            "case {seed}"
        );
    });
}

#[test]
fn dominators_are_those_of_petgraph() {
    use petgraph::algo::dominators::simple_fast;
    judge(|seed, Case { graph, root, weights }| {
        let found = dominators(&graph, root, &weights);
        let theirs = simple_fast(&of_petgraph(&graph), root.into());
        for node in 0..graph.nodes() as Node {
            let their = theirs.immediate_dominator(node.into());
            let their = their.map_or(NONE, |dominator| dominator.index() as Node);
            assert_eq!(found.parent[node as usize], their, "case {seed}, node {node}");
        }
    });
}

fn of_petgraph(graph: &Graph) -> petgraph::graph::DiGraph<(), ()> {
    let mut copy = petgraph::graph::DiGraph::new();
    (0..graph.nodes()).for_each(|_| {
        copy.add_node(());
    });
    for node in 0..graph.nodes() as Node {
        for &target in graph.successors(node) {
            copy.add_edge(node.into(), target.into(), ());
        }
    }
    copy
}

#[test]
fn components_are_cycles_and_edges_go_down() {
    judge(|seed, Case { graph, root, .. }| {
        let found = components(&graph, root);
        let circles = naive::circles(&graph, root);
        for node in 0..graph.nodes() as Node {
            let of = found.of[node as usize];
            let Some(circle) = circles.get(&node) else {
                assert_eq!(of, NONE, "case {seed}");
                continue;
            };
            let together =
                (0..graph.nodes() as Node).filter(|&other| found.of[other as usize] == of);
            assert!(together.eq(circle.iter().copied()), "case {seed}, node {node}");
            let mut to = graph.successors(node).iter().map(|&target| found.of[target as usize]);
            assert!(to.all(|to| to <= of), "case {seed}, node {node}");
        }
        let numbers: HashSet<_> = found.of.iter().copied().filter(|&of| of != NONE).collect();
        assert!(numbers.iter().all(|&of| of < found.count), "case {seed}");
        assert_eq!(numbers.len(), found.count as usize, "case {seed}");
        let theirs = petgraph::algo::tarjan_scc(&of_petgraph(&graph));
        let reached =
            |circle: &&Vec<_>| found.of[petgraph::graph::NodeIndex::index(circle[0])] != NONE;
        assert_eq!(theirs.iter().filter(reached).count(), found.count as usize, "case {seed}");
    });
}

#[test]
fn shares_follow_their_definition_and_add_up() {
    judge(|seed, Case { graph, root, weights }| {
        let together = components(&graph, root);
        let found = fair_shares(&graph, &together, root, &weights);
        let circles = naive::circles(&graph, root);
        let mut known = HashMap::new();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(b).max(1.0);
        for node in 0..graph.nodes() as Node {
            let expected = match circles.contains_key(&node) {
                true => naive::share(&graph, &circles, &weights, node, &mut known),
                false => 0.0,
            };
            assert!(near(found[node as usize], expected), "case {seed}, node {node}");
        }
        let all: f64 = circles.keys().map(|&node| f64::from(weights[node as usize])).sum();
        assert!(near(found[root as usize], all), "case {seed}");
    });
}

#[test]
fn reach_sums_the_weights_of_reachable_nodes() {
    judge(|seed, Case { graph, root, weights }| {
        let together = components(&graph, root);
        let all = naive::reached(&graph, &[root], None);
        let mut random = Random(seed);
        // Now and then more groups than one pass handles.
        let groups: Vec<Vec<Node>> = (0..if seed % 50 == 0 { 130 } else { 5 })
            .map(|_| (0..random.below(3)).map(|_| random.below(graph.nodes()) as Node).collect())
            .collect();
        let slices: Vec<_> = groups.iter().map(Vec::as_slice).collect();
        let found = reach(&graph, &together, &slices, &weights);
        for (group, sum) in groups.iter().zip(found) {
            let group: Vec<_> = group.iter().copied().filter(|node| all.contains(node)).collect();
            let below = naive::reached(&graph, &group, None);
            let expected: u64 = below.iter().map(|&node| u64::from(weights[node as usize])).sum();
            assert_eq!(sum, expected, "case {seed}, group {group:?}");
        }
    });
}

#[test]
fn shortest_paths_have_minimal_length() {
    judge(|seed, Case { graph, root, .. }| {
        let found = shortest(&graph, root);
        let distances = naive::distances(&graph, root);
        for node in 0..graph.nodes() {
            let before = found[node];
            match distances[node] {
                None | Some(0) => assert_eq!(before, NONE, "case {seed}, node {node}"),
                Some(distance) => {
                    assert_eq!(distances[before as usize], Some(distance - 1), "case {seed}");
                    assert!(graph.successors(before).contains(&(node as Node)), "case {seed}");
                }
            }
        }
    });
}

#[test]
fn neighbours_are_the_nearest_and_then_the_largest() {
    judge(|seed, Case { graph, root, weights }| {
        let mut random = Random(seed);
        let within = Within { steps: random.below(5) as u32, most: random.below(12) };
        let size = |node: Node| u64::from(weights[node as usize] / 10);
        let found = neighbourhood(&graph, &graph.reversed(), root, within, size);
        let distances = naive::distances_either_way(&graph, root);
        let near = |node: Node| {
            let distance = distances[node as usize].filter(|&distance| distance <= within.steps)?;
            Some(Neighbour { node, distance })
        };
        let mut expected: Vec<_> = (0..graph.nodes() as Node).filter_map(near).collect();
        expected.sort_by_key(|near| (near.distance, std::cmp::Reverse(size(near.node)), near.node));
        let beyond = expected.split_off(within.most.min(expected.len()));
        assert_eq!(found.near, expected, "case {seed}");
        let left_out: HashSet<_> = found.left_out.iter().copied().collect();
        assert_eq!(left_out.len(), found.left_out.len(), "case {seed}: none is there twice");
        assert_eq!(left_out, beyond.iter().map(|near| near.node).collect(), "case {seed}");
    });
}

#[test]
fn duplicates_are_equal_all_the_way_down() {
    judge(|seed, Case { graph, root, weights }| {
        let together = components(&graph, root);
        // Few keys and fewer contents, so that many nodes are equal; some have no key.
        let content = |node: Node| weights[node as usize] % 4;
        let key = |node: Node| {
            (content(node) < 3 || !node.is_multiple_of(5)).then(|| u64::from(content(node) / 2))
        };
        let same = |a: Node, b: Node| content(a) == content(b);
        let found = duplicates(&graph, &together, key, same);
        let circles = naive::circles(&graph, root);
        let whole = |node: Node| key(node).map(|_| u64::from(content(node)));
        let mut known = HashMap::new();
        for a in 0..graph.nodes() as Node {
            let first = found[a as usize];
            if !circles.contains_key(&a) {
                assert_eq!(first, a, "case {seed}");
                continue;
            }
            assert_eq!(found[first as usize], first, "case {seed}, node {a}");
            for &b in circles.keys() {
                let equal = naive::is_equal(&graph, &circles, &whole, (a, b), &mut known);
                assert_eq!(first == found[b as usize], equal, "case {seed}, nodes {a} and {b}");
            }
        }
    });
}

#[test]
fn children_are_those_with_that_parent() {
    judge(|seed, Case { graph, root, weights }| {
        let parent = dominators(&graph, root, &weights).parent;
        let tree = Tree::of(&parent);
        for node in 0..graph.nodes() as Node {
            let children =
                (0..graph.nodes() as Node).filter(|&child| parent[child as usize] == node);
            assert!(children.eq(tree.children(node).iter().copied()), "case {seed}, node {node}");
        }
    });
}

#[test]
fn reversed_graph_has_the_same_edges() {
    judge(|seed, Case { graph, .. }| {
        let edges = |graph: &Graph, turn: bool| {
            let of = |node: Node| {
                let ends = graph.successors(node).iter();
                ends.map(move |&to| if turn { (to, node) } else { (node, to) }).collect::<Vec<_>>()
            };
            let mut edges: Vec<_> = (0..graph.nodes() as Node).flat_map(of).collect();
            edges.sort_unstable();
            edges
        };
        assert_eq!(edges(&graph, false), edges(&graph.reversed(), true), "case {seed}");
    });
}
