//! What a snapshot contains, from reading all of it.

use bactrian_snapshot::{Columns, Group, Losses, Scanned, Snapshot, SpaceKind, Tables, tag};
use schemars::JsonSchema;
use serde::Serialize;

use super::block_bytes;

/// What is in a snapshot.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Contents {
    /// Blocks by space.
    pub spaces: Vec<SpaceRow>,
    /// Blocks by kind.
    pub kinds: Vec<KindRow>,
    /// Size of all blocks that the collector manages: all but static ones.
    pub live_bytes: u64,
    /// Number of blocks that the collector manages.
    pub live_blocks: u64,
    /// Memory outside the heap that custom blocks hold, in bytes.
    pub external_bytes: u64,
    /// Size of the largest block in bytes.
    pub largest: u64,
    /// What is missing or damaged in the file. Not in JSON here, because it is part of every answer.
    #[serde(skip)]
    pub losses: Losses,
}

/// Blocks in one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpaceRow {
    /// `minor`, `major`, `static`, or `unknown` for blocks in no known space.
    pub space: &'static str,
    /// Number of blocks.
    pub blocks: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Blocks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindRow {
    /// The kind.
    pub kind: BlockKind,
    /// Number of blocks.
    pub blocks: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Kind of a block, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Tuples, records, constructors, arrays: tags below 244.
    Structured,
    /// Lazy values, suspended or being forced.
    Lazy,
    /// Closures.
    Closure,
    /// Objects.
    Object,
    /// Suspended continuations.
    Continuation,
    /// Strings and bytes.
    String,
    /// Boxed floats.
    Float,
    /// Arrays and records of floats.
    FloatArray,
    /// Custom blocks.
    Custom,
    /// Abstract blocks: ephemerons, and blocks of C code.
    Abstract,
}

impl BlockKind {
    const ALL: [BlockKind; 10] = [
        BlockKind::Structured,
        BlockKind::Lazy,
        BlockKind::Closure,
        BlockKind::Object,
        BlockKind::Continuation,
        BlockKind::String,
        BlockKind::Float,
        BlockKind::FloatArray,
        BlockKind::Custom,
        BlockKind::Abstract,
    ];

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            BlockKind::Structured => "structured",
            BlockKind::Lazy => "lazy values",
            BlockKind::Closure => "closures",
            BlockKind::Object => "objects",
            BlockKind::Continuation => "continuations",
            BlockKind::String => "strings",
            BlockKind::Float => "floats",
            BlockKind::FloatArray => "float arrays",
            BlockKind::Custom => "custom",
            BlockKind::Abstract => "abstract",
        }
    }

    fn of(tag: u8, columns: &Columns) -> BlockKind {
        match tag {
            tag::CONTINUATION if Scanned::of(tag, columns) == Scanned::None => {
                BlockKind::Continuation
            }
            tag::LAZY | tag::FORWARD => BlockKind::Lazy,
            tag::CLOSURE => BlockKind::Closure,
            tag::OBJECT => BlockKind::Object,
            tag::ABSTRACT => BlockKind::Abstract,
            tag::STRING => BlockKind::String,
            tag::DOUBLE => BlockKind::Float,
            tag::DOUBLE_ARRAY => BlockKind::FloatArray,
            tag::CUSTOM => BlockKind::Custom,
            _ => BlockKind::Structured,
        }
    }
}

/// A number of blocks and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    blocks: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.blocks += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

const SPACES: [&str; 4] = ["major", "minor", "static", "unknown"];

/// Reads all of a snapshot, which also verifies that it is readable. `progress` is called with the fraction
/// done.
pub fn contents(snapshot: &Snapshot, progress: &mut dyn FnMut(f64)) -> Contents {
    let tables = snapshot.tables();
    let mut count = Count::default();
    let groups = snapshot.groups().len();
    for index in 0..groups {
        progress(index as f64 / groups as f64 / 2.0);
        // `verify` reports what cannot be read.
        if let Ok(group) = snapshot.group(index) {
            count.group(&group, tables, snapshot.columns());
        }
    }
    count.contents(snapshot.verify(&mut |share| progress(0.5 + share / 2.0)))
}

/// Counts of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    spaces: [Sum; SPACES.len()],
    kinds: [Sum; BlockKind::ALL.len()],
    pub(super) external_bytes: u64,
    largest: u64,
}

impl Count {
    /// Converts the counts to an answer.
    pub fn contents(&self, losses: Losses) -> Contents {
        let spaces = SPACES.iter().zip(&self.spaces);
        let spaces =
            spaces.map(|(&space, sum)| SpaceRow { space, blocks: sum.blocks, bytes: sum.bytes });
        let kinds = BlockKind::ALL.iter().zip(&self.kinds);
        let kinds =
            kinds.map(|(&kind, sum)| KindRow { kind, blocks: sum.blocks, bytes: sum.bytes });
        let live = spaces.clone().filter(|row| row.space != "static");
        Contents {
            live_bytes: live.clone().fold(0, |sum, row| sum.saturating_add(row.bytes)),
            live_blocks: live.map(|row| row.blocks).sum(),
            spaces: spaces.filter(|row| row.blocks > 0).collect(),
            kinds: kinds.filter(|row| row.blocks > 0).collect(),
            external_bytes: self.external_bytes,
            largest: self.largest,
            losses,
        }
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &Count) {
        let others = other.spaces.iter().chain(&other.kinds);
        for (sum, other) in self.spaces.iter_mut().chain(&mut self.kinds).zip(others) {
            sum.blocks += other.blocks;
            sum.bytes = sum.bytes.saturating_add(other.bytes);
        }
        self.external_bytes = self.external_bytes.saturating_add(other.external_bytes);
        self.largest = self.largest.max(other.largest);
    }

    /// All counts as a list, to be stored in an index.
    pub fn numbers(&self) -> Vec<u64> {
        let sums = self.spaces.iter().chain(&self.kinds).flat_map(|sum| [sum.blocks, sum.bytes]);
        sums.chain([self.external_bytes, self.largest]).collect()
    }

    /// Restores stored counts; None if there are not exactly as many as expected, or the numbers are
    /// impossible.
    pub fn from_numbers(numbers: &[u64]) -> Option<Count> {
        let mut count = Count::default();
        let (sums, rest) = numbers.split_at_checked(2 * (SPACES.len() + BlockKind::ALL.len()))?;
        [count.external_bytes, count.largest] = rest.try_into().ok()?;
        let kept = sums.chunks_exact(2).map(|pair| Sum { blocks: pair[0], bytes: pair[1] });
        for (sum, kept) in count.spaces.iter_mut().chain(&mut count.kinds).zip(kept) {
            *sum = kept;
        }
        let mut sums = count.spaces.iter().chain(&count.kinds);
        sums.all(|sum| sum.blocks <= u64::from(u32::MAX)).then_some(count)
    }

    /// Counts the blocks of a group.
    pub fn group(&mut self, group: &Group<'_>, tables: &Tables, columns: &Columns) {
        // Consecutive blocks are mostly in the same space.
        let mut space = None;
        for block in group.blocks() {
            let inside = |space: &bactrian_snapshot::Space| {
                (space.start..space.end).contains(&block.address)
            };
            if !space.is_some_and(inside) {
                space = tables.space_of(block.address);
            }
            let at = match space.map(|space| space.kind) {
                Some(SpaceKind::Major) => 0,
                Some(SpaceKind::Minor) => 1,
                Some(SpaceKind::Static) => 2,
                None => 3,
            };
            let bytes = block_bytes(block.words);
            self.spaces[at].add(bytes);
            self.kinds[BlockKind::of(block.tag, columns) as usize].add(bytes);
            self.largest = self.largest.max(bytes);
        }
        for custom in group.customs().unwrap_or_default() {
            self.external_bytes = self.external_bytes.saturating_add(custom.external_bytes);
        }
    }
}
