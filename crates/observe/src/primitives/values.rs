//! Values that the program has anyway, evaluated only while a client is connected.
//!
//! The closures are called on a thread of the server. A closure that panics or never returns is shown as
//! failed; the others are not affected.

use std::collections::HashMap;
use std::ptr;

use bactrian_live::{Node, ObserverKind, Value as Shown};

use super::observer;
use crate::name::Name;
use crate::registry::Handle;
use crate::server::server;

/// A value of the program.
#[derive(Clone, Debug)]
pub struct Value {
    handle: Handle,
}

observer!(Value);

impl Value {
    /// Observes an integer.
    pub fn int(name: impl Into<Name>, read: impl FnMut() -> i64 + Send + 'static) -> Value {
        Value::watch(ObserverKind::Int, name, read, Shown::Int)
    }

    /// Observes a floating-point number.
    pub fn float(name: impl Into<Name>, read: impl FnMut() -> f64 + Send + 'static) -> Value {
        Value::watch(ObserverKind::Float, name, read, Shown::Float)
    }

    /// Observes a boolean.
    pub fn bool(name: impl Into<Name>, read: impl FnMut() -> bool + Send + 'static) -> Value {
        Value::watch(ObserverKind::Bool, name, read, Shown::Bool)
    }

    /// Observes a string.
    pub fn text(name: impl Into<Name>, read: impl FnMut() -> String + Send + 'static) -> Value {
        Value::watch(ObserverKind::Text, name, read, Shown::Text)
    }

    fn watch<T: 'static, F>(
        kind: ObserverKind,
        name: impl Into<Name>,
        mut read: F,
        shown: fn(T) -> Shown,
    ) -> Value
    where
        F: FnMut() -> T + Send + 'static,
    {
        Value { handle: server().watch(kind, name, move || shown(read())) }
    }
}

/// A tree or graph of the program.
#[derive(Clone, Debug)]
pub struct Tree {
    handle: Handle,
}

observer!(Tree);

impl Tree {
    /// Observes the tree that a closure returns.
    pub fn new<F>(name: impl Into<Name>, mut read: F) -> Tree
    where
        F: FnMut() -> bactrian_live::Tree + Send + 'static,
    {
        Tree { handle: server().watch(ObserverKind::Tree, name, move || Shown::Tree(read())) }
    }

    /// The graph reachable from `root`, of at most `most` nodes. A value reached on several paths becomes one
    /// node, so that sharing and cycles are visible. Nodes with omitted children are marked with `…`.
    pub fn of<'a, T>(
        root: &'a T,
        most: usize,
        label: impl Fn(&'a T) -> String,
        children: impl Fn(&'a T) -> Vec<&'a T>,
    ) -> bactrian_live::Tree {
        let mut numbers = HashMap::from([(ptr::from_ref(root), 0_u32)]);
        let mut found = vec![root];
        let mut nodes = Vec::new();
        while nodes.len() < found.len() {
            let value = found[nodes.len()];
            let mut node = Node { label: label(value), children: Vec::new() };
            let mut is_whole = true;
            for child in children(value) {
                let next = numbers.len();
                match numbers.get(&ptr::from_ref(child)) {
                    Some(number) => node.children.push(*number),
                    None if next < most => {
                        numbers.insert(ptr::from_ref(child), next as u32);
                        found.push(child);
                        node.children.push(next as u32);
                    }
                    None => is_whole = false,
                }
            }
            if !is_whole {
                node.label.push('…');
            }
            nodes.push(node);
        }
        bactrian_live::Tree { nodes }
    }
}

/// A hash table of the program.
#[derive(Clone, Debug)]
pub struct Table {
    handle: Handle,
}

observer!(Table);

impl Table {
    /// Observes the statistics that a closure returns.
    pub fn new<F>(name: impl Into<Name>, mut read: F) -> Table
    where
        F: FnMut() -> bactrian_live::Table + Send + 'static,
    {
        Table { handle: server().watch(ObserverKind::Table, name, move || Shown::Table(read())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cyclic {
        name: &'static str,
        next: Vec<usize>,
    }

    #[test]
    fn sharing_and_cycles_are_kept() {
        let graph = [
            Cyclic { name: "root", next: vec![1, 2] },
            Cyclic { name: "left", next: vec![3] },
            Cyclic { name: "right", next: vec![3, 0] },
            Cyclic { name: "shared", next: vec![] },
        ];
        let children = |it: &Cyclic| it.next.iter().map(|next| &graph[*next]).collect();
        let tree = Tree::of(&graph[0], 100, |it| it.name.into(), children);
        let shape: Vec<_> =
            tree.nodes.iter().map(|it| (it.label.as_str(), it.children.as_slice())).collect();
        assert_eq!(
            shape,
            [("root", &[1, 2][..]), ("left", &[3]), ("right", &[3, 0]), ("shared", &[])]
        );
        let cut = Tree::of(&graph[0], 3, |it| it.name.into(), children);
        assert_eq!(cut.nodes.len(), 3);
        assert_eq!(cut.nodes[1].label, "left…");
    }
}
