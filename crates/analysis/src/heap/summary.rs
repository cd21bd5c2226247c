//! A heap on one page: what its words are used for, where its blocks are, and how it explains the memory of
//! the process.

use std::collections::HashMap;

use bactrian_snapshot::{FiberOwner, Number, SizeClass, Tables};
use schemars::JsonSchema;
use serde::Serialize;

use super::census::Use;
use super::info::{MemoryUse, memory_use};
use super::{Contents, Heap, KindRow, SpaceRow, WORD, difference};

/// Summary of a heap.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of blocks in the snapshot, including static ones.
    pub blocks: u64,
    /// Their size in bytes with headers.
    pub bytes: u64,
    /// Number of pointers between blocks.
    pub pointers: u64,
    /// Number of blocks that the collector manages: all but static ones.
    pub live_blocks: u64,
    /// Their size.
    pub live_bytes: u64,
    /// Size of the largest block in bytes.
    pub largest: u64,
    /// Words by use; together these are all words.
    pub uses: Vec<UseRow>,
    /// Length of all strings in bytes; the rest of their words is padding.
    pub string_bytes: u64,
    /// Memory outside the heap that custom blocks hold, in bytes.
    pub external_bytes: u64,
    /// Stacks of fibers (OCaml 5), which are outside the heap; null if the snapshot does not have them.
    pub fiber_stacks: Option<FiberStacks>,
    /// Blocks by kind.
    pub kinds: Vec<KindRow>,
    /// Blocks by space (generation).
    pub spaces: Vec<SpaceRow>,
    /// Parts of the major heap.
    pub major: MajorHeap,
    /// Used and free memory of the major heap by block size, smallest first; empty if the snapshot does not have it.
    pub sizes: Vec<SizeRow>,
    /// Counters and settings of the collector, in its order; empty if the snapshot does not have them.
    pub collector: Vec<CollectorNumber>,
    /// Memory of the process by use.
    pub process: Process,
}

/// A counter or setting of the collector.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectorNumber {
    /// Its name in `Gc.stat` or `Gc.control`: `minor_collections`, `space_overhead`.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// Stacks of fibers, by what keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiberStacks {
    /// All stacks.
    pub all: StackSum,
    /// Stacks of suspended continuations, whose sizes include them.
    pub suspended: StackSum,
    /// Stacks that threads run on, or return to.
    pub running: StackSum,
    /// Stacks of ended fibers, which the runtime keeps for new ones.
    pub cached: StackSum,
}

/// A number of stacks and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StackSum {
    /// Number of stacks.
    pub stacks: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl StackSum {
    fn add(&mut self, bytes: u64) {
        self.stacks += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Words with the same use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UseRow {
    /// The use: `headers`, `pointers`, `immediates` and so on. Immediates that are 0, which usually stand for nothing, are separate if
    /// the snapshot has values of immediates.
    pub what: &'static str,
    /// Number of words.
    pub words: u64,
}

/// Parts of the major heap, in bytes; null if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MajorHeap {
    /// Mapped for the major heap.
    pub mapped: Option<u64>,
    /// Live blocks.
    pub live: u64,
    /// Dead blocks that are not swept yet.
    pub unreachable: Option<u64>,
    /// Free for new blocks.
    pub free: Option<u64>,
    /// Fragments that are too small for any block.
    pub fragments: Option<u64>,
    /// Mapped and none of these, if all are known: the runtime's own data, and memory never used.
    pub rest: Option<i64>,
    /// Share of the mapped memory that is not in live blocks: 1 - live / mapped.
    pub slack: Option<f64>,
    /// Share of the unused memory (free, fragments) that is too small for any block.
    pub fragmentation: Option<f64>,
}

/// Blocks of the major heap within a range of sizes. Large blocks of OCaml 5, which are allocated separately, are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SizeRow {
    /// The maximum size of such a block in bytes, with header.
    pub most: u64,
    /// Number of blocks that are not free, reachable or not.
    pub used_blocks: u64,
    /// Their size.
    pub used: u64,
    /// Number of free blocks of these sizes.
    pub free_blocks: u64,
    /// Their size.
    pub free: u64,
}

/// Memory of the process by use.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// Resident set size in bytes; null if unknown, as for core files.
    pub resident: Option<u64>,
    /// By use, according to the kernel and the runtime.
    pub lines: Vec<ProcessLine>,
    /// Resident size of OCaml's heaps and static data.
    pub heap_resident: Option<u64>,
    /// Resident memory that live blocks do not explain: resident size minus live blocks, external memory and stacks of fibers.
    pub beyond_live: Option<i64>,
}

/// Memory with the same use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessLine {
    /// The use, such as `major heap`.
    pub what: String,
    /// Mapped address space in bytes.
    pub mapped: Option<u64>,
    /// Resident memory in bytes.
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
