//! Trees and graphs, as rows that can be folded.
//!
//! A node with several references is shown in full, with a number, where a walk from the root first reaches
//! it; the other references show only that number. So sharing is visible, and cycles end where they close.

use std::collections::{HashMap, HashSet};

use bactrian_analysis::live::numbers::show_whole;
use bactrian_live::{Node, Series, Tree, Value};

use super::{Cell, Column, Row, RowId, Tone};
use crate::measure::{Measure, ObserverIndex, full_name};

pub const COLUMNS: &[Column] = &[Column::text("tree"), Column::number("nodes", 9)];

/// Identifies a row of a tree by the child indices on the path from the root. Unlike node numbers, a path
/// stays the same when the tree changes elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodePath {
    /// The observer of the tree.
    pub place: ObserverIndex,
    /// The child indices from the root.
    pub path: Vec<u32>,
}

/// Which nodes are folded.
#[derive(Clone, Debug)]
pub struct Folds {
    /// Rows above this depth are open, ..
    depth: usize,
    /// .. except these, which are the opposite.
    toggled: HashSet<NodePath>,
}

impl Default for Folds {
    fn default() -> Folds {
        Folds { depth: 2, toggled: HashSet::new() }
    }
}

/// The depth to which everything can be opened at once.
const DEEPEST: usize = 40;
/// The most rows shown of a tree; the rest is counted.
const MOST_ROWS: usize = 20_000;

impl Folds {
    fn is_open(&self, path: &NodePath) -> bool {
        (path.path.len() < self.depth) != self.toggled.contains(path)
    }

    /// Folds or unfolds a node.
    pub fn toggle(&mut self, path: NodePath) {
        if !self.toggled.remove(&path) {
            self.toggled.insert(path);
        }
    }

    /// Opens all ancestors of a row.
    pub fn reveal(&mut self, path: &NodePath) {
        for length in 0..path.path.len() {
            let above = NodePath { place: path.place, path: path.path[..length].to_vec() };
            if !self.is_open(&above) {
                self.toggle(above);
            }
        }
    }

    /// Opens all trees one level more, or less.
    pub fn change_depth(&mut self, is_deeper: bool) {
        self.toggled.clear();
        self.depth =
            if is_deeper { (self.depth + 1).min(DEEPEST) } else { self.depth.saturating_sub(1) };
    }
}

/// Where a walk from the root first reaches each node.
struct Walk<'a> {
    tree: &'a Tree,
    /// For each node, the parent from which it is reached, and its index among that parent's children.
    met: Vec<Option<(u32, u32)>>,
    /// Display numbers of nodes with more than one reference.
    shared: HashMap<u32, usize>,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree) -> Walk<'a> {
        let mut met: Vec<Option<(u32, u32)>> = vec![None; tree.nodes.len()];
        let mut references = vec![0_u32; tree.nodes.len()];
        let mut order = Vec::new();
        // `u32::MAX` stands for the missing parent of the root.
        let mut stack = vec![(0_u32, (u32::MAX, 0_u32))];
        while let Some((number, from)) = stack.pop() {
            let Some(node) = tree.nodes.get(number as usize) else { continue };
            references[number as usize] = references[number as usize].saturating_add(1);
            if met[number as usize].is_some() {
                continue;
            }
            met[number as usize] = Some(from);
            order.push(number);
            let children = node.children.iter().enumerate().rev();
            stack.extend(children.map(|(position, child)| (*child, (number, position as u32))));
        }
        let shared = order.into_iter().filter(|number| references[*number as usize] > 1);
        let shared = shared.enumerate().map(|(position, number)| (number, position + 1)).collect();
        Walk { tree, met, shared }
    }

    fn node(&self, number: u32) -> Option<&'a Node> {
        self.tree.nodes.get(number as usize)
    }

    /// Whether the node is shown in full at this place.
    fn is_met(&self, number: u32, parent: u32, position: u32) -> bool {
        self.met.get(number as usize).copied().flatten() == Some((parent, position))
    }

    /// The path to the place where a node is shown in full.
    fn path(&self, mut number: u32) -> Vec<u32> {
        let mut path = Vec::new();
        while let Some((parent, position)) = self.met.get(number as usize).copied().flatten() {
            path.push(position);
            number = parent;
        }
        path.reverse();
        path
    }
}

/// Where the node of a row is shown in full, if that is elsewhere.
pub fn definition(tree: &Tree, row: &NodePath) -> Option<NodePath> {
    let walk = Walk::new(tree);
    let (mut parent, mut number) = (u32::MAX, 0);
    for (step, position) in row.path.iter().enumerate() {
        if step > 0 {
            (parent, number) = (number, *walk.node(number)?.children.get(*position as usize)?);
        }
    }
    let position = row.path.last().copied().unwrap_or(0);
    let is_elsewhere = !walk.is_met(number, parent, position);
    is_elsewhere.then(|| NodePath { place: row.place, path: walk.path(number) })
}

/// A node that is still to be shown.
struct Waiting {
    number: u32,
    parent: u32,
    path: Vec<u32>,
    /// The prefix of its children's rows.
    indent: String,
    is_last: bool,
}

pub fn rows(place: ObserverIndex, series: &Series, at: u64, folds: &Folds) -> Vec<Row> {
    let measure = Measure::of(place, series, at);
    let name = full_name(series);
    let top = |said: String, tone| {
        // An error takes all the space; the number of nodes has its own column.
        let cells = match tone {
            Tone::Plain => vec![Cell::text(name.clone()), Cell::text(said)],
            _ => vec![Cell::text(format!("  {name}  {said}"))],
        };
        let id = RowId::Node(NodePath { place, path: Vec::new() });
        Row { id, cells, tone, measure: measure.clone() }
    };
    let tree = match series.at(at) {
        Some((_, Value::Tree(tree))) => tree,
        Some((_, Value::Failed(reason))) => {
            return vec![top(format!("failed: {reason}"), Tone::Bad)];
        }
        Some((_, Value::Collected)) => return vec![top("collected".to_owned(), Tone::Faint)],
        Some((_, Value::Killed)) => return vec![top("no longer observed".to_owned(), Tone::Faint)],
        _ => return vec![top("nothing yet".to_owned(), Tone::Faint)],
    };
    let root = NodePath { place, path: Vec::new() };
    let mut first = top(show_whole(tree.nodes.len() as i64), Tone::Plain);
    let sign = if tree.nodes.is_empty() { ' ' } else { fold_sign(folds.is_open(&root)) };
    first.cells[0].text = format!("{sign} {name}");
    let mut rows = vec![first];
    if folds.is_open(&root) {
        add_nodes(place, tree, folds, &mut rows);
    }
    rows
}

fn fold_sign(is_open: bool) -> char {
    if is_open { '▾' } else { '▸' }
}

fn add_nodes(place: ObserverIndex, tree: &Tree, folds: &Folds, rows: &mut Vec<Row>) {
    let walk = Walk::new(tree);
    let first =
        Waiting { number: 0, parent: u32::MAX, path: vec![0], indent: "  ".into(), is_last: true };
    let mut waiting = vec![first];
    while let Some(next) = waiting.pop() {
        if rows.len() > MOST_ROWS {
            let cells = vec![Cell::text("  … more, folded or not")];
            let id = RowId::Node(NodePath { place, path: next.path });
            rows.push(Row { id, cells, tone: Tone::Faint, measure: None });
            return;
        }
        let Some(node) = walk.node(next.number) else { continue };
        let position = next.path.last().copied().unwrap_or(0);
        let path = NodePath { place, path: next.path };
        let is_here = walk.is_met(next.number, next.parent, position);
        let number = walk.shared.get(&next.number);
        let is_root = path.path.len() == 1;
        let branch = match (is_root, next.is_last) {
            (true, _) => "",
            (_, true) => "└─",
            (_, false) => "├─",
        };
        let text = match (is_here, number) {
            (true, number) => {
                let is_leaf = node.children.is_empty();
                let sign = if is_leaf { '─' } else { fold_sign(folds.is_open(&path)) };
                let sign = if is_leaf && is_root { ' ' } else { sign };
                let number = number.map_or(String::new(), |number| format!("  #{number}"));
                format!("{}{branch}{sign} {}{number}", next.indent, node.label)
            }
            // A reference to an ancestor, or to where the shared node is shown.
            (false, number) => {
                let above = walk.path(next.number);
                let sign = if path.path.starts_with(&above) { '↑' } else { '→' };
                let number = number.copied().unwrap_or_default();
                format!("{}{branch}{sign} #{number} {}", next.indent, node.label)
            }
        };
        if is_here && folds.is_open(&path) {
            let bar = match (is_root, next.is_last) {
                (true, _) => "",
                (_, true) => "  ",
                (_, false) => "│ ",
            };
            let indent = format!("{}{bar}", next.indent);
            let last = node.children.len().saturating_sub(1);
            for (position, child) in node.children.iter().enumerate().rev() {
                let mut below = path.path.clone();
                below.push(position as u32);
                waiting.push(Waiting {
                    number: *child,
                    parent: next.number,
                    path: below,
                    indent: indent.clone(),
                    is_last: position == last,
                });
            }
        }
        let tone = if is_here { Tone::Plain } else { Tone::Faint };
        rows.push(Row {
            id: RowId::Node(path),
            cells: vec![Cell::text(text)],
            tone,
            measure: None,
        });
    }
}

/// Whether any node's label satisfies the condition.
pub fn mentions(series: &Series, at: u64, is_wanted: impl Fn(&str) -> bool) -> bool {
    match series.at(at) {
        Some((_, Value::Tree(tree))) => tree.nodes.iter().any(|node| is_wanted(&node.label)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_live::{
        Database, Declaration, Event, Limits, ObserverId, ObserverKind, Stamp, Unit,
    };

    fn database(nodes: &[(&str, &[u32])]) -> Database {
        let mut database = Database::new(Limits::default());
        database.add(Event::Declare(Declaration {
            id: ObserverId(1),
            kind: ObserverKind::Tree,
            name: "t".into(),
            labels: Vec::new(),
            unit: Unit::None,
            period_ms: 100,
        }));
        database.add(Event::Tick(Stamp { at: 1, cpu: 0 }));
        let node = |(label, children): &(&str, &[u32])| Node {
            label: (*label).into(),
            children: children.to_vec(),
        };
        let tree = Tree { nodes: nodes.iter().map(node).collect() };
        database.add(Event::Update(ObserverId(1), Value::Tree(tree)));
        database
    }

    fn shown(database: &Database, folds: &Folds) -> Vec<String> {
        let series = database.named("t").expect("declared");
        let rows = rows(ObserverIndex(0), series, 1, folds);
        rows.into_iter().map(|row| row.cells[0].text.clone()).collect()
    }

    #[test]
    fn shared_nodes_are_shown_once_and_cycles_end() {
        let database =
            database(&[("root", &[1, 2, 9]), ("left", &[3]), ("right", &[3, 0]), ("shared", &[])]);
        let folds = Folds { depth: 9, ..Folds::default() };
        let expected = [
            "▾ t",
            "  ▾ root  #1",
            "  ├─▾ left",
            "  │ └── shared  #2",
            "  ├─▾ right",
            "    ├─→ #2 shared",
            "    └─↑ #1 root",
        ];
        // The third child does not exist, so the last row drawn is not marked as the last child.
        let mut shown = shown(&database, &folds);
        shown.iter_mut().skip(5).for_each(|row| *row = row.replace("│ ", "  "));
        assert_eq!(shown, expected.map(String::from));
        let series = database.named("t").expect("declared");
        let Some((_, Value::Tree(tree))) = series.at(1) else { panic!("a tree") };
        let path = |path: &[u32]| NodePath { place: ObserverIndex(0), path: path.to_vec() };
        assert_eq!(definition(tree, &path(&[0, 1, 0])), Some(path(&[0, 0, 0])));
        assert_eq!(definition(tree, &path(&[0, 1, 1])), Some(path(&[0])));
        assert_eq!(definition(tree, &path(&[0, 0, 0])), None);
    }

    #[test]
    fn folds_open_one_by_one_and_all_together() {
        let database = database(&[("root", &[1]), ("child", &[2]), ("leaf", &[])]);
        let mut folds = Folds::default();
        assert_eq!(shown(&database, &folds), ["▾ t", "  ▾ root", "  └─▸ child"]);
        folds.toggle(NodePath { place: ObserverIndex(0), path: vec![0, 0] });
        assert_eq!(shown(&database, &folds).len(), 4);
        folds.change_depth(false);
        assert_eq!(shown(&database, &folds), ["▾ t", "  ▸ root"]);
        folds.reveal(&NodePath { place: ObserverIndex(0), path: vec![0, 0, 0] });
        assert_eq!(shown(&database, &folds).len(), 4);
    }

    #[test]
    fn self_reference_and_long_chain_are_handled() {
        let own = database(&[("me", &[0, 0])]);
        let folds = Folds { depth: 9, ..Folds::default() };
        assert_eq!(shown(&own, &folds), ["▾ t", "  ▾ me  #1", "  ├─↑ #1 me", "  └─↑ #1 me"]);
        let long: Vec<Vec<u32>> = (1..=100_000).map(|next| vec![next]).collect();
        let long: Vec<(&str, &[u32])> = long.iter().map(|next| ("n", next.as_slice())).collect();
        let folds = Folds { depth: DEEPEST, ..Folds::default() };
        assert_eq!(shown(&database(&long), &folds).len(), DEEPEST + 1);
    }
}
