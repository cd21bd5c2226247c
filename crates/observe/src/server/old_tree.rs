//! Converts graphs for the clients of Ocamlviz, which know only trees with sharing.
//!
//! Children must precede their parents, so cycles cannot be expressed: where one closes, a leaf names the
//! ancestor. Clients unfold shared nodes and accept no long messages, so the result is limited in bytes, in
//! depth, and in nodes after unfolding. Omissions are marked.

use bactrian_live::Tree;

use crate::name::cut;

/// Marks omitted children.
const CUT: char = '…';
/// Marks a leaf that stands for an ancestor.
const ABOVE: char = '↑';

const MOST_BYTES: usize = 48 << 10;
const MOST_UNFOLDED: usize = 5000;
const DEEPEST: usize = 500;
const LONGEST_LABEL: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unseen,
    /// An ancestor of the current node.
    Open,
    /// Written at this index, with this many nodes when unfolded.
    Written(u16, usize),
}

/// A node whose children are being written.
struct Open {
    node: usize,
    next_child: usize,
    written: Vec<u16>,
    unfolded: usize,
    is_cut: bool,
}

impl Open {
    fn new(node: usize) -> Open {
        Open { node, next_child: 0, written: Vec::new(), unfolded: 1, is_cut: false }
    }

    /// Adds a child if the limit on unfolded nodes permits.
    fn add(&mut self, at: u16, unfolded: usize) {
        if self.unfolded + unfolded <= MOST_UNFOLDED {
            self.unfolded += unfolded;
            self.written.push(at);
        } else {
            self.is_cut = true;
        }
    }
}

/// Labels and children, the root last. An empty tree becomes one node without a label.
pub(crate) fn unfolded(tree: &Tree) -> Vec<(String, Vec<u16>)> {
    if tree.nodes.is_empty() {
        return vec![(String::new(), Vec::new())];
    }
    let mut states = vec![State::Unseen; tree.nodes.len()];
    let mut written = Vec::new();
    // The root always needs space, including its marks.
    let mut bytes = size(LONGEST_LABEL, tree.nodes[0].children.len());
    let mut stack = vec![Open::new(0)];
    states[0] = State::Open;
    while let Some(top) = stack.last_mut() {
        let Some(child) = tree.nodes[top.node].children.get(top.next_child) else {
            let at = written.len() as u16;
            let done = (top.node, top.unfolded);
            let mut label = cut(&tree.nodes[top.node].label, LONGEST_LABEL);
            if top.is_cut {
                label.push(CUT);
            }
            written.push((label, std::mem::take(&mut top.written)));
            states[done.0] = State::Written(at, done.1);
            stack.pop();
            if let Some(parent) = stack.last_mut() {
                parent.add(at, done.1);
            }
            continue;
        };
        top.next_child += 1;
        let child = *child as usize;
        let Some(state) = states.get(child).copied() else { continue };
        match state {
            State::Written(at, unfolded) => top.add(at, unfolded),
            State::Open => {
                let label = format!("{ABOVE} {}", cut(&tree.nodes[child].label, LONGEST_LABEL));
                let needed = size(label.len(), 0);
                if bytes + needed > MOST_BYTES {
                    top.is_cut = true;
                } else {
                    bytes += needed;
                    top.add(written.len() as u16, 1);
                    written.push((label, Vec::new()));
                }
            }
            State::Unseen => {
                let node = &tree.nodes[child];
                let needed = size(node.label.len().min(LONGEST_LABEL), node.children.len());
                if bytes + needed > MOST_BYTES || stack.len() >= DEEPEST {
                    if let Some(top) = stack.last_mut() {
                        top.is_cut = true;
                    }
                } else {
                    bytes += needed;
                    states[child] = State::Open;
                    stack.push(Open::new(child));
                }
            }
        }
    }
    written
}

/// The encoded size of a node, in bytes.
fn size(label: usize, children: usize) -> usize {
    4 + label + CUT.len_utf8() + 2 + 2 * children
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_live::Node;
    use bactrian_live::ocamlviz::{Message, Uid, VizValue, put};

    fn tree(nodes: &[(&str, &[u32])]) -> Tree {
        let node = |(label, children): &(&str, &[u32])| Node {
            label: (*label).into(),
            children: children.to_vec(),
        };
        Tree { nodes: nodes.iter().map(node).collect() }
    }

    fn check(tree: &Tree) -> Vec<(String, Vec<u16>)> {
        let found = unfolded(tree);
        let mut sizes: Vec<usize> = Vec::new();
        for (at, (_, children)) in found.iter().enumerate() {
            assert!(children.iter().all(|child| usize::from(*child) < at));
            sizes.push(1 + children.iter().map(|child| sizes[usize::from(*child)]).sum::<usize>());
        }
        assert!(sizes[sizes.len() - 1] <= MOST_UNFOLDED);
        let message = Message::Send(Uid(5), VizValue::Tree(found.clone()));
        put(&mut Vec::new(), &message).expect("short enough for a client");
        found
    }

    #[test]
    fn sharing_is_encoded_like_the_original() {
        // The tree in the captures.
        let shared = tree(&[
            ("root", &[1, 2]),
            ("a", &[3]),
            ("b", &[3, 3]),
            ("shared", &[4]),
            ("leaf", &[]),
        ]);
        let expected = [
            ("leaf", vec![]),
            ("shared", vec![0]),
            ("a", vec![1]),
            ("b", vec![1, 1]),
            ("root", vec![2, 3]),
        ];
        let expected: Vec<_> =
            expected.map(|(label, children)| (label.to_owned(), children)).into();
        assert_eq!(check(&shared), expected);
    }

    #[test]
    fn cycles_become_leaves() {
        let found = check(&tree(&[("a", &[1]), ("b", &[0, 1])]));
        let labels: Vec<_> = found.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["↑ a", "↑ b", "b", "a"]);
    }

    #[test]
    fn output_is_limited_in_size_depth_and_width() {
        check(&Tree::default());
        // A list, a star, a ladder that unfolds to 2^1000 nodes, endless labels, and children that do not
        // exist.
        let list: Vec<_> =
            (1..10_000).map(|next| Node { label: "n".into(), children: vec![next] }).collect();
        check(&Tree { nodes: list });
        let mut star = vec![Node { label: "centre".into(), children: (0..10_000).collect() }];
        star.resize(10_000, Node { label: "x".repeat(300), children: Vec::new() });
        let found = check(&Tree { nodes: star });
        assert!(found[found.len() - 1].0.ends_with(CUT));
        let ladder: Vec<_> =
            (1..1000).map(|next| Node { label: "l".into(), children: vec![next, next] }).collect();
        check(&Tree { nodes: ladder });
        let complete = Node { label: "k".into(), children: (0..300).collect() };
        check(&Tree { nodes: vec![complete; 300] });
        let wide = Node { label: "wide".into(), children: vec![1; 100_000] };
        check(&Tree { nodes: vec![wide, Node::default()] });
    }
}
