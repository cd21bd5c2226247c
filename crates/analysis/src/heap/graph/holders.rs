//! Holders: everything that holds blocks from outside the heap, as nodes of the graph. They form a tree: at
//! the top the root of all; below it a holder for each kind of root; below that one for each module, thread
//! or finaliser function; and below that one for each module field and each line on a stack. The lowest
//! holders point to the blocks. Holders have weight 0.
//!
//! A function that recurses a thousand times has one holder for each of its lines: a single frame would not
//! dominate what the frames hold together.

use std::collections::{BTreeMap, HashMap, HashSet};

use bactrian_graph::{NONE, Node};
use bactrian_snapshot::{
    FinaliserKind, FrameId, ModuleId, NameId, RootKind, SnapshotLocation, Tables, ThreadId,
};
use bactrian_types::written;
use schemars::JsonSchema;
use serde::Serialize;

use super::classes::{Class, place};

/// A holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its node.
    pub node: Node,
    /// The holder above it; [`NONE`] for the root of all.
    pub parent: Node,
    /// 0 for the root of all, 1 for a kind of root, 2 for a module or thread, 3 for a field or frame.
    pub level: u8,
    /// The kind of root that it is or belongs to.
    pub kind: HolderKind,
    /// How many similar roots it stands for: frames at one line of a stack, finalisers with one function;
    /// otherwise 1.
    pub alike: u64,
    /// Which holder of its kind it is.
    pub(super) what: What,
}

/// Kinds of roots, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HolderKind {
    /// Fields of modules that are linked into the program.
    Global,
    /// Fields of modules that Dynlink or a toplevel loaded.
    DynamicGlobal,
    /// Stack frames of threads.
    Stack,
    /// Local roots of C code.
    Local,
    /// Variables that C code registered.
    CGlobal,
    /// Finalisers: their functions, and values that only they hold.
    Finaliser,
    /// What the runtime keeps for threads besides their stacks.
    ThreadField,
    /// Roots known only to a scanning hook.
    Hook,
    /// What the runtime's sampler keeps.
    Sampler,
    /// Roots of unknown purpose.
    Unknown,
    /// All roots together.
    All,
}

impl HolderKind {
    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            HolderKind::Global => "globals",
            HolderKind::DynamicGlobal => "globals of loaded modules",
            HolderKind::Stack => "stacks",
            HolderKind::Local => "local roots of C code",
            HolderKind::CGlobal => "global roots of C code",
            HolderKind::Finaliser => "finalisers",
            HolderKind::ThreadField => "fields of threads",
            HolderKind::Hook => "hooks",
            HolderKind::Sampler => "sampler",
            HolderKind::Unknown => "unknown roots",
            HolderKind::All => "all roots",
        }
    }

    fn of(kind: &RootKind) -> HolderKind {
        match kind {
            RootKind::Global { .. } => HolderKind::Global,
            RootKind::DynamicGlobal { .. } => HolderKind::DynamicGlobal,
            RootKind::Stack { .. } => HolderKind::Stack,
            RootKind::Local { .. } => HolderKind::Local,
            RootKind::CGlobal { .. } => HolderKind::CGlobal,
            RootKind::Finaliser { .. } => HolderKind::Finaliser,
            RootKind::ThreadField { .. } => HolderKind::ThreadField,
            RootKind::Hook { .. } => HolderKind::Hook,
            RootKind::Sampler { .. } => HolderKind::Sampler,
            RootKind::Unknown { .. } => HolderKind::Unknown,
        }
    }
}

/// When a finaliser runs; a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum When {
    First,
    Last,
    Pending,
}

impl When {
    fn of(kind: FinaliserKind) -> When {
        match kind {
            FinaliserKind::First => When::First,
            FinaliserKind::Last => When::Last,
            FinaliserKind::Pending => When::Pending,
        }
    }

    fn title(self) -> &'static str {
        match self {
            When::First => "Gc.finalise",
            When::Last => "Gc.finalise_last",
            When::Pending => "about to be called",
        }
    }
}

/// Identifies a holder among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    All,
    Kind,
    Module(NameId),
    UnnamedModule(ModuleId),
    Field(ModuleId, u32),
    Thread(ThreadId),
    /// A line on a stack, represented by the first frame found there.
    Frame(FrameId),
    NoFrame,
    Symbol(NameId, u64),
    Text(NameId),
    Address(u64),
    /// Finalisers with functions of one class.
    Finalisers(When, u32),
    /// An entry of the table of finalisers.
    Finaliser(u32),
    /// A finaliser root without an entry in the table of finalisers.
    LooseFinaliser(When),
}

/// The tree of holders.
#[derive(Clone, Debug)]
pub struct Holders {
    first: Node,
    all: Vec<Holder>,
}

/// The tree, and what each holder points to.
pub(super) struct Planted {
    pub holders: Holders,
    /// The targets of each holder, in node order.
    pub targets: Vec<Vec<Node>>,
    /// Holders of finalisers with their values, which they hold only if nothing else does.
    pub values: Vec<(Node, Node)>,
}

impl Holders {
    /// Builds the holders of a snapshot. Their nodes start at `first`; `class_of` returns the class of a
    /// block.
    pub(super) fn plant(tables: &Tables, first: Node, class_of: impl Fn(Node) -> u32) -> Planted {
        let mut slots: BTreeMap<(HolderKind, What, Option<What>), Vec<Node>> = BTreeMap::new();
        let mut known = HashSet::new();
        for (index, finaliser) in (0..).zip(&tables.finalisers) {
            let [value, function] =
                [finaliser.value, finaliser.function].map(|p| p.map(|pointer| pointer.block.0));
            known.extend([value, function].into_iter().flatten());
            let class = function.map_or(u32::MAX, &class_of);
            let group = What::Finalisers(When::of(finaliser.kind), class);
            let key = (HolderKind::Finaliser, group, Some(What::Finaliser(index)));
            let held = match finaliser.kind {
                FinaliserKind::First | FinaliserKind::Last => None,
                FinaliserKind::Pending => value,
            };
            slots.insert(key, held.into_iter().chain(function).collect());
        }
        let mut places = Places::default();
        for root in &tables.roots {
            let target = root.target.block.0;
            let is_known =
                matches!(root.kind, RootKind::Finaliser { .. }) && known.contains(&target);
            if !is_known {
                let (group, slot) = whose(tables, &root.kind, &mut places);
                slots.entry((HolderKind::of(&root.kind), group, slot)).or_default().push(target);
            }
        }
        Planted::of(tables, first, slots, &places)
    }

    /// The number of holders; at least 1, the root of all.
    #[expect(clippy::len_without_is_empty, reason = "there is always the root of all")]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// All holders in node order: fields and frames, modules and threads, kinds, the root of all.
    pub fn iter(&self) -> std::slice::Iter<'_, Holder> {
        self.all.iter()
    }

    /// All holders' nodes and kinds of root.
    pub fn kinds(&self) -> impl Iterator<Item = (Node, HolderKind)> {
        (self.first..).zip(self.all.iter().map(|holder| holder.kind))
    }

    /// The holder of a node; None if the node is a block.
    pub fn get(&self, node: Node) -> Option<&Holder> {
        self.all.get(node.checked_sub(self.first)? as usize)
    }

    /// The root of all.
    pub fn root(&self) -> Node {
        self.first + (self.all.len() as Node).saturating_sub(1)
    }
}

impl Planted {
    fn of(
        tables: &Tables,
        first: Node,
        slots: BTreeMap<(HolderKind, What, Option<What>), Vec<Node>>,
        places: &Places,
    ) -> Planted {
        // The lowest level comes first, so that the nodes of each level are consecutive; parents are filled
        // in afterwards.
        let mut lowest = Vec::new();
        let mut groups: Vec<(HolderKind, What, Vec<Node>)> = Vec::new();
        let mut kinds: Vec<(HolderKind, Vec<usize>)> = Vec::new();
        for ((kind, group, slot), targets) in slots {
            if groups.last().is_none_or(|last| (last.0, last.1) != (kind, group)) {
                if kinds.last().is_none_or(|last| last.0 != kind) {
                    kinds.push((kind, Vec::new()));
                }
                if let Some((_, of_kind)) = kinds.last_mut() {
                    of_kind.push(groups.len());
                }
                groups.push((kind, group, Vec::new()));
            }
            let at = groups.len() - 1;
            match slot {
                Some(what) => {
                    groups[at].2.push(first + lowest.len() as Node);
                    lowest.push((kind, what, at, targets));
                }
                None => groups[at].2.extend(targets),
            }
        }
        let (first_group, first_kind) =
            (first as usize + lowest.len(), first as usize + lowest.len() + groups.len());
        let root = (first_kind + kinds.len()) as Node;
        let mut planted = Planted {
            holders: Holders { first, all: Vec::with_capacity(kinds.len() + 1) },
            targets: Vec::new(),
            values: Vec::new(),
        };
        for (kind, what, group, targets) in lowest {
            let node = planted.add((first_group + group) as Node, 3, (kind, what), targets);
            if let (What::Frame(frame), Some(holder)) = (what, planted.holders.all.last_mut()) {
                holder.alike = places.frames.get(&frame).map_or(1, |all| all.len() as u64);
            }
            if let What::Finaliser(index) = what
                && let Some(finaliser) = tables.finalisers.get(index as usize)
                && finaliser.kind == FinaliserKind::First
            {
                planted.values.extend(finaliser.value.map(|value| (node, value.block.0)));
            }
        }
        let mut kind_of = vec![0; groups.len()];
        for (at, (_, of_kind)) in kinds.iter().enumerate() {
            of_kind.iter().for_each(|&group| kind_of[group] = at);
        }
        for ((kind, what, targets), of_kind) in groups.into_iter().zip(kind_of) {
            let finalisers = targets.len() as u64;
            planted.add((first_kind + of_kind) as Node, 2, (kind, what), targets);
            if let (What::Finalisers(..), Some(holder)) = (what, planted.holders.all.last_mut()) {
                holder.alike = finalisers;
            }
        }
        let count = kinds.len();
        for (kind, of_kind) in kinds {
            let targets = of_kind.iter().map(|group| (first_group + group) as Node).collect();
            planted.add(root, 1, (kind, What::Kind), targets);
        }
        let targets = (first_kind..first_kind + count).map(|node| node as Node).collect();
        planted.add(NONE, 0, (HolderKind::All, What::All), targets);
        planted
    }

    fn add(
        &mut self,
        parent: Node,
        level: u8,
        (kind, what): (HolderKind, What),
        targets: Vec<Node>,
    ) -> Node {
        let node = self.holders.first + self.holders.all.len() as Node;
        self.holders.all.push(Holder { node, parent, level, kind, alike: 1, what });
        self.targets.push(targets);
        node
    }
}

/// Locations of frames. Frames of a thread at the same line of a function share a location.
#[derive(Default)]
struct Places {
    /// The first frame found at each location, by thread, function, file and line; by address if these are
    /// not known.
    first: HashMap<(ThreadId, SnapshotLocation, u64), FrameId>,
    /// All frames with roots, by the first frame at their location.
    frames: HashMap<FrameId, HashSet<FrameId>>,
}

impl Places {
    fn of(&mut self, tables: &Tables, thread: ThreadId, frame: FrameId) -> FrameId {
        let Some(known) = tables.frames.get(frame.index()) else { return frame };
        let SnapshotLocation { function, file, line, .. } = known.location;
        let place = SnapshotLocation { function, file, line, ..SnapshotLocation::default() };
        let address = if place == SnapshotLocation::default() { known.return_address } else { 0 };
        let first = *self.first.entry((thread, place, address)).or_insert(frame);
        self.frames.entry(first).or_default().insert(frame);
        first
    }
}

/// The module, thread etc. of a root, and the field or frame.
fn whose(tables: &Tables, kind: &RootKind, places: &mut Places) -> (What, Option<What>) {
    match *kind {
        RootKind::Global { module, field } | RootKind::DynamicGlobal { module, field } => {
            let name = tables.modules.get(module.index()).map_or(NameId(0), |module| module.name);
            // A module may have several blocks, which share its name.
            let group = match name {
                NameId(0) => What::UnnamedModule(module),
                name => What::Module(name),
            };
            (group, Some(What::Field(module, field)))
        }
        RootKind::Stack { thread, frame, .. } => {
            let place = frame.map(|frame| places.of(tables, thread, frame));
            (What::Thread(thread), Some(place.map_or(What::NoFrame, What::Frame)))
        }
        RootKind::Local { thread } => (What::Thread(thread), None),
        RootKind::CGlobal { address, name } => (What::Symbol(name, address), None),
        RootKind::Finaliser { kind, .. } => (What::LooseFinaliser(When::of(kind)), None),
        RootKind::ThreadField { thread, what } => (What::Thread(thread), Some(What::Text(what))),
        RootKind::Hook { what } | RootKind::Sampler { what } => (What::Text(what), None),
        RootKind::Unknown { address } => (What::Address(address), None),
    }
}

impl Holder {
    /// Whether it is a single finaliser; thousands of them may share a function.
    pub fn is_one_finaliser(&self) -> bool {
        matches!(self.what, What::Finaliser(_))
    }

    /// Its name below its parent: `Main`, `field 2`, `thread 0`, `Main.load (main.ml:12)`.
    pub fn name(&self, tables: &Tables, classes: &[Class]) -> String {
        match self.what {
            What::All | What::Kind => self.kind.title().to_owned(),
            What::Module(name) => written(tables.names.get(name)).into_owned(),
            What::UnnamedModule(module) => format!("module {} without a name", module.0),
            What::Field(_, field) => format!("field {field}"),
            What::Thread(thread) => thread_name(tables, thread),
            What::Frame(frame) => {
                let name = match tables.frames.get(frame.index()) {
                    Some(frame) => location(tables, &frame.location)
                        .unwrap_or_else(|| format!("frame at {:#x}", frame.return_address)),
                    None => format!("frame {}", frame.0),
                };
                times(name, self.alike)
            }
            What::NoFrame => "in no known frame".to_owned(),
            What::Symbol(name, address) => match tables.names.get(name) {
                "" => format!("{address:#x}"),
                name => name.to_owned(),
            },
            What::Text(name) => match tables.names.get(name) {
                "" => "without a name".to_owned(),
                name => name.to_owned(),
            },
            What::Address(address) => format!("{address:#x}"),
            What::Finalisers(when, class) => {
                let function = classes.get(class as usize).map(Class::title);
                let function = function.as_deref().unwrap_or("a function that is no block");
                times(format!("{}: {function}", when.title()), self.alike)
            }
            What::Finaliser(index) => format!("finaliser {index}"),
            What::LooseFinaliser(when) => when.title().to_owned(),
        }
    }
}

/// A name with a repeat count: `Main.load (main.ml:12) × 796`.
pub(crate) fn times(name: String, count: u64) -> String {
    if count == 1 { name } else { format!("{name} × {count}") }
}

fn thread_name(tables: &Tables, thread: ThreadId) -> String {
    let Some(known) = tables.threads.get(thread.index()) else {
        return format!("unknown thread {}", thread.0);
    };
    let domains = tables.threads.iter().any(|other| other.domain != known.domain);
    let domain = if domains { format!(" of domain {}", known.domain) } else { String::new() };
    match tables.names.get(known.name) {
        "" => format!("thread {}{domain}", known.number),
        name => format!("thread {}{domain}, {name}", known.number),
    }
}

/// `Main.load (main.ml:12)`; None if neither function nor file is known.
pub(crate) fn location(tables: &Tables, at: &SnapshotLocation) -> Option<String> {
    match (tables.names.get(at.function), place(tables, at)) {
        ("", place) => place,
        (function, None) => Some(written(function).into_owned()),
        (function, Some(place)) => Some(format!("{} ({place})", written(function))),
    }
}
