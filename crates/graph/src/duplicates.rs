//! Nodes with equal contents and equal targets, all the way down, found from below by hash-consing.
//!
//! A node's targets have lower components and so are done before it. Each has one representative by then, so two
//! nodes are equal if their keys are and their targets' representatives are the same. Nothing is decided by a hash:
//! it only says where to look.

use std::hash::{BuildHasher, RandomState};

use crate::components::Members;
use crate::graph::View;
use crate::{Components, Graph, NONE, Node};

/// For each node the first one, in order of components, that is equal to it: often itself.
///
/// Nodes are equal if their keys are, `same` says so, and their targets are equal in order. A node without a key is
/// equal only to itself; so is one that reaches itself, or is not reached from the root. The key should tell apart
/// what `same` tells apart: many nodes with one key that are not the same make this slow. If the components do not
/// fit the graph, nothing is equal.
pub fn duplicates(
    graph: &Graph,
    components: &Components,
    key: impl Fn(Node) -> Option<u64>,
    same: impl Fn(Node, Node) -> bool,
) -> Vec<Node> {
    let view = graph.view();
    let mut first: Vec<Node> = (0..view.nodes() as Node).collect();
    if !components.fit(graph) {
        return first;
    }
    let members = components.members();
    let mut table = Table::for_nodes(components.count as usize);
    for component in 0..components.count {
        let Some((node, key_of_node)) = candidate(view, &members, component, &key) else {
            continue;
        };
        let targets = view.successors(node);
        let hash = table.hash(key_of_node, targets.iter().map(|&target| first[target as usize]));
        let found = table.find_or_insert(hash, node, |other| {
            let others = view.successors(other);
            targets.len() == others.len()
                && targets.iter().zip(others).all(|(&a, &b)| first[a as usize] == first[b as usize])
                && key(other) == Some(key_of_node)
                && same(node, other)
        });
        first[node as usize] = found;
    }
    first
}

/// The node of a component that may be equal to others, and its key.
fn candidate(
    view: View<'_>,
    members: &Members,
    component: u32,
    key: impl Fn(Node) -> Option<u64>,
) -> Option<(Node, u64)> {
    let &[node] = members.of(component) else { return None };
    if view.successors(node).contains(&node) {
        return None;
    }
    Some((node, key(node)?))
}

/// Nodes by hash, with open addressing.
struct Table {
    /// A power of two of them, never full.
    slots: Vec<Node>,
    /// Unknown to who made the graph, who cannot so make all nodes meet in one place.
    seed: u64,
}

impl Table {
    fn for_nodes(nodes: usize) -> Table {
        let slots = (nodes + nodes / 2 + 1).next_power_of_two();
        Table { slots: vec![NONE; slots], seed: RandomState::new().hash_one(0) }
    }

    fn hash(&self, key: u64, targets: impl Iterator<Item = Node>) -> u64 {
        targets.fold(mix(self.seed, key), |hash, target| mix(hash, u64::from(target)))
    }

    /// The node at this hash that is equal, or else `node`, which is put there.
    #[inline]
    fn find_or_insert(&mut self, hash: u64, node: Node, is_equal: impl Fn(Node) -> bool) -> Node {
        let mask = self.slots.len() - 1;
        // The upper bits are the best mixed.
        let mut at = (hash >> 20) as usize & mask;
        loop {
            match self.slots[at] {
                NONE => {
                    self.slots[at] = node;
                    return node;
                }
                other if is_equal(other) => return other,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// Mixes a number into a hash: both halves of a product.
#[inline]
fn mix(hash: u64, number: u64) -> u64 {
    let product = u128::from(hash ^ number) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}
