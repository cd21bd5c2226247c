//! A snapshot as a graph, the basis of all questions about who holds what.
//!
//! Nodes 0 to n-1 are the blocks of the snapshot, by number. After them come the *holders* ([`Holders`]), a
//! tree of everything that holds blocks from outside the heap; the last node is the root of all. So every
//! algorithm treats roots like blocks: what a module alone retains is what its holder dominates.
//!
//! Edges lead from each block to the targets of its fields, in field order, one edge for each field. A
//! suspended continuation also has edges to what its stack holds. Ephemeron keys have no edges; ephemeron
//! data have one from the ephemeron, which keeps them alive while the keys are alive. A finaliser holds its
//! function. It holds its value only if it is about to be called or if nothing else holds the value: then the
//! collector keeps it for the finaliser.
//!
//! The weight of a block is its size in words with the header. For a suspended continuation it includes the
//! stacks of its fibers, which nothing else holds. Weights saturate at 2^32 - 1.
//!
//! Dominators, components etc. are computed on first use and saved in an index file ([`Heap::keep`],
//! [`IndexStore`]) if there is a store. Later they are mapped from there.

mod build;
mod classes;
mod details;
mod find;
mod holders;
mod index;
mod kept;
mod numbers;
mod store;
mod types;

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use bactrian_graph::{Column, Components, Dominators, Graph, Node, Tree};
use bactrian_snapshot::{Losses, Snapshot};
use bactrian_trace::Input;

use super::census::Census;
use build::Built;
use index::{Index, Subject};
use types::{Known, Named, ShapeKey};

pub use classes::{Class, ClassKind};
pub use find::{Found, NotFound};
pub(in crate::heap) use holders::times;
pub use holders::{Holder, HolderKind, Holders};
pub use numbers::{ClassTotal, HolderSizes};
pub use store::{IndexNews, IndexStore};
pub use types::Types;

/// Why a snapshot cannot be opened as a graph.
#[derive(Debug)]
pub enum HeapError {
    /// The snapshot cannot be read.
    Snapshot(bactrian_snapshot::SnapshotError),
    /// There are more blocks or pointers than can be numbered.
    Graph(bactrian_graph::GraphError),
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeapError::Snapshot(error) => write!(f, "{error}"),
            HeapError::Graph(error) => write!(f, "its heap is too large to be analysed: {error}"),
        }
    }
}

impl std::error::Error for HeapError {}

impl From<bactrian_snapshot::SnapshotError> for HeapError {
    fn from(error: bactrian_snapshot::SnapshotError) -> HeapError {
        HeapError::Snapshot(error)
    }
}

impl From<bactrian_graph::GraphError> for HeapError {
    fn from(error: bactrian_graph::GraphError) -> HeapError {
        HeapError::Graph(error)
    }
}

/// How to open a heap.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The store of the snapshot's index; with None, nothing is saved or loaded.
    pub indexes: Option<IndexStore>,
    /// Types from the compiler.
    pub types: Option<Types>,
}

/// The class of nodes that do not exist.
const NOTHING: &Class = &Class {
    kind: ClassKind::Unread,
    name: String::new(),
    place: None,
    tag: None,
    type_name: None,
};

/// Where results are saved.
struct Kept {
    store: IndexStore,
    subject: Subject,
    /// The existing index.
    index: Option<Index>,
}

/// A snapshot as a graph.
pub struct Heap {
    snapshot: Snapshot,
    losses: Losses,
    graph: Graph,
    weights: Column<u32>,
    class_of: Column<u32>,
    classes: Vec<Class>,
    /// None if shapes and classes are the same, which is the case without types.
    shape_of: Option<Column<u32>>,
    shapes: Vec<Class>,
    shape_keys: Vec<ShapeKey>,
    known: Option<Known>,
    holders: Holders,
    census: Census,
    /// Where results are saved; None if they are not.
    kept: Option<Kept>,
    /// Whether anything was computed that is not saved yet.
    is_new: AtomicBool,
    cache: details::Cache,
    numbers: numbers::Numbers,
    dominators: OnceLock<Dominators>,
    dominator_tree: OnceLock<Tree>,
    components: OnceLock<Components>,
    shares: OnceLock<Column<f64>>,
    shortest: OnceLock<Column<Node>>,
    reversed: OnceLock<Graph>,
}

impl Heap {
    /// Opens the snapshot at `path`; `-` is standard input. `progress` is called with the fraction done.
    ///
    /// # Errors
    /// If the file does not exist or is not a snapshot, or if its heap is too large. Losses of a damaged file
    /// are not errors: see [`Heap::losses`].
    pub fn open(
        path: &Path,
        options: &OpenOptions,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Heap, HeapError> {
        let input = Input::open(path).map_err(bactrian_snapshot::SnapshotError::from)?;
        let snapshot = Snapshot::from_bytes(input)?;
        let types = options.types.as_ref();
        // Data from a pipe is unlikely to be opened again, so it gets no index.
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        let store = options.indexes.as_ref().filter(|_| is_file);
        let subject = store.and_then(|store| {
            Some((store, Subject::of(&snapshot, types.map_or(0, Types::digest))?))
        });
        let Some((store, subject)) = subject else {
            return Heap::with_types(snapshot, types, progress);
        };
        let mut kept = Kept { store: store.clone(), subject, index: None };
        if let Some(index) = Index::open(store, &subject)
            && let Some((built, overview)) = kept::load(&index, &snapshot, types.is_some())
        {
            kept.index = Some(index);
            let known = Known::kept(types, overview);
            return Ok(Heap::of(snapshot, built, known, Some(kept)));
        }
        let (built, typing) = build::build(&snapshot, types, progress)?;
        Ok(Heap::of(snapshot, built, Known::found(types, typing), Some(kept)))
    }

    /// The heap of an open snapshot, without an index.
    ///
    /// # Errors
    /// If it is too large.
    pub fn new(snapshot: Snapshot, progress: &mut dyn FnMut(f64)) -> Result<Heap, HeapError> {
        Heap::with_types(snapshot, None, progress)
    }

    /// Likewise, with types.
    ///
    /// # Errors
    /// If it is too large.
    pub fn with_types(
        snapshot: Snapshot,
        types: Option<&Types>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Heap, HeapError> {
        let (built, typing) = build::build(&snapshot, types, progress)?;
        Ok(Heap::of(snapshot, built, Known::found(types, typing), None))
    }

    fn of(snapshot: Snapshot, built: Built, known: Option<Known>, kept: Option<Kept>) -> Heap {
        let Built { graph, weights, class_of, shape_of, shape_keys, holders, census, losses } =
            built;
        let overview = known.as_ref().map(|known| &known.overview);
        let Named { classes, shapes, .. } = Named::of_snapshot(&snapshot, &shape_keys, overview);
        let is_new = kept.as_ref().is_some_and(|kept| kept.index.is_none());
        Heap {
            snapshot,
            losses,
            graph,
            weights,
            class_of,
            classes,
            shape_of,
            shapes,
            shape_keys,
            known,
            holders,
            census,
            kept,
            is_new: AtomicBool::new(is_new),
            cache: details::Cache::default(),
            numbers: numbers::Numbers::default(),
            dominators: OnceLock::new(),
            dominator_tree: OnceLock::new(),
            components: OnceLock::new(),
            shares: OnceLock::new(),
            shortest: OnceLock::new(),
            reversed: OnceLock::new(),
        }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The approximate memory needed, in bytes, including everything that questions compute.
    pub fn memory_bytes(&self) -> u64 {
        const OF_NODE: u64 = 64;
        const OF_EDGE: u64 = 8;
        let (nodes, edges) = (self.graph.nodes() as u64, self.graph.edges() as u64);
        nodes.saturating_mul(OF_NODE).saturating_add(edges.saturating_mul(OF_EDGE))
    }

    /// What is missing or damaged in the file.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The number of blocks: nodes below it are blocks, the others holders.
    pub fn blocks(&self) -> usize {
        self.graph.nodes() - self.holders.len()
    }

    /// The graph of blocks and holders.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The weight of each node: its words with the header, plus the stacks of a continuation.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The root of all, which is the last node.
    pub fn root(&self) -> Node {
        self.holders.root()
    }

    /// What holds blocks from outside the heap.
    pub fn holders(&self) -> &Holders {
        &self.holders
    }

    /// All classes.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The class of each node, as an index into [`Heap::classes`].
    pub fn class_of(&self) -> &[u32] {
        &self.class_of
    }

    /// The class of a node.
    pub fn class(&self, node: Node) -> &Class {
        let class = self.class_of.get(node as usize);
        class.and_then(|class| self.classes.get(*class as usize)).unwrap_or(NOTHING)
    }

    /// All shapes. Shapes refine classes, so that all blocks of a shape are of one kind; without types they
    /// are the classes.
    pub fn shapes(&self) -> &[Class] {
        &self.shapes
    }

    /// The shape of each node, as an index into [`Heap::shapes`].
    pub fn shape_of(&self) -> &[u32] {
        self.shape_of.as_deref().unwrap_or(&self.class_of)
    }

    /// The kind of a node's block, whatever its type.
    pub fn kind(&self, node: Node) -> ClassKind {
        let shape = self.shape_of().get(node as usize);
        shape.and_then(|shape| self.shapes.get(*shape as usize)).unwrap_or(NOTHING).kind
    }

    /// The dominator tree from the root of all, and each node's retained size in words.
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| {
            let compute = || bactrian_graph::dominators(&self.graph, self.root(), &self.weights);
            self.kept_or(|index| self.load_dominators(index), compute)
        })
    }

    /// The children of each node in the dominator tree.
    pub fn dominator_tree(&self) -> &Tree {
        self.dominator_tree.get_or_init(|| Tree::of(&self.dominators().parent))
    }

    /// The strongly connected components.
    pub fn components(&self) -> &Components {
        self.components.get_or_init(|| {
            let compute = || bactrian_graph::components(&self.graph, self.root());
            self.kept_or(|index| self.load_components(index), compute)
        })
    }

    /// The fair share of each node in words: its own words, plus a part of each target's share for each edge
    /// to it.
    pub fn shares(&self) -> &[f64] {
        self.shares.get_or_init(|| {
            let compute = || {
                let (graph, components) = (&self.graph, self.components());
                bactrian_graph::fair_shares(graph, components, self.root(), &self.weights).into()
            };
            self.kept_or(|index| self.load_shares(index), compute)
        })
    }

    /// For each node its predecessor on a shortest path from the root of all.
    pub fn shortest(&self) -> &[Node] {
        self.shortest.get_or_init(|| {
            let compute = || bactrian_graph::shortest(&self.graph, self.root()).into();
            self.kept_or(|index| self.load_shortest(index), compute)
        })
    }

    /// The graph with all edges reversed.
    pub fn reversed(&self) -> &Graph {
        self.reversed.get_or_init(|| {
            self.kept_or(|index| self.load_reversed(index), || self.graph.reversed())
        })
    }

    /// The words of all reachable blocks.
    pub fn reached_words(&self) -> u64 {
        self.dominators().retained.last().copied().unwrap_or(0)
    }

    /// The number of unreachable blocks, if something that determines it was computed already.
    pub fn unreached_if_known(&self) -> Option<u64> {
        let count = || self.dominators.get().map(|dominators| self.count_unreached(dominators));
        self.numbers.unreached().or_else(count)
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap")
            .field("snapshot", &self.snapshot)
            .field("nodes", &self.graph.nodes())
            .field("edges", &self.graph.edges())
            .finish_non_exhaustive()
    }
}
