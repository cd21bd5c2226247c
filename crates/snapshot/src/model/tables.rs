//! Everything that a snapshot records besides its blocks.

use super::{
    CodeId, Continuation, Ephemeron, FiberStack, Finaliser, FrameId, NameId, Names, Root, Sample,
    StackId, ThreadId, VariableId,
};
use crate::BlockId;

/// Everything except blocks. Small compared to them, and read as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Texts that the other tables refer to.
    pub names: Names,
    /// Address ranges that were searched for blocks, ascending.
    pub spaces: Vec<Space>,
    /// Memory use besides the blocks.
    pub memory: Memory,
    /// Counters of the collector and the runtime, by name.
    pub statistics: Vec<Statistic>,
    /// The program's modules.
    pub modules: Vec<Module>,
    /// The program's threads.
    pub threads: Vec<Thread>,
    /// Frames of threads and continuations; the frames of a stack are contiguous, innermost first.
    pub frames: Vec<Frame>,
    /// Roots.
    pub roots: Vec<Root>,
    /// Finalisers.
    pub finalisers: Vec<Finaliser>,
    /// Ephemerons and weak arrays, in order of blocks.
    pub ephemerons: Vec<Ephemeron>,
    /// Suspended continuations, in order of blocks.
    pub continuations: Vec<Continuation>,
    /// Functions that closures refer to.
    pub codes: Vec<ClosureCode>,
    /// Identifiers of custom blocks, such as `_bigarr02`.
    pub customs: Vec<NameId>,
    /// Symbols of static blocks, such as `Main.table`, in order of blocks.
    pub labels: Vec<Label>,
    /// Sampled blocks that are alive, in order of blocks.
    pub samples: Vec<Sample>,
    /// Call stacks of samples as a tree.
    pub stacks: Vec<StackNode>,
    /// What could not be read and why, as sentences.
    pub gaps: Vec<String>,
    /// Unexpected findings, counted by name.
    pub oddities: Vec<Oddity>,
    /// Stacks of fibers, each once. `None` means unknown: older files do not have this table.
    pub fibers: Option<Vec<FiberStack>>,
    /// Variables of the source. `None` means unknown, as for native code.
    pub variables: Option<Variables>,
    /// Files of native code that the program loaded with Dynlink.
    pub plugins: Vec<String>,
    /// Used and free space of the major heap by size, small sizes first. Empty if unknown.
    pub size_classes: Vec<SizeClass>,
    /// The rate at which blocks were sampled. `None` if it is unknown or there was no trace.
    pub sampling: Option<Sampling>,
}

/// The rate at which blocks were sampled, according to the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// The bits of the initial rate, a double.
    pub rate_bits: u64,
    /// How often the rate was halved. Sample counts are in units of the initial rate.
    pub halved: u32,
}

impl Sampling {
    /// The fraction of words that were sampled initially.
    pub fn rate(&self) -> f64 {
        f64::from_bits(self.rate_bits)
    }

    /// The maximum number of samples, at the initial rate, that one sample stands for.
    pub fn heaviest(&self) -> f64 {
        f64::from(self.halved.min(63)).exp2()
    }
}

/// Blocks of the major heap in a range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// The maximum size in words, header included. The minimum follows from the class before.
    pub most_words: u64,
    /// The number of blocks that are not free, reachable or not.
    pub used_blocks: u64,
    /// Their words, headers included.
    pub used_words: u64,
    /// The number of free blocks (in OCaml 5, free slots).
    pub free_blocks: u64,
    /// Their words, headers included.
    pub free_words: u64,
}

/// An address range that was searched for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What it is used for.
    pub kind: SpaceKind,
    /// Address of its first byte.
    pub start: u64,
    /// Address after its last byte.
    pub end: u64,
}

/// What an address range is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceKind {
    /// A minor heap.
    Minor,
    /// The major heap.
    Major,
    /// Data of the executable or of a library; not collected.
    Static,
}

/// Memory use besides the blocks. `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident set size of the process in bytes.
    pub resident_bytes: Option<u64>,
    /// Words mapped for the major heap.
    pub mapped_heap_words: Option<u64>,
    /// Free words of the major heap.
    pub free_words: Option<u64>,
    /// Words of the major heap that cannot be used: headers, padding, fragments of one word.
    pub fragment_words: Option<u64>,
    /// Words of blocks that are unreachable and not yet swept, headers included.
    pub unreachable_words: Option<u64>,
    /// Words of the minor heaps.
    pub minor_words: Option<u64>,
    /// Bytes of the ring buffers of runtime events (OCaml 5).
    pub ring_bytes: Option<u64>,
    /// Bytes outside the heap that custom blocks such as bigarrays hold.
    pub external_bytes: Option<u64>,
}

/// A counter of the runtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// What it counts, such as `minor_collections`.
    pub name: NameId,
    /// Its value.
    pub value: Number,
}

/// An integer or a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Whole(u64),
    /// A floating-point number, such as OCaml's counters of words.
    Real(f64),
}

/// A module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, such as `Stdlib.List`.
    pub name: NameId,
    /// The number of fields of its block. None in bytecode, where the block is an ordinary heap block.
    pub fields: Option<u32>,
    /// The digest of its interface (`.cmi`), if the program contains it.
    pub interface: Option<[u8; 16]>,
    /// The digest of its implementation (`.cmx`), if the program contains it.
    pub implementation: Option<[u8; 16]>,
}

impl Module {
    /// A module of which only the name is known.
    pub fn named(name: NameId) -> Module {
        Module { name, fields: None, interface: None, implementation: None }
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its OCaml thread id (`Thread.id`).
    pub number: u64,
    /// The domain that it belongs to.
    pub domain: u32,
    /// Its thread id in the operating system, if known.
    pub system_id: Option<u32>,
    /// A name for it, such as `main`.
    pub name: NameId,
    /// The innermost frame of its stack.
    pub first_frame: FrameId,
    /// The number of its frames.
    pub frames: u32,
}

/// A source location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SnapshotLocation {
    /// The function, such as `Stdlib.List.map`.
    pub function: NameId,
    /// The source file.
    pub file: NameId,
    /// The line from 1; 0 if unknown.
    pub line: u32,
    /// The column of the expression's first character, from 0.
    pub start_char: u32,
    /// The column after its last character.
    pub end_char: u32,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where in the source the call is made.
    pub location: SnapshotLocation,
    /// The return address; in bytecode the number of the instruction.
    pub return_address: u64,
    /// Whether the function was inlined into the function of the next frame and so has no physical frame.
    pub is_inlined: bool,
}

/// A function that closures refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosureCode {
    /// Its address; in bytecode the number of its first instruction.
    pub address: u64,
    /// Its name and where it is defined.
    pub location: SnapshotLocation,
}

/// Which source variables are in closure environments and on stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// The variables.
    pub all: Vec<Variable>,
    /// Variables in closures, by function.
    pub environments: Vec<Environment>,
    /// Variables on stacks.
    pub slots: Vec<SlotVariable>,
}

/// A source variable, identified as the compiler distinguishes it from others of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// The name of its module.
    pub module: NameId,
    /// Its name.
    pub name: NameId,
    /// A stamp that no other variable of the module has.
    pub stamp: u32,
}

/// The variables captured by closures whose first function is `code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The function.
    pub code: CodeId,
    /// Fields of the closure's block, with their variables.
    pub fields: Vec<FieldVariable>,
}

/// A field that holds a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldVariable {
    /// The index of the field.
    pub field: u32,
    /// The variable.
    pub variable: VariableId,
}

/// A word of a stack that holds a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotVariable {
    /// The address of the word.
    pub slot: u64,
    /// The variable.
    pub variable: VariableId,
}

/// The symbol of a static block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The block.
    pub block: BlockId,
    /// Its symbol.
    pub name: NameId,
}

/// A call stack of a sample: a frame and the stack of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackNode {
    /// The stack of the caller, which has a smaller number. `None` for the outermost frame.
    pub caller: Option<StackId>,
    /// The frame.
    pub location: SnapshotLocation,
}

/// Something unexpected in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// What it is, such as `pointers to no block`.
    pub what: NameId,
    /// How often it occurred.
    pub count: u64,
}

impl Tables {
    /// The innermost location of a stack that `is_wanted`; the innermost of all if none is.
    pub fn innermost(
        &self,
        stack: Option<StackId>,
        is_wanted: impl Fn(&SnapshotLocation) -> bool,
    ) -> Option<SnapshotLocation> {
        let node = |id: StackId| self.stacks.get(id.index());
        let innermost = node(stack?)?;
        let outwards = std::iter::successors(Some(innermost), |inner| node(inner.caller?));
        // A caller has a smaller number, but a damaged file may say otherwise and must not cause an endless
        // loop.
        let mut places = outwards.take(self.stacks.len()).map(|node| node.location);
        Some(places.find(is_wanted).unwrap_or(innermost.location))
    }

    /// Stacks of fibers; none if they are unknown.
    pub fn fiber_stacks(&self) -> &[FiberStack] {
        self.fibers.as_deref().unwrap_or_default()
    }

    /// The frames of a thread, innermost first; none if the numbers are invalid.
    pub fn frames_of(&self, thread: ThreadId) -> &[Frame] {
        let thread = self.threads.get(thread.index());
        thread.map_or(&[], |thread| self.frames_from(thread.first_frame, thread.frames))
    }

    /// `count` frames from `first` on; none if the numbers are invalid.
    pub fn frames_from(&self, first: FrameId, count: u32) -> &[Frame] {
        let rest = self.frames.get(first.index()..).unwrap_or(&[]);
        rest.get(..count as usize).unwrap_or(&[])
    }

    /// The address range that contains the address, if any.
    pub fn space_of(&self, address: u64) -> Option<&Space> {
        let after = self.spaces.partition_point(|space| space.start <= address);
        let space = self.spaces.get(after.checked_sub(1)?)?;
        (address < space.end).then_some(space)
    }
}
