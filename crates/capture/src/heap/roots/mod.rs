//! Roots: where the collector would begin, found from memory alone.
//!
//! Everything is read as the runtime's own functions read it when they look for roots: the modules' blocks, the
//! stacks with their frame tables, the lists that C code registers in, finalisers, the sampler's entries. Most of
//! it hangs on variables with global names. What hangs on static variables of the runtime is found by their
//! names where the executable has them; where it was stripped, a *listing* stands in: the addresses that the runtime's
//! functions name when they are called in a frozen copy. From those addresses the structures around are known.
//!
//! Whatever a listing has that was not found here becomes a root of an unknown kind, and what could not be read
//! is told in `gaps`: nothing is lost in silence.

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
pub use bactrian_ocaml::frames::Location;
use bactrian_ocaml::linked_units::LinkedUnit;
pub use domains::Search;
pub use fibers::{FiberPlace, Fibers};
use finder::Finder;
pub use stack_check::StackCheck;
pub use stacks::{Scanned, StackSlot, Stacks};

use super::target::Target;
use crate::memory::Memory;

/// What a walk of the heap begins with.
#[derive(Debug, Default)]
pub struct Roots {
    /// States of domains; in OCaml 4, the one.
    pub domains: Vec<u64>,
    /// The roots. Values that are no pointers are left out.
    pub roots: Vec<Root>,
    /// Frames that roots are in, by return address.
    pub frames: BTreeMap<u64, Frame>,
    /// Words of interpreters' stacks that are places in the code: where they stand, and the place.
    pub calls: Vec<(u64, u64)>,
    /// Modules, by number.
    pub modules: Vec<Module>,
    /// What the program was linked from, as far as it tells.
    pub units: Vec<LinkedUnit>,
    /// Files of native code that Dynlink loaded.
    pub plugins: Vec<PathBuf>,
    /// Threads, by number.
    pub threads: Vec<Thread>,
    /// Values with a finaliser that was not called yet.
    pub finalisers: Vec<Finaliser>,
    /// Addresses of ephemerons and weak arrays that the runtime knows of.
    pub ephemerons: Vec<u64>,
    /// Memory of fibers that no continuation leads to, and what keeps them.
    pub fibers: Vec<(Range<u64>, FiberPlace)>,
    /// What the sampler follows.
    pub samples: Vec<Sample>,
    /// Where blocks may be.
    pub spaces: Vec<Space>,
    /// What could not be read, and why: roots are missing, or blocks.
    pub gaps: Vec<String>,
    /// Names that are missing, and why.
    pub unnamed: Option<&'static str>,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// How many fields its block has; in bytecode it is a block of the heap, which is looked at later.
    pub fields: Option<u32>,
}

/// A value that the collector takes for reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Where the value stands.
    pub slot: u64,
    /// The value.
    pub value: u64,
    /// What holds it.
    pub place: Place,
}

/// What holds a root. Modules and threads are numbers of [`Roots::modules`] and [`Roots::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A field of a module's block.
    Global {
        /// Which module.
        module: u32,
        /// Which field.
        field: u32,
    },
    /// The same, of a module that was loaded by Dynlink.
    DynamicGlobal {
        /// Which module.
        module: u32,
        /// Which field.
        field: u32,
    },
    /// The block that holds all modules' blocks, in bytecode.
    GlobalData,
    /// A frame of OCaml code.
    Stack {
        /// Whose stack.
        thread: u32,
        /// The frame, by its return address.
        frame: u64,
        /// How many frames are further in.
        depth: u32,
    },
    /// A word of the interpreter's stack. The instruction is the last that returned to above it.
    Interpreter {
        /// Whose stack.
        thread: u32,
        /// The instruction, as a code pointer, of the frame; 0 if it is not known.
        frame: u64,
        /// How many frames are further in.
        depth: u32,
    },
    /// What handles values, exceptions and effects of a fiber that runs.
    Handler {
        /// Whose stack.
        thread: u32,
    },
    /// A local variable of C code (CAMLparam, CAMLlocal).
    Local {
        /// Whose stack.
        thread: u32,
    },
    /// A variable that C code registered.
    C {
        /// Whether it was registered as generational.
        is_generational: bool,
    },
    /// What a domain keeps for Domain.DLS.
    DomainLocal {
        /// The domain's first thread.
        thread: u32,
    },
    /// A thread's descriptor.
    ThreadDescriptor {
        /// Which thread.
        thread: u32,
    },
    /// The exception that was raised last.
    LastException {
        /// By which thread.
        thread: u32,
    },
    /// A finaliser's function.
    FinaliserFunction {
        /// How it was registered.
        order: Order,
    },
    /// A value whose finaliser is to be called next.
    FinaliserDue,
    /// What the sampler keeps.
    Memprof,
    /// In the runtime's listing, but not found here.
    Unknown,
}

/// How a finaliser was registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// `Gc.finalise`: the function gets the value.
    First,
    /// `Gc.finalise_last`.
    Last,
}

/// A frame of OCaml code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The function, by its symbol. Empty if there is none.
    pub symbol: String,
    /// Places in the source, the innermost first; more than one where functions were inlined. Empty without debug
    /// information.
    pub locations: Vec<Location>,
}

/// A thread that runs OCaml code, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The domain it belongs to; 0 in OCaml 4.
    pub domain: u32,
    /// What `Thread.id` says; none where the program has no threads.
    pub id: Option<u64>,
    /// Whether it is the one that runs, or ran last, in its domain.
    pub is_active: bool,
}

/// A value with a finaliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finaliser {
    /// The function to be called.
    pub function: u64,
    /// The value. This does not keep it alive, but for values whose finaliser is due.
    pub value: u64,
    /// How it was registered.
    pub order: Order,
    /// Whether it is to be called next.
    pub is_due: bool,
}

/// What the sampler knows of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The block. This does not keep it alive.
    pub block: u64,
    /// How many samples it stands for.
    pub samples: u64,
    /// What the tracker returned for it: the number that the trace knows it by, as an OCaml integer.
    pub user_data: u64,
}

/// Addresses where blocks may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The addresses.
    pub range: Range<u64>,
    /// What is there.
    pub kind: SpaceKind,
}

/// What is in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceKind {
    /// The major heap. In OCaml 5 anything that the program may write may be that.
    Major,
    /// The minor heap.
    Minor,
    /// Data of modules, which are never freed.
    Static,
}

/// What the runtime's own functions say when they are asked for roots, in a copy of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// States of domains; in OCaml 4, the one.
    pub domains: Vec<u64>,
    /// What each function listed, by domain.
    pub lists: Vec<Listed>,
}

impl From<&Frozen<'_>> for Listing {
    fn from(frozen: &Frozen<'_>) -> Listing {
        Listing { domains: frozen.domains.clone(), lists: frozen.lists.clone() }
    }
}

/// Finds roots, and where blocks may be.
pub fn find(target: &Target, memory: &dyn Memory, listing: Option<&Listing>) -> Roots {
    Finder::new(target, memory, listing).run()
}

/// States of the domains that run in this moment: those of `known` that still do, and those that are found besides. The
/// program need not hold still. The second is what could not be told.
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
