//! Reduced graphs: sets contain the right nodes, and everything shown is connected.

use std::collections::HashMap;

use bactrian_graph::{Limits, NONE, Node, SetKind, Standing, components, reduce};

use crate::naive::{self, Nodes};
use crate::random::Case;

/// The sets by definition: cycles, where a cycle with a single parent cycle belongs to the parent's set. A set
/// is named by the lowest node of its entry.
fn sets(case: &Case, circles: &HashMap<Node, Nodes>) -> HashMap<Node, Nodes> {
    let name = |node: Node| *circles[&node].first().expect("it has the node");
    let parents = |circle: Node| -> Nodes {
        let others = circles.keys().copied().filter(|&other| name(other) != circle);
        let pointing = others.filter(|&other| {
            case.graph.successors(other).iter().any(|&target| name(target) == circle)
        });
        pointing.map(name).collect()
    };
    let mut sets: HashMap<Node, Nodes> = HashMap::new();
    for &node in circles.keys() {
        let mut entry = name(node);
        loop {
            let parents = parents(entry);
            if parents.len() != 1
                || circles[&entry].iter().any(|&node| standing(node) == Standing::Alone)
            {
                break;
            }
            entry = *parents.first().expect("there is one");
        }
        sets.entry(entry).or_default().insert(node);
    }
    sets
}

/// No two nodes are of one family.
fn standing(node: Node) -> Standing {
    if node.is_multiple_of(11) { Standing::Alone } else { Standing::InFamily(node) }
}

#[test]
fn unlimited_reduction_shows_all_sets() {
    crate::judge(|seed, case| {
        let together = components(&case.graph, case.root);
        let limits = Limits { largest: usize::MAX, least: 0, shown: usize::MAX, way: usize::MAX };
        let found = reduce(&case.graph, &together, case.root, &case.weights, standing, limits);
        let circles = naive::circles(&case.graph, case.root);
        let expected = sets(&case, &circles);
        assert_eq!(found.all, expected.len(), "case {seed}");
        assert_eq!(found.sets.len(), expected.len(), "case {seed}");
        let set_of: HashMap<Node, Node> = expected
            .iter()
            .flat_map(|(&entry, nodes)| nodes.iter().map(move |&node| (node, entry)))
            .collect();
        for set in &found.sets {
            let nodes = &expected[&set.entry];
            let weight: u64 =
                nodes.iter().map(|&node| u64::from(case.weights[node as usize])).sum();
            let entry_nodes = circles[&set.entry].len() as u64;
            assert_eq!(
                (set.nodes, set.weight, set.entry_nodes),
                (nodes.len() as u64, weight, entry_nodes),
                "case {seed}, set of {}",
                set.entry
            );
        }
        let mut edges: HashMap<(Node, Node), u64> = HashMap::new();
        for (&node, &from) in &set_of {
            for target in case.graph.successors(node) {
                if set_of[target] != from {
                    *edges.entry((from, set_of[target])).or_default() += 1;
                }
            }
        }
        assert_eq!(found.edges.len(), edges.len(), "case {seed}");
        for edge in &found.edges {
            let ends = (found.sets[edge.from].entry, found.sets[edge.to].entry);
            assert_eq!((edge.edges, edge.left_out), (edges[&ends], 0), "case {seed}");
        }
    });
}

#[test]
fn shown_sets_are_connected_and_no_node_is_lost() {
    crate::judge(|seed, case| {
        let together = components(&case.graph, case.root);
        let limits = Limits {
            largest: (seed % 4) as usize,
            least: 0,
            shown: usize::MAX,
            way: (seed % 3) as usize,
        };
        let standing = |node: Node| match seed % 3 {
            0 => Standing::Alone,
            _ => Standing::InFamily(node % 3),
        };
        let found = reduce(&case.graph, &together, case.root, &case.weights, standing, limits);
        let all = naive::reached(&case.graph, &[case.root], None);
        let weight: u64 = all.iter().map(|&node| u64::from(case.weights[node as usize])).sum();
        assert_eq!(found.sets.iter().map(|set| set.nodes).sum::<u64>(), all.len() as u64);
        assert_eq!(found.sets.iter().map(|set| set.weight).sum::<u64>(), weight, "case {seed}");
        let count = |kind| found.sets.iter().filter(|set| set.kind == kind).count();
        assert_eq!(count(SetKind::Root), 1, "case {seed}");
        assert_eq!(count(SetKind::Large), limits.largest.min(found.all - 1), "case {seed}");
        assert!(count(SetKind::Way) <= limits.largest * limits.way, "case {seed}");
        let large = found.sets.iter().filter(|set| set.kind == SetKind::Large);
        assert!(large.map(|set| set.weight).is_sorted_by(|a, b| a >= b), "case {seed}");
        // Everything is reachable from the root's set.
        let mut reached = vec![false; found.sets.len()];
        reached[0] = true;
        for _ in &found.sets {
            for edge in &found.edges {
                assert!(edge.from != edge.to && found.sets[edge.from].kind != SetKind::Rest);
                assert_eq!(edge.edges == 0, edge.left_out > 0, "case {seed}");
                reached[edge.to] |= reached[edge.from];
            }
        }
        for (set, reached) in found.sets.iter().zip(reached) {
            assert!(reached || set.kind == SetKind::Rest, "case {seed}");
            assert_eq!(set.entry == NONE, set.kind == SetKind::Rest, "case {seed}");
        }
    });
}

#[test]
fn paths_to_large_sets_are_shortest() {
    crate::judge(|seed, case| {
        let together = components(&case.graph, case.root);
        let reduced = |largest, way| {
            let limits = Limits { largest, least: 0, shown: usize::MAX, way };
            reduce(&case.graph, &together, case.root, &case.weights, standing, limits)
        };
        let all = reduced(usize::MAX, 0);
        assert!(all.edges.iter().all(|edge| edge.left_out == 0), "case {seed}");
        let mut distances = vec![usize::MAX - 1; all.sets.len()];
        distances[0] = 0;
        for _ in &all.sets {
            for edge in &all.edges {
                distances[edge.to] = distances[edge.to].min(distances[edge.from] + 1);
            }
        }
        let one = reduced(1, usize::MAX);
        let Some(large) = one.sets.iter().find(|set| set.kind == SetKind::Large) else { return };
        let at = all.sets.iter().position(|set| set.entry == large.entry).expect("all are there");
        let on_the_way = one.sets.iter().filter(|set| set.kind == SetKind::Way).count();
        assert_eq!(on_the_way + 1, distances[at], "case {seed}");
        // Shown and left-out sets together are the whole path.
        let short = reduced(1, (seed % 3) as usize);
        let shown = short.sets.iter().filter(|set| set.kind == SetKind::Way).count();
        let left_out: u64 = short.edges.iter().map(|edge| edge.left_out).sum();
        assert_eq!(shown + left_out as usize, on_the_way, "case {seed}");
    });
}

#[test]
fn reduction_respects_the_limit_of_sets() {
    crate::judge(|seed, case| {
        let together = components(&case.graph, case.root);
        let shown = 3 + (seed % 8) as usize;
        let limits = Limits { largest: usize::MAX, least: 0, shown, way: 1 };
        let standing = |node: Node| Standing::InFamily(node % 3);
        let found = reduce(&case.graph, &together, case.root, &case.weights, standing, limits);
        let sets = found.sets.iter().filter(|set| set.kind != SetKind::Rest).count();
        assert!(sets <= shown, "case {seed}: {sets} of {shown}");
        // Every node is in the set that it is said to be in.
        let mut nodes = vec![0; found.sets.len()];
        found.of.iter().filter(|&&of| of != NONE).for_each(|&of| nodes[of as usize] += 1);
        assert!(found.sets.iter().map(|set| set.nodes).eq(nodes), "case {seed}");
    });
}

#[test]
fn merged_sets_form_no_cycles() {
    crate::judge(|seed, case| {
        let together = components(&case.graph, case.root);
        let limits = Limits { largest: usize::MAX, least: 0, shown: usize::MAX, way: usize::MAX };
        let reduced = |family: fn(Node) -> u32| {
            let standing = |node: Node| Standing::InFamily(family(node));
            reduce(&case.graph, &together, case.root, &case.weights, standing, limits)
        };
        let (found, apart) = (reduced(|node| node % 3), reduced(|node| node));
        let alike: u64 = found.sets.iter().map(|set| set.alike).sum();
        assert_eq!(alike, apart.sets.len() as u64, "case {seed}");
        // Repeatedly remove sets without incoming edges, until nothing is left.
        let mut is_left = vec![true; found.sets.len()];
        for _ in &found.sets {
            let mut is_target = vec![false; found.sets.len()];
            for edge in found.edges.iter().filter(|edge| is_left[edge.from]) {
                is_target[edge.to] = true;
            }
            is_left.iter_mut().zip(is_target).for_each(|(left, target)| *left &= target);
        }
        assert!(is_left.iter().all(|left| !left), "case {seed}");
    });
}
