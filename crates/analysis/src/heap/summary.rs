//! A heap on one page: what its words are used for, where its blocks are, and how it explains the memory of
//! the process.

use std::collections::HashMap;

use bactrian_snapshot::{FiberOwner, Number, SizeClass, Tables};
use schemars::JsonSchema;
use serde::Serialize;

use super::census::Use;
use super::info::{MemoryUse, memory_use};
use super::{Contents, Heap, KindRow, SpaceRow, WORD, difference};

/// A heap in one page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Blocks of the snapshot, static ones too.
    pub blocks: u64,
    /// Their bytes with headers.
    pub bytes: u64,
    /// Pointers from block to block.
    pub pointers: u64,
    /// Blocks that the collector looks after: all but static ones.
    pub live_blocks: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The largest block in bytes.
    pub largest: u64,
    /// Words by what they are used for; together they are all words.
    pub uses: Vec<UseRow>,
    /// Bytes of strings that are their own; the rest of their words is padding.
    pub string_bytes: u64,
    /// Bytes outside the heap that custom blocks hold.
    pub external_bytes: u64,
    /// Stacks of fibers (OCaml 5), which are outside the heap; null if the snapshot does not tell.
    pub fiber_stacks: Option<FiberStacks>,
    /// Blocks by what they are.
    pub kinds: Vec<KindRow>,
    /// Blocks by generation: where they are.
    pub spaces: Vec<SpaceRow>,
    /// What the major heap is made of.
    pub major: MajorHeap,
    /// What is used and free in the major heap by size, small ones first; empty if the snapshot does not tell.
    pub sizes: Vec<SizeRow>,
    /// What the collector has counted and how it is set, in its order; empty if the snapshot does not tell.
    pub collector: Vec<CollectorNumber>,
    /// What the process's memory is used for.
    pub process: Process,
}

/// A number of the collector's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectorNumber {
    /// What it is called in `Gc.stat` and `Gc.control`: `minor_collections`, `space_overhead`.
    pub name: String,
    /// The number.
    pub value: f64,
}

/// Stacks of fibers, by what keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiberStacks {
    /// All of them.
    pub all: StackSum,
    /// Of suspended continuations, whose sizes contain them.
    pub suspended: StackSum,
    /// Of threads that run on them, or return to them.
    pub running: StackSum,
    /// Of fibers that have ended, which the runtime keeps for new ones.
    pub cached: StackSum,
}

/// Some stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StackSum {
    /// How many.
    pub stacks: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl StackSum {
    fn add(&mut self, bytes: u64) {
        self.stacks += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Words that are used for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UseRow {
    /// What for: `headers`, `pointers`, `immediates` and so on. Immediates that are 0, which stand for nothing, are told apart where
    /// the snapshot has their values.
    pub what: &'static str,
    /// How many words.
    pub words: u64,
}

/// What the major heap is made of, in bytes; what is not known is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MajorHeap {
    /// Mapped for it.
    pub mapped: Option<u64>,
    /// Blocks that are alive.
    pub live: u64,
    /// Blocks that are not, and not yet swept.
    pub unreachable: Option<u64>,
    /// Free for new blocks.
    pub free: Option<u64>,
    /// Pieces that nothing can be put in.
    pub fragments: Option<u64>,
    /// Mapped and none of these, if all are known: the runtime's own records, and what was never used.
    pub rest: Option<i64>,
    /// The part of what is mapped that no live block has: 1 - live / mapped.
    pub slack: Option<f64>,
    /// The part of what is not in use (free, fragments) that nothing can be put in.
    pub fragmentation: Option<f64>,
}

/// Blocks of the major heap of some sizes. Large blocks of OCaml 5, which stand by themselves, are in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SizeRow {
    /// The most bytes that one of them has, with its header.
    pub most: u64,
    /// Blocks that are not free, reachable or not.
    pub used_blocks: u64,
    /// Their bytes.
    pub used: u64,
    /// Pieces that are free for blocks of these sizes.
    pub free_blocks: u64,
    /// Their bytes.
    pub free: u64,
}

/// What the memory of the process is used for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// Bytes in physical memory; null if not known, as of core files.
    pub resident: Option<u64>,
    /// By use, as the kernel and the runtime tell.
    pub lines: Vec<ProcessLine>,
    /// Bytes in physical memory of OCaml's heaps and static data.
    pub heap_resident: Option<u64>,
    /// Physical memory that live blocks do not explain: resident less live blocks, external bytes and
    /// stacks of fibers.
    pub beyond_live: Option<i64>,
}

/// Memory for one use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessLine {
    /// What for, as `major heap`.
    pub what: String,
    /// Bytes of address space.
    pub mapped: Option<u64>,
    /// Bytes in physical memory.
    pub resident: Option<u64>,
}

const USES: [(Use, &str); 11] = [
    (Use::Header, "headers"),
    (Use::Pointer, "pointers"),
    (Use::Outside, "pointers out of the heap"),
    (Use::Immediate, "immediates"),
    (Use::Empty, "empty"),
    (Use::String, "strings"),
    (Use::Float, "floats"),
    (Use::Code, "code of closures"),
    (Use::Custom, "custom data"),
    (Use::Opaque, "abstract data"),
    (Use::Unread, "not readable"),
];

/// Summarises a heap.
pub fn summary(heap: &Heap) -> Summary {
    let census = heap.census();
    let contents = census.count.contents(heap.losses().clone());
    let words: u64 = USES.iter().fold(0, |sum, (used, _)| sum.saturating_add(census.of(*used)));
    let uses = USES.iter().map(|&(used, what)| UseRow { what, words: census.of(used) });
    let memory = memory_use(heap.tables());
    Summary {
        blocks: contents.spaces.iter().map(|row| row.blocks).sum(),
        bytes: words.saturating_mul(WORD),
        pointers: heap.snapshot().edges(),
        live_blocks: contents.live_blocks,
        live_bytes: contents.live_bytes,
        largest: contents.largest,
        uses: uses.filter(|row| row.words > 0).collect(),
        string_bytes: census.string_bytes,
        external_bytes: contents.external_bytes,
        fiber_stacks: fiber_stacks(heap.tables()),
        major: major_heap(&contents, &memory),
        sizes: sizes(heap.tables()),
        collector: collector(heap.tables()),
        process: process(heap.tables(), &contents, &memory),
        kinds: contents.kinds,
        spaces: contents.spaces,
    }
}

/// Fiber stacks in a snapshot; None if the snapshot does not record them.
pub(super) fn fiber_stacks(tables: &Tables) -> Option<FiberStacks> {
    let mut sums = FiberStacks::default();
    for fiber in tables.fibers.as_ref()? {
        let sum = match fiber.owner {
            FiberOwner::Continuation(_) => &mut sums.suspended,
            FiberOwner::Thread(_) => &mut sums.running,
            FiberOwner::Cache { .. } => &mut sums.cached,
        };
        sum.add(fiber.bytes);
        sums.all.add(fiber.bytes);
    }
    Some(sums)
}

fn major_heap(contents: &Contents, memory: &MemoryUse) -> MajorHeap {
    let major = contents.spaces.iter().find(|row| row.space == "major");
    let live = major.map_or(0, |row| row.bytes);
    let MemoryUse { mapped_heap: mapped, free, fragments, unreachable, .. } = *memory;
    let known = [Some(live), unreachable, free, fragments];
    let known: Option<u64> =
        known.into_iter().try_fold(0_u64, |sum, part| Some(sum.saturating_add(part?)));
    let unused = free.zip(fragments).map(|(free, fragments)| free.saturating_add(fragments));
    MajorHeap {
        mapped,
        live,
        unreachable,
        free,
        fragments,
        rest: mapped.zip(known).map(|(mapped, known)| difference(mapped, known)),
        slack: mapped.filter(|&mapped| mapped > 0).map(|mapped| 1.0 - live as f64 / mapped as f64),
        fragmentation: fragments
            .zip(unused.filter(|&unused| unused > 0))
            .map(|(fragments, unused)| fragments as f64 / unused as f64),
    }
}

fn sizes(tables: &Tables) -> Vec<SizeRow> {
    let row = |class: &SizeClass| SizeRow {
        most: class.most_words.saturating_mul(WORD),
        used_blocks: class.used_blocks,
        used: class.used_words.saturating_mul(WORD),
        free_blocks: class.free_blocks,
        free: class.free_words.saturating_mul(WORD),
    };
    tables.size_classes.iter().map(row).collect()
}

/// The category of a memory statistic in the snapshot, and whether it counts resident bytes; None for other
/// statistics.
fn use_of_memory(name: &str) -> Option<(&str, bool)> {
    match name.split_once(", ")? {
        (what, "resident bytes") => Some((what, true)),
        (what, "mapped bytes") => Some((what, false)),
        _ => None,
    }
}

fn collector(tables: &Tables) -> Vec<CollectorNumber> {
    let named = tables.statistics.iter().map(|one| (tables.names.get(one.name), one.value));
    let of_collector = named.filter(|(name, _)| use_of_memory(name).is_none());
    let number = |(name, value): (&str, Number)| CollectorNumber {
        name: name.to_owned(),
        value: match value {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        },
    };
    of_collector.map(number).collect()
}

fn process(tables: &Tables, contents: &Contents, memory: &MemoryUse) -> Process {
    let mut lines: Vec<ProcessLine> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for statistic in &tables.statistics {
        let name = tables.names.get(statistic.name);
        let Number::Whole(bytes) = statistic.value else { continue };
        let Some((what, is_resident)) = use_of_memory(name) else { continue };
        let at = *places.entry(what).or_insert_with(|| {
            lines.push(ProcessLine { what: what.to_owned(), mapped: None, resident: None });
            lines.len() - 1
        });
        match is_resident {
            true => lines[at].resident = Some(bytes),
            false => lines[at].mapped = Some(bytes),
        }
    }
    let heaps = ["major heap", "minor heaps", "static data of OCaml"];
    let of_heaps = lines.iter().filter(|line| heaps.contains(&&*line.what));
    let heap_resident = of_heaps.filter_map(|line| line.resident).reduce(u64::saturating_add);
    let stacks = memory.fiber_stacks.unwrap_or(0);
    let explained =
        contents.live_bytes.saturating_add(contents.external_bytes).saturating_add(stacks);
    Process {
        resident: memory.resident,
        lines,
        heap_resident,
        beyond_live: memory.resident.map(|resident| difference(resident, explained)),
    }
}
