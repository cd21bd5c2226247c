//! Roots: where the collector would start marking, found from memory alone.
//!
//! Everything is read in the way the runtime's own functions read it when they look for roots: the modules'
//! blocks, the stacks with their frame tables, the lists in which C code registers roots, finalisers, the
//! sampler's entries. Most of it is reachable from variables with global names. What is reachable only from
//! static variables of the runtime is found through their symbols if the executable has them. If it was
//! stripped, a *listing* takes their place: the slot addresses that the runtime's own functions report when
//! they are called in a frozen copy. From those addresses the surrounding structures are found.
//!
//! Whatever a listing contains that was not found here becomes a root of an unknown kind, and what could not
//! be read is reported in `gaps`: nothing is lost in silence.

mod c_roots;
mod descriptors;
mod domains;
mod ephemerons;
mod fibers;
mod finalisers;
mod finder;
mod globals;
mod interpreter;
mod linked;
mod memprof;
mod spaces;
mod stack_check;
mod stacks;
mod threads;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use bactrian_agent_abi::frozen::Frozen;
pub use bactrian_agent_abi::frozen::{List, Listed, Slot};
pub use bactrian_ocaml::frames::FrameLocation;
use bactrian_ocaml::linked_units::LinkedUnit;
pub use domains::Search;
pub use fibers::{FiberPlace, Fibers};
use finder::Finder;
pub use stack_check::StackCheck;
pub use stacks::{Scanned, StackSlot, Stacks};

use super::target::Target;
use crate::memory::Memory;

/// The starting points of a heap walk.
#[derive(Debug, Default)]
pub struct Roots {
    /// The states of domains; in OCaml 4, a single one.
    pub domains: Vec<u64>,
    /// The roots, without values that are not pointers.
    pub roots: Vec<Root>,
    /// The frames that hold roots, by return address.
    pub frames: BTreeMap<u64, Frame>,
    /// Words of interpreters' stacks that are code pointers: the address of each slot, and the code pointer.
    pub calls: Vec<(u64, u64)>,
    /// Modules, by number.
    pub modules: Vec<Module>,
    /// The compilation units that the program was linked from, if it says so.
    pub units: Vec<LinkedUnit>,
    /// Files of native code loaded by Dynlink.
    pub plugins: Vec<PathBuf>,
    /// Threads, by number.
    pub threads: Vec<Thread>,
    /// Values with a finaliser that has not been called yet.
    pub finalisers: Vec<Finaliser>,
    /// Addresses of ephemerons and weak arrays that are in the runtime's lists.
    pub ephemerons: Vec<u64>,
    /// Memory of fibers that are not held by a continuation, and what holds them.
    pub fibers: Vec<(Range<u64>, FiberPlace)>,
    /// Blocks that the sampler tracks.
    pub samples: Vec<Sample>,
    /// The address ranges that may contain blocks.
    pub spaces: Vec<Space>,
    /// What could not be read, and why: roots are missing, or blocks.
    pub gaps: Vec<String>,
    /// Set if names are missing, with the reason.
    pub unnamed: Option<&'static str>,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// The number of fields of its block; None in bytecode, where it is a block of the heap, which is visited
    /// later.
    pub fields: Option<u32>,
}

/// A value from which the collector starts marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The address of the value.
    pub slot: u64,
    /// The value.
    pub value: u64,
    /// What holds it.
    pub place: RootHolder,
}

/// What holds a root. Modules and threads are indices of [`Roots::modules`] and [`Roots::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootHolder {
    /// A field of a module's block.
    Global {
        /// The module.
        module: u32,
        /// The field.
        field: u32,
    },
    /// The same for a module that was loaded by Dynlink.
    DynamicGlobal {
        /// The module.
        module: u32,
        /// The field.
        field: u32,
    },
    /// In bytecode, the block that holds all modules' blocks.
    GlobalData,
    /// A frame of OCaml code.
    Stack {
        /// The thread.
        thread: u32,
        /// The return address of the frame.
        frame: u64,
        /// The number of frames further in.
        depth: u32,
    },
    /// A word of the interpreter's stack. It belongs to the frame of the nearest return address further in.
    Interpreter {
        /// The thread.
        thread: u32,
        /// The code pointer of the frame; 0 if unknown.
        frame: u64,
        /// The number of frames further in.
        depth: u32,
    },
    /// A handler (for values, exceptions or effects) of a running fiber.
    Handler {
        /// The thread.
        thread: u32,
    },
    /// A local variable of C code (CAMLparam, CAMLlocal): a local root.
    Local {
        /// The thread.
        thread: u32,
    },
    /// A global variable that C code has registered.
    C {
        /// Whether it was registered as a generational root.
        is_generational: bool,
    },
    /// A domain's storage for Domain.DLS.
    DomainLocal {
        /// The domain's first thread.
        thread: u32,
    },
    /// A thread's descriptor.
    ThreadDescriptor {
        /// The thread.
        thread: u32,
    },
    /// The exception that was raised last.
    LastException {
        /// The thread that raised it.
        thread: u32,
    },
    /// The function of a finaliser.
    FinaliserFunction {
        /// How it was registered.
        order: Order,
    },
    /// A value whose finaliser is about to be called.
    FinaliserDue,
    /// What the sampler keeps alive.
    Memprof,
    /// A root in the runtime's listing that was not found here.
    Unknown,
}

/// How a finaliser was registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// `Gc.finalise`: the function is passed the value.
    First,
    /// `Gc.finalise_last`.
    Last,
}

/// A frame of OCaml code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The symbol of the function; empty if there is none.
    pub symbol: String,
    /// Source locations, the innermost first; several if functions were inlined. Empty without debug
    /// information.
    pub locations: Vec<FrameLocation>,
}

/// A thread that runs, or may run, OCaml code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The number of its domain; 0 in OCaml 4.
    pub domain: u32,
    /// The result of `Thread.id`; None if the program does not use threads.
    pub id: Option<u64>,
    /// Whether it is the thread of its domain that is running, or ran last.
    pub is_active: bool,
}

/// A value with a finaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finaliser {
    /// The finaliser's function.
    pub function: u64,
    /// The value. A finaliser does not keep it alive, unless it is due.
    pub value: u64,
    /// How it was registered.
    pub order: Order,
    /// Whether the finaliser is about to be called.
    pub is_due: bool,
}

/// What the sampler knows about one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The block. The sampler does not keep it alive.
    pub block: u64,
    /// The number of samples that it stands for.
    pub samples: u64,
    /// What the tracker returned for it: the agent's token, as an OCaml integer.
    pub user_data: u64,
}

/// An address range that may contain blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The addresses.
    pub range: Range<u64>,
    /// The kind of memory.
    pub kind: SpaceKind,
}

/// The kind of memory in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceKind {
    /// The major heap. In OCaml 5, any writable memory of the program may belong to it.
    Major,
    /// The minor heap.
    Minor,
    /// Static data of modules, which is never freed.
    Static,
}

/// What the runtime's own functions report as roots, called in a copy of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The states of domains; in OCaml 4, a single one.
    pub domains: Vec<u64>,
    /// What each function reported, by domain.
    pub lists: Vec<Listed>,
}

impl From<&Frozen<'_>> for Listing {
    fn from(frozen: &Frozen<'_>) -> Listing {
        Listing { domains: frozen.domains.clone(), lists: frozen.lists.clone() }
    }
}

/// Finds the roots, and the spaces that may contain blocks.
pub fn find(target: &Target, memory: &dyn Memory, listing: Option<&Listing>) -> Roots {
    Finder::new(target, memory, listing).run()
}

/// The states of the domains that are running at this moment: those of `known` that still are, and others
/// that are found. The program need not be stopped. The second result lists what could not be read.
pub fn running_domains(
    target: &Target,
    memory: &dyn Memory,
    known: &[u64],
    search: Search,
) -> (Vec<u64>, Vec<String>) {
    let listing = Listing { domains: known.to_vec(), lists: Vec::new() };
    let mut finder = Finder::of_domains(target, memory, Some(&listing));
    let states = finder.running_domains(search);
    (states, finder.found.gaps)
}
