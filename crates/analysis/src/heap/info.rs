//! Facts about a snapshot from its directory and tables, without reading blocks.

use bactrian_snapshot::{CodeKind, Reason, RootKind, Snapshot, SnapshotMethod, Tables};
use bactrian_trace::Micros;
use schemars::JsonSchema;
use serde::Serialize;

use super::WORD;
use super::summary::fiber_stacks;
use crate::units::Time;

/// The header of a snapshot.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "HeapInfo")]
pub struct Info {
    /// The program's file.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The host it ran on.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// Its version of OCaml.
    pub ocaml: String,
    /// `native` or `bytecode`.
    pub code: &'static str,
    /// When the program was frozen, in seconds since the Unix epoch.
    pub taken: f64,
    /// When the program was frozen, since its observation began: its start, if Bactrian started it.
    pub since_start: Option<Time>,
    /// Why it was taken: `asked`, `major`, `every`, `signal`, `exit`, `peak`, `call`.
    pub reason: &'static str,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// Its number among the snapshots of the process, from 1.
    pub sequence: u32,
    /// How it was taken: `agent`, `attach`, `copy`, `core`.
    pub way: &'static str,
    /// How long the program was paused for it, in seconds.
    pub pause: Option<f64>,
    /// Snapshots that were due before and skipped.
    pub skipped: SkippedInfo,
    /// The trace that was recorded at the same time.
    pub trace: Option<String>,
    /// The writer and its version, such as `bactrian 0.1.0`.
    pub writer: String,
    /// The version of its format.
    pub format_version: u32,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Number of groups of blocks in the file.
    pub groups: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Size of all blocks with their headers, including static ones.
    pub bytes: u64,
    /// Number of pointers between blocks.
    pub pointers: u64,
    /// Roots by kind.
    pub roots: Vec<RootCount>,
    /// Number of threads.
    pub threads: u64,
    /// Number of domains they belong to.
    pub domains: u64,
    /// Number of finalisers.
    pub finalisers: u64,
    /// Number of ephemerons and weak arrays.
    pub ephemerons: u64,
    /// Number of suspended continuations.
    pub continuations: u64,
    /// Number of live blocks that were sampled.
    pub samples: u64,
    /// Memory besides the blocks.
    pub memory: MemoryUse,
    /// What could not be read of the program, and why.
    pub gaps: Vec<String>,
    /// Anomalies found in the program's memory, and how often.
    pub oddities: Vec<(String, u64)>,
}

/// Snapshots that were due and skipped, by reason.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SkippedInfo {
    /// The maximum number of frozen copies existed already.
    pub copies: u64,
    /// Memory would have run out.
    pub memory: u64,
    /// The disk would have become full.
    pub disk: u64,
}

impl SkippedInfo {
    /// The total.
    pub fn total(&self) -> u64 {
        self.copies.saturating_add(self.memory).saturating_add(self.disk)
    }
}

/// Number of roots of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RootCount {
    /// The kind.
    pub kind: &'static str,
    /// Number of roots.
    pub count: u64,
}

/// Memory besides the blocks, in bytes; null if unknown.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct MemoryUse {
    /// Resident set size of the process.
    pub resident: Option<u64>,
    /// Mapped for the major heap.
    pub mapped_heap: Option<u64>,
    /// Free in the major heap.
    pub free: Option<u64>,
    /// Lost in the major heap to headers, padding and fragments that are too small.
    pub fragments: Option<u64>,
    /// Blocks that are unreachable and not yet swept.
    pub unreachable: Option<u64>,
    /// The minor heaps.
    pub minor_heaps: Option<u64>,
    /// Ring buffers of runtime events.
    pub rings: Option<u64>,
    /// Held outside the heap by custom blocks, such as bigarrays.
    pub external: Option<u64>,
    /// Stacks of fibers (OCaml 5).
    pub fiber_stacks: Option<u64>,
}

/// The facts about a snapshot.
pub fn info(snapshot: &Snapshot) -> Info {
    let about = snapshot.info();
    let tables = snapshot.tables();
    let groups = snapshot.groups();
    let blocks = groups.iter().map(|group| u64::from(group.blocks)).sum();
    let words = groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.words));
    let mut domains: Vec<_> = tables.threads.iter().map(|thread| thread.domain).collect();
    domains.sort_unstable();
    domains.dedup();
    let skipped = &about.skipped;
    Info {
        program: about.program.clone(),
        arguments: about.arguments.clone(),
        host: about.host.clone(),
        pid: about.pid,
        ocaml: about.ocaml.clone(),
        code: match about.code {
            CodeKind::Native => "native",
            CodeKind::Bytecode => "bytecode",
        },
        taken: about.taken as f64 / 1e6,
        since_start: about.since_start.map(|time| Time(Micros(time))),
        reason: reason(about.reason),
        name: about.name.clone(),
        sequence: about.sequence,
        way: way(about.way),
        pause: about.pause.map(|nanoseconds| nanoseconds as f64 / 1e9),
        skipped: SkippedInfo { copies: skipped.copies, memory: skipped.memory, disk: skipped.disk },
        trace: about.trace.clone(),
        writer: about.writer.clone(),
        format_version: bactrian_snapshot::VERSION,
        file_bytes: snapshot.file_bytes(),
        groups: groups.len() as u64,
        blocks,
        bytes: words.saturating_add(blocks).saturating_mul(WORD),
        pointers: snapshot.edges(),
        roots: root_counts(tables),
        threads: tables.threads.len() as u64,
        domains: domains.len() as u64,
        finalisers: tables.finalisers.len() as u64,
        ephemerons: tables.ephemerons.len() as u64,
        continuations: tables.continuations.len() as u64,
        samples: tables.samples.len() as u64,
        memory: memory_use(tables),
        gaps: tables.gaps.clone(),
        oddities: tables
            .oddities
            .iter()
            .map(|oddity| (tables.names.get(oddity.what).to_owned(), oddity.count))
            .collect(),
    }
}

pub(super) fn memory_use(tables: &Tables) -> MemoryUse {
    let memory = &tables.memory;
    let bytes = |words: Option<u64>| words.map(|words| words.saturating_mul(WORD));
    MemoryUse {
        resident: memory.resident_bytes,
        mapped_heap: bytes(memory.mapped_heap_words),
        free: bytes(memory.free_words),
        fragments: bytes(memory.fragment_words),
        unreachable: bytes(memory.unreachable_words),
        minor_heaps: bytes(memory.minor_words),
        rings: memory.ring_bytes,
        external: memory.external_bytes,
        fiber_stacks: fiber_stacks(tables).map(|stacks| stacks.all.bytes),
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Asked => "asked",
        Reason::Major => "major",
        Reason::Every => "every",
        Reason::Signal => "signal",
        Reason::Exit => "exit",
        Reason::Peak => "peak",
        Reason::Call => "call",
    }
}

fn way(way: SnapshotMethod) -> &'static str {
    match way {
        SnapshotMethod::Agent => "agent",
        SnapshotMethod::Attach => "attach",
        SnapshotMethod::Copy => "copy",
        SnapshotMethod::Core => "core",
    }
}

/// Kinds of roots in display order.
const ROOT_KINDS: &[&str] = &[
    "global",
    "dynamic-global",
    "stack",
    "local",
    "c-global",
    "finaliser",
    "thread-field",
    "hook",
    "sampler",
    "unknown",
];

fn root_kind(kind: &RootKind) -> &'static str {
    match kind {
        RootKind::Global { .. } => "global",
        RootKind::DynamicGlobal { .. } => "dynamic-global",
        RootKind::Stack { .. } => "stack",
        RootKind::Local { .. } => "local",
        RootKind::CGlobal { .. } => "c-global",
        RootKind::Finaliser { .. } => "finaliser",
        RootKind::ThreadField { .. } => "thread-field",
        RootKind::Hook { .. } => "hook",
        RootKind::Sampler { .. } => "sampler",
        RootKind::Unknown { .. } => "unknown",
    }
}

fn root_counts(tables: &Tables) -> Vec<RootCount> {
    let count = |kind: &'static str| {
        let of_kind = tables.roots.iter().filter(|root| root_kind(&root.kind) == kind);
        RootCount { kind, count: of_kind.count() as u64 }
    };
    ROOT_KINDS.iter().map(|&kind| count(kind)).filter(|row| row.count > 0).collect()
}
