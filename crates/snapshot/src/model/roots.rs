//! Roots, from which the collector starts, and everything else that holds blocks or knows them without holding
//! them.

use super::{BlockId, FrameId, ModuleId, NameId, StackId, ThreadId};

/// A pointer to a block: to its first field, or to one of the other functions of a closure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    /// The block.
    pub block: BlockId,
    /// The distance from the block's first field in words. 0 except for infix pointers.
    pub infix: u32,
}

impl Pointer {
    /// A pointer to a block's first field.
    pub fn to(block: BlockId) -> Pointer {
        Pointer { block, infix: 0 }
    }
}

/// A root: a place outside the blocks from which the collector starts. Roots that hold immediates or point to
/// no block of the snapshot are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// What kind of root it is, and which one.
    pub kind: RootKind,
    /// What it holds.
    pub target: Pointer,
}

/// The name of the hook that is, in bytecode, the variable with the block of all modules. The fields of that
/// block are roots themselves.
pub const MODULES_OF_BYTECODE: &str = "global data";

/// What kind of root it is, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// A field of a module that is linked into the program.
    Global {
        /// The module.
        module: ModuleId,
        /// The number of the field from 0.
        field: u32,
    },
    /// A field of a module that was loaded by Dynlink or a toplevel.
    DynamicGlobal {
        /// The module.
        module: ModuleId,
        /// The number of the field from 0.
        field: u32,
    },
    /// A slot of a frame on the stack of a thread.
    Stack {
        /// The thread.
        thread: ThreadId,
        /// The frame; None if the stack could not be split into frames.
        frame: Option<FrameId>,
        /// The address of the word, on the stack or among saved registers.
        slot: u64,
    },
    /// A local root of C code (`CAMLparam`, `CAMLlocal`).
    Local {
        /// The thread that runs this C code.
        thread: ThreadId,
    },
    /// A variable that C code registered (`caml_register_global_root` and its variants).
    CGlobal {
        /// The address of the variable.
        address: u64,
        /// The symbol at that address; the empty name if there is none.
        name: NameId,
    },
    /// An entry of the table of finalisers.
    Finaliser {
        /// When the function is to run.
        kind: FinaliserKind,
        /// Whether this is the function or the value.
        part: FinaliserPart,
    },
    /// What the runtime keeps for a thread besides its stack, such as its last exception.
    ThreadField {
        /// The thread.
        thread: ThreadId,
        /// What it is.
        what: NameId,
    },
    /// A place known only to a scanning hook of some library.
    Hook {
        /// Which hook, or whose.
        what: NameId,
    },
    /// What the runtime's sampler (memprof) keeps for its samples.
    Sampler {
        /// What it is.
        what: NameId,
    },
    /// A place that the runtime scans for an unknown reason.
    Unknown {
        /// The address of the place.
        address: u64,
    },
}

/// When a finaliser is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinaliserKind {
    /// `Gc.finalise`: when the value is first found unreachable; the value is kept for it.
    First,
    /// `Gc.finalise_last`: when the value is gone; it holds nothing.
    Last,
    /// The value was found unreachable, and the function is to be called next.
    Pending,
}

/// The two parts of a finaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinaliserPart {
    /// The function to be called.
    Function,
    /// The value that it is called with.
    Value,
}

/// A finaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finaliser {
    /// When it is to run.
    pub kind: FinaliserKind,
    /// The value that is watched; `None` if it is not a block of the snapshot.
    pub value: Option<Pointer>,
    /// The function; `None` if it is not a block of the snapshot.
    pub function: Option<Pointer>,
}

/// An ephemeron or a weak array (which is an ephemeron without data).
///
/// Its keys hold nothing. Its data is held only while all keys are alive. The block itself has no fields that
/// count as edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ephemeron {
    /// The block.
    pub block: BlockId,
    /// Its data.
    pub data: WeakSlot,
    /// Its keys, or the elements of the weak array.
    pub keys: Vec<WeakSlot>,
}

/// The contents of a slot of an ephemeron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeakSlot {
    /// Nothing.
    Empty,
    /// An immediate, or a pointer out of the heap: it never dies.
    Other,
    /// A block that something else keeps alive.
    Block(Pointer),
    /// A block that nothing keeps alive; it is not in the snapshot.
    Dead,
}

/// A suspended continuation (OCaml 5). Its block holds everything on its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The block.
    pub block: BlockId,
    /// The innermost frame of its stack.
    pub first_frame: FrameId,
    /// The number of its frames.
    pub frames: u32,
    /// What its stack holds: edges of the block in addition to those of its fields.
    pub held: Vec<StackValue>,
}

/// A value on the stack of a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackValue {
    /// The frame; None if the stack could not be split into frames.
    pub frame: Option<FrameId>,
    /// The address of the word.
    pub slot: u64,
    /// The value.
    pub target: Pointer,
}

/// The stack of a fiber (OCaml 5): memory outside the heap, allocated and freed on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiberStack {
    /// Its address.
    pub address: u64,
    /// Its size, including what the runtime keeps before and after the stack itself.
    pub bytes: u64,
    /// What keeps it.
    pub owner: FiberOwner,
}

/// What keeps the stack of a fiber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiberOwner {
    /// A suspended continuation, given by its block. One may keep several stacks: nested handlers.
    Continuation(BlockId),
    /// A thread that runs on it, or returns to it.
    Thread(ThreadId),
    /// Nothing: the runtime keeps it for the next fiber of a domain.
    Cache {
        /// The domain.
        domain: u32,
    },
}

/// A block that was sampled when it was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The block.
    pub block: BlockId,
    /// The number of the allocation in the trace.
    pub allocation: u64,
    /// How many of its words were sampled; a sample at a rate that was halved counts twice.
    pub samples: u32,
    /// The call stack that allocated it, if the trace contains it.
    pub stack: Option<StackId>,
    /// When it was allocated, in microseconds since the start of the trace, if the trace contains that.
    pub time: Option<u64>,
}
