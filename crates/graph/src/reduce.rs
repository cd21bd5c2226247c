//! A graph reduced until it can be drawn. Strongly connected components are merged, nodes with a single parent
//! join it, and similar sets become one. Of these sets the largest are kept, with paths from the root to them.

use std::collections::HashMap;

use crate::components::Members;
use crate::graph::View;
use crate::{Components, Graph, NONE, Node};

/// Limits of the reduced graph.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of large sets, the largest by weight.
    pub largest: usize,
    /// The minimum weight of a large set.
    pub least: u64,
    /// The maximum number of sets in all, sets on paths included. One large set with its path is shown in any
    /// case.
    pub shown: usize,
    /// The maximum number of sets shown on the path to each large set from the nearest set above it that is
    /// shown anyway (the root's or another large one). The middle of a longer path is left out.
    pub way: usize,
}

/// How a node is grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It begins a set of its own.
    Alone,
    /// A node with a single parent joins its parent's set. One with several parents begins a set, which is
    /// merged with sibling sets that begin with a node of the same family.
    InFamily(u32),
}

/// A reduced graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduced {
    /// The root's set comes first; the others are in order of weight. [`SetKind::Rest`], if present, is the
    /// last.
    pub sets: Vec<Set>,
    /// Edges between sets, at most one for each pair. None begins at the rest.
    pub edges: Vec<SetEdge>,
    /// How many sets there were before the largest were chosen.
    pub all: usize,
    /// For each node the index of its set in `sets`; [`NONE`] if the node is unreachable.
    pub of: Vec<u32>,
}

/// A set of nodes that are all reached through its entry, or several similar sets of this kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Why the set is shown.
    pub kind: SetKind,
    /// The lowest-numbered node of the component through which the whole set is reached. [`NONE`] for the rest.
    pub entry: Node,
    /// The number of nodes in the set.
    pub nodes: u64,
    /// The sum of their weights.
    pub weight: u64,
    /// The number of nodes in the entry's component: 1, or more if they reach each other.
    pub entry_nodes: u64,
    /// How many similar sets were merged into this one. The entry is that of one of them.
    pub alike: u64,
}

/// Why a set is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// It contains the root.
    Root,
    /// It is one of the largest.
    Large,
    /// It is on the path to a large one.
    Way,
    /// Everything else.
    Rest,
}

/// Edges from one set to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetEdge {
    /// The index in [`Reduced::sets`] of the set where the edges begin.
    pub from: usize,
    /// The index of the set where they end.
    pub to: usize,
    /// How many edges of the graph this stands for; 0 if it stands for a path whose middle is left out.
    pub edges: u64,
    /// How many sets of that path are left out.
    pub left_out: u64,
}

/// Reduces the graph to its largest sets.
///
/// A component whose edges all come from one other component belongs to that component's set, unless one of its
/// nodes stands alone. So a set is a tree of components in which only the entry is shared. Sets of one family
/// that are reached from the same set, none of which reaches another, are merged. If the components do not fit
/// the graph or do not contain the root, the result is empty.
pub fn reduce(
    graph: &Graph,
    components: &Components,
    root: Node,
    weights: &[u32],
    standing: impl Fn(Node) -> Standing,
    limits: Limits,
) -> Reduced {
    let reached = components.of.get(root as usize).is_some_and(|&of| of != NONE);
    if !reached || !components.fit(graph) {
        return Reduced::default();
    }
    let view = graph.view();
    let members = components.members();
    let sets = Sets::of(view, components, &members, weights, standing);
    let shown = sets.choose(limits);
    let edges = sets.edges(view, components, &members, &shown);
    sets.reduced(components, &members, shown, edges)
}

/// Several components have edges to this one.
const SEVERAL: u32 = NONE - 1;

/// All sets; the first is the root's.
struct Sets {
    /// The set of each component.
    of: Vec<u32>,
    all: Vec<Gathered>,
}

struct Gathered {
    entry: u32,
    nodes: u64,
    weight: u64,
    alike: u64,
    /// Its distance from the root in edges of the reduced graph, and the set before it on that path.
    distance: u32,
    before: u32,
    /// The length of the longest path from the root. Edges lead only to deeper sets, even after sets of equal
    /// depth are merged, so there are no cycles.
    depth: u32,
}

/// The sets chosen to be shown.
struct Shown {
    /// For each shown set its index among the shown ones.
    places: HashMap<u32, usize>,
    sets: Vec<(u32, SetKind)>,
    /// Paths whose middle is left out.
    gaps: Vec<Gap>,
}

/// A path whose middle is left out: the set above the gap, the set below it, and how many sets are in the gap.
type Gap = (u32, u32, u64);

impl Sets {
    /// Processes components from the root's, which has the highest number, to the lowest. When a component's
    /// turn comes, all edges to it have been seen.
    fn of(
        view: View<'_>,
        components: &Components,
        members: &Members,
        weights: &[u32],
        standing: impl Fn(Node) -> Standing,
    ) -> Sets {
        let count = components.count as usize;
        let mut parent = vec![NONE; count];
        // The nearest set with an edge to the component, used if the component begins a set.
        let mut nearest = vec![NONE; count];
        let mut depths = vec![0; count];
        let mut of = vec![NONE; count];
        let mut all: Vec<Gathered> = Vec::new();
        // Keyed by the set before them, depth and family.
        let mut families: HashMap<(u32, u32, u32), u32> = HashMap::new();
        for component in (0..components.count).rev() {
            let index = component as usize;
            let nodes = members.of(component);
            // Components of a damaged index may be out of order, so the parent's set may not be known yet.
            let above = of.get(parent[index] as usize).copied().unwrap_or(NONE);
            let stands = |&node: &Node| standing(node);
            let is_alone = nodes.iter().map(stands).any(|stands| stands == Standing::Alone);
            let (before, depth, next) = (nearest[index], depths[index], all.len() as u32);
            let set = match nodes.first().map(stands) {
                _ if is_alone => next,
                _ if above != NONE => above,
                Some(Standing::InFamily(family)) => {
                    *families.entry((before, depth, family)).or_insert(next)
                }
                _ => next,
            };
            if set == next {
                let distance = all.get(before as usize).map_or(0, |set| set.distance + 1);
                let (nodes, weight, alike) = (0, 0, 0);
                all.push(Gathered {
                    entry: component,
                    nodes,
                    weight,
                    alike,
                    distance,
                    before,
                    depth,
                });
            }
            of[index] = set;
            let gathered = &mut all[set as usize];
            gathered.alike += u64::from(is_alone || above == NONE);
            gathered.nodes += nodes.len() as u64;
            let weight = |&node: &Node| u64::from(weights.get(node as usize).copied().unwrap_or(0));
            gathered.weight += nodes.iter().map(weight).sum::<u64>();
            let Gathered { distance, depth, .. } = *gathered;
            for &target in nodes.iter().flat_map(|&node| view.successors(node)) {
                let to = components.of[target as usize] as usize;
                if to == index || to >= count {
                    continue;
                }
                parent[to] = match parent[to] {
                    NONE => component,
                    same if same == component => same,
                    _ => SEVERAL,
                };
                depths[to] = depths[to].max(depth + 1);
                let known = all.get(nearest[to] as usize).map(|set| set.distance);
                if known.is_none_or(|known| distance < known) {
                    nearest[to] = set;
                }
            }
        }
        Sets { of, all }
    }

    fn choose(&self, limits: Limits) -> Shown {
        let mut by_weight: Vec<u32> = (1..self.all.len() as u32).collect();
        by_weight.retain(|&set| self.all[set as usize].weight >= limits.least);
        let largest = limits.largest.min(by_weight.len());
        let key = |&set: &u32| (u64::MAX - self.all[set as usize].weight, set);
        if largest < by_weight.len() {
            by_weight.select_nth_unstable_by_key(largest, key);
            by_weight.truncate(largest);
        }
        by_weight.sort_unstable_by_key(key);
        let (mut kinds, mut gaps) = self.with_ways(&by_weight, limits.way);
        // Drops large sets until there is room for the paths to the others.
        while kinds.len() > limits.shown && by_weight.len() > 1 {
            by_weight.truncate(by_weight.len() - by_weight.len().div_ceil(8));
            (kinds, gaps) = self.with_ways(&by_weight, limits.way);
        }
        let mut sets: Vec<_> = kinds.into_iter().collect();
        sets.sort_unstable_by_key(|(set, _)| if *set == 0 { (0, 0) } else { key(set) });
        let places = sets.iter().enumerate().map(|(place, &(set, _))| (set, place)).collect();
        gaps.sort_unstable();
        gaps.dedup();
        Shown { places, sets, gaps }
    }

    /// The largest sets and the paths to them, and the paths whose middle is left out.
    fn with_ways(&self, largest: &[u32], way: usize) -> (HashMap<u32, SetKind>, Vec<Gap>) {
        let mut kinds: HashMap<u32, SetKind> =
            largest.iter().map(|&set| (set, SetKind::Large)).collect();
        kinds.insert(0, SetKind::Root);
        let mut gaps = Vec::new();
        for &large in largest {
            self.show_way(large, way, &mut kinds, &mut gaps);
        }
        (kinds, gaps)
    }

    /// Shows the sets between a large set and the nearest set above it that is shown anyway, without the middle
    /// if there are too many.
    fn show_way(
        &self,
        large: u32,
        most: usize,
        kinds: &mut HashMap<u32, SetKind>,
        gaps: &mut Vec<Gap>,
    ) {
        let before = |set: u32| self.all[set as usize].before;
        let is_anchor = |set: u32| matches!(kinds.get(&set), Some(SetKind::Root | SetKind::Large));
        // From the large set upwards.
        let mut between = Vec::new();
        let mut anchor = before(large);
        while !is_anchor(anchor) && (anchor as usize) < self.all.len() {
            between.push(anchor);
            anchor = before(anchor);
        }
        let gap = match between.len() > most {
            true => most / 2..between.len() - most.div_ceil(2),
            false => 0..0,
        };
        if !gap.is_empty() {
            let below = if gap.start == 0 { large } else { between[gap.start - 1] };
            let above = between.get(gap.end).copied().unwrap_or(anchor);
            gaps.push((above, below, gap.len() as u64));
        }
        for (index, &set) in between.iter().enumerate() {
            if !gap.contains(&index) {
                kinds.entry(set).or_insert(SetKind::Way);
            }
        }
    }

    /// Edges from shown sets to other shown sets and to the rest.
    fn edges(
        &self,
        view: View<'_>,
        components: &Components,
        members: &Members,
        shown: &Shown,
    ) -> Vec<SetEdge> {
        let rest = shown.sets.len();
        let mut places = vec![rest; self.all.len()];
        for (&set, &place) in &shown.places {
            places[set as usize] = place;
        }
        let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
        for component in 0..components.count {
            let from = self.of[component as usize];
            if places[from as usize] == rest {
                continue;
            }
            for &target in members.of(component).iter().flat_map(|&node| view.successors(node)) {
                let to = self.of.get(components.of[target as usize] as usize);
                if let Some(&to) = to.filter(|&&to| to != from) {
                    *counts.entry((places[from as usize], places[to as usize])).or_default() += 1;
                }
            }
        }
        let edges = counts.into_iter();
        let mut edges: Vec<_> =
            edges.map(|((from, to), edges)| SetEdge { from, to, edges, left_out: 0 }).collect();
        for &(from, to, left_out) in &shown.gaps {
            let (from, to) = (places[from as usize], places[to as usize]);
            edges.push(SetEdge { from, to, edges: 0, left_out });
        }
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to, edge.left_out));
        edges
    }

    fn reduced(
        &self,
        components: &Components,
        members: &Members,
        shown: Shown,
        edges: Vec<SetEdge>,
    ) -> Reduced {
        let mut rest = Set {
            kind: SetKind::Rest,
            entry: NONE,
            nodes: self.all.iter().map(|set| set.nodes).sum(),
            weight: self.all.iter().map(|set| set.weight).sum(),
            entry_nodes: 0,
            alike: self.all.iter().map(|set| set.alike).sum(),
        };
        let describe = |&(set, kind): &(u32, SetKind)| {
            let Gathered { entry, nodes, weight, alike, .. } = self.all[set as usize];
            let entry = members.of(entry);
            rest.nodes -= nodes;
            rest.weight -= weight;
            rest.alike -= alike;
            let first = entry.first().copied().unwrap_or(NONE);
            Set { kind, entry: first, nodes, weight, entry_nodes: entry.len() as u64, alike }
        };
        let mut sets: Vec<_> = shown.sets.iter().map(describe).collect();
        if rest.nodes > 0 {
            sets.push(rest);
        }
        let mut places = vec![shown.sets.len() as u32; self.all.len()];
        for (&set, &place) in &shown.places {
            places[set as usize] = place as u32;
        }
        let place = |&component: &u32| match self.of.get(component as usize) {
            Some(&set) => places[set as usize],
            None => NONE,
        };
        let of = components.of.iter().map(place).collect();
        Reduced { sets, edges, all: self.all.len(), of }
    }
}
