//! What a snapshot knows besides its blocks.

use super::{
    CodeId, Continuation, Ephemeron, FiberStack, Finaliser, FrameId, NameId, Names, Root, Sample,
    StackId, ThreadId, VariableId,
};
use crate::BlockId;

/// Everything but blocks. Small next to them, and read as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Texts that the other tables refer to.
    pub names: Names,
    /// Ranges of addresses in which blocks were looked for, in order of addresses.
    pub spaces: Vec<Space>,
    /// How much memory there is besides the blocks.
    pub memory: Memory,
    /// What the collector and the runtime count, by name.
    pub statistics: Vec<Statistic>,
    /// The program's modules.
    pub modules: Vec<Module>,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Frames of threads and continuations, each stack together, innermost first.
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
    pub codes: Vec<Code>,
    /// Identifiers of custom blocks, as `_bigarr02`.
    pub customs: Vec<NameId>,
    /// Symbols of static blocks, as `Main.table`, in order of blocks.
    pub labels: Vec<Label>,
    /// Sampled blocks that are alive, in order of blocks.
    pub samples: Vec<Sample>,
    /// Call stacks of samples as a tree.
    pub stacks: Vec<StackNode>,
    /// What could not be read and why, in sentences.
    pub gaps: Vec<String>,
    /// What was met and should not be there, counted by name.
    pub oddities: Vec<Oddity>,
    /// Stacks of fibers, each once. `None` is "not known": older files do not tell.
    pub fibers: Option<Vec<FiberStack>>,
    /// Variables of the source. `None` is "not known": so it is of native code.
    pub variables: Option<Variables>,
    /// Files of native code that the program loaded with Dynlink.
    pub plugins: Vec<String>,
    /// What is used and free in the major heap by size, small ones first. Empty if it is not known.
    pub size_classes: Vec<SizeClass>,
    /// At what rate blocks were sampled. `None` is "not known", or that there was no trace.
    pub sampling: Option<Sampling>,
}

/// At what rate blocks were sampled, as the trace says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// The bits of the rate, a double.
    pub rate_bits: u64,
    /// How often it was halved later. Samples that were taken then count as many of the first rate.
    pub halved: u32,
}

impl Sampling {
    /// The part of words that were sampled at first.
    pub fn rate(&self) -> f64 {
        f64::from_bits(self.rate_bits)
    }

    /// How many samples of the first rate one stands for at most.
    pub fn heaviest(&self) -> f64 {
        f64::from(self.halved.min(63)).exp2()
    }
}

/// Blocks of the major heap of some sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// The most words that one of them has, with its header: they have more than those of the class before.
    pub most_words: u64,
    /// Blocks that are not free, reachable or not.
    pub used_blocks: u64,
    /// Their words, with headers.
    pub used_words: u64,
    /// Blocks, or in OCaml 5 slots, that are free.
    pub free_blocks: u64,
    /// Their words, with headers.
    pub free_words: u64,
}

/// A range of addresses in which blocks were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What it is for.
    pub kind: SpaceKind,
    /// Its first byte.
    pub start: u64,
    /// Just after its last byte.
    pub end: u64,
}

/// What a range of addresses is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceKind {
    /// A minor heap.
    Minor,
    /// The major heap.
    Major,
    /// Data of the executable or of a library; not collected.
    Static,
}

/// How much memory there is besides the blocks. `None` is "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of the process that are in physical memory.
    pub resident_bytes: Option<u64>,
    /// Words that are mapped for the major heap.
    pub mapped_heap_words: Option<u64>,
    /// Words of the major heap that are free.
    pub free_words: Option<u64>,
    /// Words of the major heap that nothing can be put in: headers, padding, single words.
    pub fragment_words: Option<u64>,
    /// Words of blocks that are unreachable and not yet swept, headers included.
    pub unreachable_words: Option<u64>,
    /// Words of the minor heaps.
    pub minor_words: Option<u64>,
    /// Bytes of the rings of runtime events (OCaml 5).
    pub ring_bytes: Option<u64>,
    /// Bytes outside the heap that custom blocks hold, as bigarrays do.
    pub external_bytes: Option<u64>,
}

/// A number that the runtime counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    /// What it counts, as `minor_collections`.
    pub name: NameId,
    /// How many.
    pub value: Number,
}

/// A number of either kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// Another, as OCaml's counters of words are.
    Real(f64),
}

/// A module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, as `Stdlib.List`.
    pub name: NameId,
    /// How many fields its block has. Not known in bytecode, where the block is one of the heap.
    pub fields: Option<u32>,
    /// The digest of its interface (`.cmi`), if the program has it.
    pub interface: Option<[u8; 16]>,
    /// The digest of its implementation (`.cmx`), if the program has it.
    pub implementation: Option<[u8; 16]>,
}

impl Module {
    /// A module of which no more than the name is known.
    pub fn named(name: NameId) -> Module {
        Module { name, fields: None, interface: None, implementation: None }
    }
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number in OCaml (`Thread.id`).
    pub number: u64,
    /// The domain that it belongs to.
    pub domain: u32,
    /// Its number in the operating system, if known.
    pub system_id: Option<u32>,
    /// What it is, as `main`.
    pub name: NameId,
    /// The innermost frame of its stack.
    pub first_frame: FrameId,
    /// How many frames there are.
    pub frames: u32,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The function, as `Stdlib.List.map`.
    pub function: NameId,
    /// The file.
    pub file: NameId,
    /// The line from 1; 0 is "not known".
    pub line: u32,
    /// The first character of the expression in its line, from 0.
    pub start_char: u32,
    /// Just after its last character.
    pub end_char: u32,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the function is called from in the source.
    pub location: Location,
    /// The address it returns to. In bytecode: the number of the instruction.
    pub return_address: u64,
    /// Whether the function was inlined into the one of the next frame and so has no frame of its own.
    pub is_inlined: bool,
}

/// A function that closures refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its address. In bytecode: the number of its first instruction.
    pub address: u64,
    /// Its name and where it is defined.
    pub location: Location,
}

/// Which variables of the source are in environments and on stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// The variables.
    pub all: Vec<Variable>,
    /// Those of closures, by function.
    pub environments: Vec<Environment>,
    /// Those on stacks.
    pub slots: Vec<SlotVariable>,
}

/// A variable of the source, as the compiler tells it from others of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// The name of its module.
    pub module: NameId,
    /// Its name.
    pub name: NameId,
    /// A number that no other variable of the module has.
    pub stamp: u32,
}

/// What closures hold whose first function is this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The function.
    pub code: CodeId,
    /// Fields of the closure's block, and the variables that they are.
    pub fields: Vec<FieldVariable>,
}

/// A field that is a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldVariable {
    /// The field.
    pub field: u32,
    /// The variable.
    pub variable: VariableId,
}

/// A word of a stack that is a variable.
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
    /// Its name.
    pub name: NameId,
}

/// A call stack of a sample: a frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackNode {
    /// The stack of the caller, which has a smaller number. `None` at the outermost frame.
    pub caller: Option<StackId>,
    /// The frame.
    pub location: Location,
}

/// Something that was met and should not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// What it is, as `pointers to no block`.
    pub what: NameId,
    /// How often it was met.
    pub count: u64,
}

impl Tables {
    /// The innermost place of a stack that is wanted; the innermost of all if none is.
    pub fn innermost(
        &self,
        stack: Option<StackId>,
        is_wanted: impl Fn(&Location) -> bool,
    ) -> Option<Location> {
        let node = |id: StackId| self.stacks.get(id.index());
        let innermost = node(stack?)?;
        let outwards = std::iter::successors(Some(innermost), |inner| node(inner.caller?));
        // A caller has a smaller number; a damaged file may say otherwise, and must not lead round and round.
        let mut places = outwards.take(self.stacks.len()).map(|node| node.location);
        Some(places.find(is_wanted).unwrap_or(innermost.location))
    }

    /// Stacks of fibers, as far as they are known.
    pub fn fiber_stacks(&self) -> &[FiberStack] {
        self.fibers.as_deref().unwrap_or_default()
    }

    /// The frames of a thread, innermost first; none if the numbers lead nowhere.
    pub fn frames_of(&self, thread: ThreadId) -> &[Frame] {
        let thread = self.threads.get(thread.index());
        thread.map_or(&[], |thread| self.frames_from(thread.first_frame, thread.frames))
    }

    /// `count` frames from `first` on; none if the numbers lead nowhere.
    pub fn frames_from(&self, first: FrameId, count: u32) -> &[Frame] {
        let rest = self.frames.get(first.index()..).unwrap_or(&[]);
        rest.get(..count as usize).unwrap_or(&[])
    }

    /// What the address is for.
    pub fn space_of(&self, address: u64) -> Option<&Space> {
        let after = self.spaces.partition_point(|space| space.start <= address);
        let space = self.spaces.get(after.checked_sub(1)?)?;
        (address < space.end).then_some(space)
    }
}
