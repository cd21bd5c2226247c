//! Differences between the OCaml runtimes that can be observed: one table, keyed by version.
//!
//! Word indices count 8-byte words of the domain state. They were taken from `domain_state.tbl` of each
//! release, the layouts of location records from `backtrace_prim.h`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::domain_state::Release;
use crate::heap_layout::{HEAP_4_11, HEAP_4_12, HEAP_4_13, HEAP_4_14, HeapLayout, heap_5};
use crate::version::Version;

/// Where the runtime keeps what the agent needs, for a range of OCaml versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The first and the last version of OCaml with this runtime.
    pub versions: (Version, Version),
    /// Whether it has a working Gc.Memprof, which recording a trace requires: 4.11 to 4.14, and from 5.3 on.
    pub has_sampler: bool,
    /// Where to find the stack of the running program.
    pub stack: StackLayout,
    /// Word of the domain state with the interpreter's stack pointer, in bytecode programs of OCaml 4; in OCaml
    /// 5 it is the first word of the current fiber.
    pub interpreter_stack: Option<usize>,
    /// How to find trap frames on the interpreter's stack; None if that is unknown.
    pub traps: Option<TrapLayout>,
    /// The layout of the runtime's source locations.
    pub location: LocationLayout,
    /// Word of the domain state with the domain's number; None if there is only one domain.
    pub domain_id: Option<usize>,
    /// Where the heap's roots and spaces are; None if that is unknown, and then the heap cannot be walked.
    pub heap: Option<HeapLayout>,
    /// How to make a running program poll for pending actions.
    pub polling: Polling,
    /// Where the runtime keeps the name of its executable, as it was given.
    pub executable_name: ExecutableName,
}

/// Where the runtime keeps the name of its executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableName {
    /// OCaml 4: the variable `caml_exe_name` points to it.
    Variable,
    /// OCaml 5: a word of `struct caml_params`, to which the variable `caml_params` points.
    Parameter(usize),
}

/// How to make a running program poll for pending actions such as a collection. Words of the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// OCaml 4: set the allocation limit to the end of the minor heap.
    ToEnd {
        /// `young_limit`.
        limit: usize,
        /// `young_alloc_end`.
        end: usize,
        /// `requested_major_slice`.
        slice: usize,
    },
    /// OCaml 5: set the limit to the highest address, and a flag that says that an action is pending.
    ToHighest {
        /// `young_limit`.
        limit: usize,
        /// `action_pending`.
        pending: usize,
        /// `requested_external_interrupt`.
        interrupt: usize,
    },
}

/// Where to find the stack of a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackLayout {
    /// OCaml 4: one stack shared with C. Words of the domain state: the high end of the stack, where the OCaml
    /// part begins, and the return address into that part.
    System {
        /// `top_of_stack`.
        top: usize,
        /// `bottom_of_stack`.
        bottom: usize,
        /// `last_return_address`.
        return_address: usize,
    },
    /// OCaml 5: separate stacks, called fibers. Word of the domain state that points to the running one.
    Fibers {
        /// `current_stack`.
        current: usize,
    },
}

/// Where to find the interpreter's stack. Words of the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterLayout {
    /// OCaml 4: one stack per thread.
    One {
        /// `extern_sp`.
        pointer: usize,
        /// `stack_high`.
        high: usize,
        /// Its trap frames.
        traps: TrapLayout,
    },
    /// OCaml 5: fibers, whose records contain their stack pointers and high ends.
    Fibers {
        /// `current_stack`.
        current: usize,
        /// Their trap frames.
        traps: TrapLayout,
    },
}

/// Trap frames of bytecode: exception handlers on the interpreter's stack, each linked to the next outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapLayout {
    /// Word of the domain state that locates the innermost one: in OCaml 4 `trapsp`, an address; in OCaml 5
    /// `trap_sp_off`, a number of words from the high end of the stack.
    pub innermost: usize,
    /// How the runtime interprets the second word of a trap frame when it collects a stack.
    pub link: TrapLink,
}

/// How the runtime interprets the link of a trap frame when it collects a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrapLink {
    /// As the address of the next one.
    Address,
    /// As a tagged number of words from this one to the next.
    FromThis,
    /// As a number of words from the high end of the stack. The number is tagged, but the runtime uses it
    /// untagged: after the first trap frame, it takes the handlers of the others for frames.
    FromHighUntagged,
}

/// How `caml_debuginfo_location` fills its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationLayout {
    /// Line, first and last column.
    OneLine,
    /// First and last line, with the columns in each (since OCaml 5.2).
    TwoLines,
}

const fn from_to(first: (u8, u8), last: (u8, u8)) -> (Version, Version) {
    (Version::new(first.0, first.1), Version::new(last.0, last.1))
}

const RUNTIME_4_13: Runtime = Runtime {
    versions: from_to((4, 13), (4, 13)),
    has_sampler: true,
    stack: StackLayout::System { top: 25, bottom: 26, return_address: 27 },
    interpreter_stack: Some(20),
    traps: Some(TrapLayout { innermost: 21, link: TrapLink::FromThis }),
    location: LocationLayout::OneLine,
    domain_id: None,
    heap: Some(HEAP_4_13),
    polling: Polling::ToEnd { limit: 0, end: 7, slice: 34 },
    executable_name: ExecutableName::Variable,
};

const fn runtime_5(release: Release) -> Runtime {
    Runtime {
        versions: (release.version(), release.version()),
        has_sampler: release.has_sampler(),
        stack: StackLayout::Fibers { current: release.word(5) },
        interpreter_stack: None,
        traps: Some(TrapLayout { innermost: release.word(54), link: TrapLink::FromHighUntagged }),
        location: match release {
            Release::V5_0 | Release::V5_1 => LocationLayout::OneLine,
            _ => LocationLayout::TwoLines,
        },
        domain_id: Some(release.word(36)),
        heap: Some(heap_5(release)),
        polling: Polling::ToHighest {
            limit: 0,
            pending: release.word(7),
            interrupt: release.word(32),
        },
        // Since 5.5 it comes after the name of the interpreter.
        executable_name: ExecutableName::Parameter(match release {
            Release::V5_5 => 1,
            _ => 0,
        }),
    }
}

/// The known runtimes, ordered by version.
pub const RUNTIMES: [Runtime; 10] = [
    Runtime {
        versions: from_to((4, 11), (4, 11)),
        has_sampler: true,
        stack: StackLayout::System { top: 24, bottom: 25, return_address: 26 },
        interpreter_stack: Some(19),
        traps: Some(TrapLayout { innermost: 20, link: TrapLink::Address }),
        location: LocationLayout::OneLine,
        domain_id: None,
        heap: Some(HEAP_4_11),
        polling: Polling::ToEnd { limit: 1, end: 7, slice: 33 },
        executable_name: ExecutableName::Variable,
    },
    Runtime {
        versions: from_to((4, 12), (4, 12)),
        heap: Some(HEAP_4_12),
        polling: Polling::ToEnd { limit: 1, end: 7, slice: 34 },
        ..RUNTIME_4_13
    },
    RUNTIME_4_13,
    Runtime { versions: from_to((4, 14), (4, 14)), heap: Some(HEAP_4_14), ..RUNTIME_4_13 },
    runtime_5(Release::V5_0),
    runtime_5(Release::V5_1),
    runtime_5(Release::V5_2),
    runtime_5(Release::V5_3),
    runtime_5(Release::V5_4),
    runtime_5(Release::V5_5),
];

/// The versions of the runtimes that are `wanted`, such as `4.11 to 4.14 or 5.3 to 5.5`.
pub fn versions(wanted: impl Fn(&Runtime) -> bool, conjunction: &str) -> String {
    let mut ranges: Vec<(Version, Version)> = Vec::new();
    let runtimes = RUNTIMES.iter().filter(|runtime| wanted(runtime));
    for (first, last) in runtimes.map(|runtime| runtime.versions) {
        match ranges.last_mut() {
            Some((_, end)) if (end.major, end.minor + 1) == (first.major, first.minor) => {
                *end = last
            }
            _ => ranges.push((first, last)),
        }
    }
    let ranges = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    ranges.collect::<Vec<_>>().join(&format!(" {conjunction} "))
}

impl Runtime {
    /// The interpreter's stack pointer in a bytecode program that is executing C code. `state` reads a word of
    /// the domain state, `memory` the word at an address.
    pub fn interpreter_stack_pointer(
        &self,
        state: impl Fn(usize) -> usize,
        memory: impl Fn(usize) -> usize,
    ) -> usize {
        match (self.interpreter_stack, self.stack) {
            (Some(word), _) => state(word),
            (None, StackLayout::Fibers { current }) => memory(state(current)),
            (None, StackLayout::System { .. }) => 0,
        }
    }

    /// How to walk the interpreter's stack; None if that is unknown.
    pub fn interpreter_layout(&self) -> Option<InterpreterLayout> {
        let traps = self.traps?;
        match (self.stack, self.interpreter_stack) {
            (StackLayout::Fibers { current }, _) => {
                Some(InterpreterLayout::Fibers { current, traps })
            }
            (StackLayout::System { .. }, Some(pointer)) => {
                let high = self.heap?.state.stack_high?;
                Some(InterpreterLayout::One { pointer, high, traps })
            }
            (StackLayout::System { .. }, None) => None,
        }
    }

    /// The runtime of a version; None if it is unknown.
    pub fn of(version: Version) -> Option<&'static Runtime> {
        RUNTIMES.iter().find(|runtime| {
            let (first, last) = runtime.versions;
            (first..=last).contains(&version)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreter_stacks_of_all_runtimes_can_be_walked() {
        for runtime in RUNTIMES {
            assert!(runtime.interpreter_layout().is_some(), "{:?}", runtime.versions);
        }
    }

    #[test]
    fn some_runtimes_have_no_sampler() {
        for (major, minor, known) in [
            (4, 10, None),
            (4, 11, Some(true)),
            (4, 14, Some(true)),
            (5, 0, Some(false)),
            (5, 1, Some(false)),
            (5, 2, Some(false)),
            (5, 3, Some(true)),
            (5, 9, None),
        ] {
            let found = Runtime::of(Version::new(major, minor));
            assert_eq!(found.map(|runtime| runtime.has_sampler), known, "{major}.{minor}");
            let layout = found.and_then(|runtime| runtime.heap?.memprof);
            assert_eq!(layout.is_some(), known == Some(true), "{major}.{minor}");
        }
    }
}
