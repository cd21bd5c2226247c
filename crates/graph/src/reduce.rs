//! A graph small enough to be drawn: components are one, what has a single parent is part of it, sets that are alike are
//! one, and of these the largest are kept, with ways from the root to them.

use std::collections::HashMap;

use crate::components::Members;
use crate::graph::View;
use crate::{Components, Graph, NONE, Node};

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many sets, the largest by weight.
    pub largest: usize,
    /// Of these, only sets that weigh so much.
    pub least: u64,
    /// How many sets in all, those on ways included, as far as one large set with its way leaves a choice.
    pub shown: usize,
    /// How many sets are shown on the way to each of them from the nearest above it that is shown anyway: the root's
    /// or another large one. The middle of longer ways is left out.
    pub way: usize,
}

/// How a node wants to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In a set that begins with it.
    Alone,
    /// With its parent if it has only one. If it has several, it begins a set, which is one with those beside it that begin
    /// with a node of the same family.
    InFamily(u32),
}

/// A reduced graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduced {
    /// The first is that of the root; the others are in order of weight, and [`SetKind::Rest`] is the last, if
    /// there is any.
    pub sets: Vec<Set>,
    /// Edges between sets, from and to no set twice. None begins at the rest.
    pub edges: Vec<SetEdge>,
    /// How many sets there were before the largest were chosen.
    pub all: usize,
    /// For each node the place of its set in `sets`; [`NONE`] if it is not reached.
    pub of: Vec<u32>,
}

/// A set of nodes, all reached through its entry; or several such sets that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Why it is shown.
    pub kind: SetKind,
    /// A node of the component through which all of the set is reached: the one with the lowest number. [`NONE`]
    /// for the rest.
    pub entry: Node,
    /// How many nodes it has.
    pub nodes: u64,
    /// The sum of their weights.
    pub weight: u64,
    /// How many nodes are in the entry's component: 1, or several that reach each other.
    pub entry_nodes: u64,
    /// How many sets it is made of. The entry is that of one of them.
    pub alike: u64,
}

/// Why a set is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// The root is in it.
    Root,
    /// It is one of the largest.
    Large,
    /// It is on the way to one of them.
    Way,
    /// Everything else.
    Rest,
}

/// Edges from one set to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetEdge {
    /// The set, by its place in [`Reduced::sets`].
    pub from: usize,
    /// The other set.
    pub to: usize,
    /// How many edges of the graph it stands for. 0 if it stands for a way whose middle is left out.
    pub edges: u64,
    /// How many sets of that way are left out.
    pub left_out: u64,
}

/// Reduces the graph to its largest sets.
///
/// A component whose edges all come from one other component belongs to the same set as that one, unless one of its nodes
/// stands alone. So a set is a tree of components with nothing shared but its entry. Sets of one family that are reached
/// from the same set, and none of which reaches another, are one. If the components do not fit the graph or do not have
/// the root, nothing is left.
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

/// More than one component has edges to this one.
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
    /// How many edges of the reduced graph it is away from the root, and the set before it.
    distance: u32,
    before: u32,
    /// How many edges the longest way from the root has. Edges lead to deeper sets only, also when sets of one depth become
    /// one: so there are no circles.
    depth: u32,
}

/// What is chosen to be shown.
struct Shown {
    /// The place of a set among those that are shown, and why it is.
    places: HashMap<u32, usize>,
    sets: Vec<(u32, SetKind)>,
    /// Ways whose middle is left out: between which sets, and how many.
    gaps: Vec<Gap>,
}

/// A way whose middle is left out: from which set to which, and how many between.
type Gap = (u32, u32, u64);

impl Sets {
    /// Goes through the components from the root's, which has the highest number, to the lowest: when a
    /// component's turn comes, all edges to it were seen.
    fn of(
        view: View<'_>,
        components: &Components,
        members: &Members,
        weights: &[u32],
        standing: impl Fn(Node) -> Standing,
    ) -> Sets {
        let count = components.count as usize;
        let mut parent = vec![NONE; count];
        // The nearest set with an edge to the component, to be used if it begins a set itself.
        let mut nearest = vec![NONE; count];
        let mut depths = vec![0; count];
        let mut of = vec![NONE; count];
        let mut all: Vec<Gathered> = Vec::new();
        // By the set before them, depth and family.
        let mut families: HashMap<(u32, u32, u32), u32> = HashMap::new();
        for component in (0..components.count).rev() {
            let index = component as usize;
            let nodes = members.of(component);
            // If components are not in order, there may be one that was not seen yet.
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
        // Fewer large ones, until there is room for their ways.
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

    /// The largest sets and ways to them; and the ways whose middle is left out.
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

    /// Shows the sets between a large one and the one above it that is shown anyway, without the middle if they are
    /// too many.
    fn show_way(
        &self,
        large: u32,
        most: usize,
        kinds: &mut HashMap<u32, SetKind>,
        gaps: &mut Vec<Gap>,
    ) {
        let before = |set: u32| self.all[set as usize].before;
        let is_anchor = |set: u32| matches!(kinds.get(&set), Some(SetKind::Root | SetKind::Large));
        // From the large one up.
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

    /// Edges from sets that are shown, to others and to the rest.
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
