//! Graphs of extreme shapes: no recursion, no quadratic time, and empty graphs work.

use std::time::{Duration, Instant};

use bactrian_graph::{
    Builder, Dominators, Graph, Limits, NONE, Node, SetKind, Standing, Within, components,
    dominators, duplicates, fair_shares, neighbourhood, reach, reduce, shortest,
};

fn graph(nodes: usize, successors: impl Fn(Node, &mut Builder)) -> Graph {
    let mut builder = Builder::with_capacity(nodes, nodes);
    for node in 0..nodes as Node {
        successors(node, &mut builder);
        builder.end_node();
    }
    builder.finish().expect("all targets are nodes")
}

/// All answers for a graph in which every node weighs 1 and has a key of its own.
fn all_answers(graph: &Graph, root: Node) -> Dominators {
    let weights = vec![1; graph.nodes()];
    let together = components(graph, root);
    let shares = fair_shares(graph, &together, root, &weights);
    let groups = [&[root][..], &[]];
    let reached = reach(graph, &together, &groups, &weights);
    let found = dominators(graph, root, &weights);
    let total = found.retained.get(root as usize).copied().unwrap_or(0);
    assert_eq!(reached, [total, 0]);
    let share = shares.get(root as usize).copied().unwrap_or(0.0);
    assert!((share - total as f64).abs() < 1e-6 * share.max(1.0), "{share}, not {total}");
    let reached = together.of.iter().filter(|&&of| of != NONE).count() as u64;
    assert_eq!(reached, total);
    let before = shortest(graph, root);
    assert_eq!(before.iter().filter(|&&before| before != NONE).count() as u64, total.max(1) - 1);
    let first = duplicates(graph, &together, |node| Some(u64::from(node)), |_, _| true);
    assert!(first.iter().copied().eq(0..graph.nodes() as Node));
    let limits = Limits { largest: 10, least: 0, shown: usize::MAX, way: 10 };
    let reduced = reduce(graph, &together, root, &weights, |_| Standing::InFamily(0), limits);
    assert_eq!(reduced.sets.iter().map(|set| set.weight).sum::<u64>(), total);
    assert!(reduced.sets.len() <= 112);
    let within = Within { steps: u32::MAX, most: 10 };
    let near = neighbourhood(graph, &graph.reversed(), root, within, u64::from);
    assert!(near.near.len() <= 10);
    assert!((near.near.len() + near.left_out.len()) as u64 >= total);
    found
}

#[test]
fn a_list_of_ten_million() {
    const LENGTH: Node = 10_000_000;
    let list = graph(LENGTH as usize, |node, builder| {
        if node + 1 < LENGTH {
            builder.target(node + 1);
        }
    });
    let found = all_answers(&list, 0);
    assert_eq!(found.parent[0], NONE);
    assert!((1..LENGTH).all(|node| found.parent[node as usize] == node - 1));
    assert!((0..LENGTH).all(|node| found.retained[node as usize] == u64::from(LENGTH - node)));
}

#[test]
fn a_tree_a_million_deep() {
    // Each node of the spine points to a leaf and to the next node of the spine.
    const DEPTH: Node = 1_000_000;
    let tree = graph(2 * DEPTH as usize, |node, builder| {
        if node < DEPTH {
            builder.target(DEPTH + node);
            if node + 1 < DEPTH {
                builder.target(node + 1);
            }
        }
    });
    let found = all_answers(&tree, 0);
    assert!((1..DEPTH).all(|node| found.parent[node as usize] == node - 1));
    assert!((0..DEPTH).all(|node| found.parent[(DEPTH + node) as usize] == node));
    assert_eq!(found.retained[DEPTH as usize / 2], u64::from(DEPTH));
}

#[test]
fn a_ring_back_to_everywhere() {
    // From the end of a list back to each of its nodes.
    const LENGTH: Node = 1_000_000;
    let ring = graph(LENGTH as usize, |node, builder| {
        if node + 1 < LENGTH {
            builder.target(node + 1);
        } else {
            (0..LENGTH).for_each(|node| builder.target(node));
        }
    });
    let found = all_answers(&ring, 0);
    assert!((1..LENGTH).all(|node| found.parent[node as usize] == node - 1));
    assert_eq!(components(&ring, 0).count, 1);
}

#[test]
fn a_clique_of_thousands() {
    const NODES: Node = 3_000;
    let clique = graph(NODES as usize, |_, builder| {
        (0..NODES).for_each(|node| builder.target(node));
    });
    let found = all_answers(&clique, 7);
    assert!((0..NODES).all(|node| found.parent[node as usize] == if node == 7 { NONE } else { 7 }));
    assert_eq!(found.retained[7], u64::from(NODES));
    assert_eq!(components(&clique, 7).count, 1);
}

#[test]
fn empty_single_and_unreachable_graphs_are_answered() {
    let empty = graph(0, |_, _| {});
    assert_eq!(all_answers(&empty, 0), Dominators::default());
    assert_eq!(all_answers(&empty, NONE), Dominators::default());

    let one = graph(1, |_, _| {});
    let found = all_answers(&one, 0);
    assert_eq!((found.parent.to_vec(), found.retained.to_vec()), (vec![NONE], vec![1]));
    let itself = graph(1, |_, builder| builder.target(0));
    assert_eq!(all_answers(&itself, 0), found);

    let lonely = graph(1_000, |node, builder| builder.target((node / 2).max(1)));
    let found = all_answers(&lonely, NONE);
    assert!(found.parent.iter().all(|&parent| parent == NONE));
    assert!(found.retained.iter().all(|&retained| retained == 0));
    let found = all_answers(&graph(1_000, |_, _| {}), 999);
    assert_eq!(found.retained.iter().sum::<u64>(), 1);
}

#[test]
fn mismatched_weights_and_components_do_no_harm() {
    let pair = graph(2, |node, builder| (0..1 - node).for_each(|_| builder.target(1)));
    let together = components(&pair, 0);
    assert_eq!(*dominators(&pair, 0, &[5]).retained, [5, 0]);
    assert_eq!(fair_shares(&pair, &together, 0, &[]), [0.0, 0.0]);
    let other = components(&graph(1, |_, _| {}), 0);
    assert_eq!(fair_shares(&pair, &other, 0, &[1, 1]), [0.0, 0.0]);
    assert_eq!(reach(&pair, &other, &[&[0]], &[1, 1]), [0]);
    assert_eq!(duplicates(&pair, &other, |_| Some(0), |_, _| true), [0, 1]);
    let limits = Limits { largest: 1, least: 0, shown: usize::MAX, way: 1 };
    assert!(reduce(&pair, &other, 0, &[1, 1], |_| Standing::InFamily(0), limits).sets.is_empty());
}

/// A list of records and a table of the same records: each record's dominator is the common root, but walking
/// there from its cell, deep in the list, is quadratic.
#[test]
fn a_list_and_a_table_of_the_same_records() {
    const RECORDS: Node = 1_000_000;
    const TABLE: Node = 1 + 3 * RECORDS;
    let (cell, record, entry) =
        (|at: Node| 1 + 2 * at, |at: Node| 2 + 2 * at, |at: Node| 1 + 2 * RECORDS + at);
    let trap = graph(TABLE as usize + 1, |node, builder| {
        if node == 0 {
            builder.target(cell(0));
            builder.target(TABLE);
        } else if node < entry(0) && node % 2 == 1 {
            builder.target(node + 1);
            if node + 2 < entry(0) {
                builder.target(node + 2);
            }
        } else if node == TABLE {
            (0..RECORDS).for_each(|at| builder.target(entry(at)));
        } else if node >= entry(0) {
            builder.target(record(node - entry(0)));
        }
    });
    // The same without the table, to compare times with.
    let tree = graph(TABLE as usize + 1, |node, builder| {
        trap.successors(node).iter().for_each(|&target| {
            if node == 0 || node % 2 == 1 && node < entry(0) || node == TABLE {
                builder.target(target);
            }
        });
    });
    let timed = |graph: &Graph| {
        let start = Instant::now();
        (dominators(graph, 0, &vec![1; graph.nodes()]), start.elapsed())
    };
    let (_, simple) = timed(&tree);
    let (found, trapped) = timed(&trap);
    assert!((0..RECORDS).all(|at| found.parent[record(at) as usize] == 0));
    assert!((1..RECORDS).all(|at| found.parent[cell(at) as usize] == cell(at - 1)));
    // Quadratic time would be hours; this bound holds on a busy machine too.
    assert!(trapped < 20 * simple + Duration::from_secs(2), "{trapped:?} and {simple:?}");
    all_answers(&trap, 0);
}

/// Figure 3.2 of the seed shows how a node shared by several becomes a child of its dominator. We do not have
/// the picture: this is a graph of the kind that the text describes.
#[test]
fn shared_node_hangs_from_its_dominator_as_the_seed_says() {
    // r -> a, b; a -> c, d; b -> d, e; c -> f; d -> f, g; e -> h; g -> h
    let [r, a, b, c, d, e, f, g, h]: [Node; 9] = std::array::from_fn(|at| at as Node);
    let edges: [&[Node]; 9] = [&[a, b], &[c, d], &[d, e], &[f], &[f, g], &[h], &[], &[h], &[]];
    let figure = graph(9, |node, builder| {
        edges[node as usize].iter().for_each(|&target| builder.target(target));
    });
    let found = all_answers(&figure, r);
    assert_eq!(*found.parent, [NONE, r, r, a, r, b, r, d, r]);
    assert_eq!(*found.retained, [9, 2, 2, 1, 2, 1, 1, 1, 1]);
}

/// Figure 4.2, another picture that we do not have: the seed divides the size of a shared node by the number of
/// its parents. Without that, the sizes of the root's children add up to more than the whole.
#[test]
fn shared_size_is_divided_as_the_seed_says() {
    // r -> a, b, c; a -> d; b -> d; c -> e; d -> e
    let edges: [&[Node]; 6] = [&[1, 2, 3], &[4], &[4], &[5], &[5], &[]];
    let figure = graph(6, |node, builder| {
        edges[node as usize].iter().for_each(|&target| builder.target(target));
    });
    let weights = [0, 1, 1, 1, 4, 8];
    let together = components(&figure, 0);
    let groups: [&[Node]; 3] = [&[1], &[2], &[3]];
    // With sharing ignored: 35 of 15.
    assert_eq!(reach(&figure, &together, &groups, &weights), [13, 13, 9]);
    let shares = fair_shares(&figure, &together, 0, &weights);
    assert_eq!(shares, [15.0, 5.0, 5.0, 5.0, 8.0, 8.0]);
    assert_eq!(*dominators(&figure, 0, &weights).retained, [15, 1, 1, 1, 4, 8]);
    // d and e have several parents and begin sets of their own; the others are one tree.
    let limits = Limits { largest: 1, least: 0, shown: usize::MAX, way: 1 };
    let reduced = reduce(&figure, &together, 0, &weights, |_| Standing::InFamily(0), limits);
    let sets = reduced.sets.iter().map(|set| (set.kind, set.entry, set.nodes, set.weight));
    assert!(sets.eq([
        (SetKind::Root, 0, 4, 3),
        (SetKind::Large, 5, 1, 8),
        (SetKind::Rest, NONE, 1, 4),
    ]));
}

#[test]
fn similar_sets_are_merged() {
    // Both the root and a table hold the entries 2 to 6. The last is of another family, and the second points
    // to the first.
    let shared: &[Node] = &[2, 3, 4, 5, 6];
    let figure = graph(8, |node, builder| {
        let targets = match node {
            0 => &[1, 2, 3, 4, 5, 6],
            1 => shared,
            3 => &[2][..],
            4 => &[7][..],
            _ => &[],
        };
        targets.iter().for_each(|&target| builder.target(target));
    });
    let weights = [0, 1, 10, 10, 10, 10, 10, 100];
    let limits = Limits { largest: 10, least: 0, shown: usize::MAX, way: 1 };
    let standing = |node: Node| Standing::InFamily(u32::from(node == 6));
    let reduced = reduce(&figure, &components(&figure, 0), 0, &weights, standing, limits);
    let sets = reduced.sets.iter().map(|set| (set.kind, set.alike, set.nodes, set.weight));
    let sets: Vec<_> = sets.collect();
    // The first is deeper than its siblings and would make a cycle with them.
    let expected = [
        (SetKind::Root, 1, 2, 1),
        (SetKind::Large, 3, 4, 130),
        (SetKind::Large, 1, 1, 10),
        (SetKind::Large, 1, 1, 10),
    ];
    assert_eq!(sets, expected);
    assert_eq!(reduced.edges.iter().map(|edge| edge.edges).sum::<u64>(), 11);
}
