//! Nodes with equal contents and equal targets, all the way down, found bottom-up by hash-consing.
//!
//! A node's targets have lower components, so they are processed first and each has a representative by then.
//! Two nodes are equal if their keys are equal and their targets have the same representatives. Hashes decide
//! nothing: they only say where to look.

use std::hash::{BuildHasher, RandomState};

use crate::components::Members;
use crate::graph::View;
use crate::memory::zeroes;
use crate::{Components, Graph, Node};

/// For each node the first node, in order of components, that is equal to it; often the node itself.
///
/// Nodes are equal if their keys are equal, `same` holds, and their targets are equal in order. A node without
/// a key is equal only to itself, and so is one that reaches itself or is not reachable from the root. The key
/// should distinguish what `same` distinguishes: many nodes with one key that are not the same make this slow.
/// If the components do not fit the graph, no two nodes are equal.
pub fn duplicates(
    graph: &Graph,
    components: &Components,
    key: impl Fn(Node) -> Option<u64>,
    same: impl Fn(Node, Node) -> bool,
) -> Vec<Node> {
    let view = graph.view();
    let mut first: Vec<Node> = zeroes(view.nodes());
    first.iter_mut().zip(0..).for_each(|(first, node)| *first = node);
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

/// The node of a component that may equal others, and its key.
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

/// A hash table of nodes with open addressing.
struct Table {
    /// The node in the lower half and a part of its hash in the upper half, so that few nodes are compared in
    /// vain. Never full.
    slots: Vec<u64>,
    /// Random, so that whoever made the graph cannot make all nodes collide.
    seed: u64,
}

const FREE: u64 = u64::MAX;

impl Table {
    fn for_nodes(nodes: usize) -> Table {
        let mut slots = zeroes(nodes + nodes / 3 + 1);
        slots.fill(FREE);
        Table { slots, seed: RandomState::new().hash_one(0) }
    }

    fn hash(&self, key: u64, targets: impl Iterator<Item = Node>) -> u64 {
        targets.fold(mix(self.seed, key), |hash, target| mix(hash, u64::from(target)))
    }

    /// Returns the equal node with this hash, or inserts `node` and returns it.
    #[inline]
    fn find_or_insert(&mut self, hash: u64, node: Node, is_equal: impl Fn(Node) -> bool) -> Node {
        let part = hash << 32;
        // The hash, as a fraction of its range, is the fraction of the table where probing begins.
        let mut at = ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize;
        loop {
            let slot = self.slots[at];
            // No node is all ones, whatever its hash, so no slot in use looks free.
            if slot == FREE {
                self.slots[at] = part | u64::from(node);
                return node;
            }
            if slot & !u64::from(Node::MAX) == part && is_equal(slot as Node) {
                return slot as Node;
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
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
