//! The state that all parts of the search share.

use std::collections::HashSet;

use bactrian_ocaml::RuntimeCode;
use bactrian_ocaml::heap_layout::HeapLayout;

use super::fibers::Fibers;
use super::stacks::Stacks;
use super::words::Words;
use super::{List, Listing, Root, RootHolder, Roots, Thread};
use crate::heap::target::Target;
use crate::memory::Memory;

/// A search for roots.
pub(super) struct Finder<'a> {
    pub target: &'a Target,
    pub memory: &'a dyn Memory,
    pub layout: &'static HeapLayout,
    pub listing: Option<&'a Listing>,
    pub stacks: Stacks<'a>,
    pub words: Words<'a>,
    pub fibers: Fibers<'a>,
    /// The states of the domains.
    pub states: Vec<u64>,
    /// Sampler tables of individual threads in OCaml 4.
    pub memprof_threads: Vec<u64>,
    /// The thread that ran last has ended: nothing that belongs to it may be used.
    pub active_thread_is_gone: bool,
    pub found: Roots,
    /// Slots that were found, to recognise what a listing has in addition.
    slots: HashSet<u64>,
}

impl<'a> Finder<'a> {
    pub fn new(
        target: &'a Target,
        memory: &'a dyn Memory,
        listing: Option<&'a Listing>,
    ) -> Finder<'a> {
        Finder {
            stacks: Stacks::new(target, memory),
            ..Finder::of_domains(target, memory, listing)
        }
    }

    /// Only for the states of domains, without reading the frame tables.
    pub fn of_domains(
        target: &'a Target,
        memory: &'a dyn Memory,
        listing: Option<&'a Listing>,
    ) -> Finder<'a> {
        Finder {
            target,
            memory,
            layout: target.layout,
            listing,
            stacks: Stacks::none(target, memory),
            words: Words::new(memory),
            fibers: Fibers::new(memory, []),
            states: Vec::new(),
            memprof_threads: Vec::new(),
            active_thread_is_gone: false,
            found: Roots::default(),
            slots: HashSet::new(),
        }
    }

    pub fn run(mut self) -> Roots {
        self.found.gaps.extend_from_slice(self.stacks.gaps());
        self.spaces();
        self.domains();
        self.linked_units();
        match self.target.code {
            RuntimeCode::Native => self.globals(),
            RuntimeCode::Bytecode => self.interpreter_globals(),
        }
        self.c_roots();
        self.threads();
        if self.target.code == RuntimeCode::Bytecode {
            self.interpreter_frames();
        }
        self.finalisers();
        self.memprof();
        self.ephemerons();
        self.unexplained();
        self.found.domains = self.states;
        self.found
    }

    /// Adds a root, unless it is not a pointer or was found before: C roots may be in two lists. Returns
    /// whether it is a pointer.
    pub fn add(&mut self, slot: u64, value: u64, place: RootHolder) -> bool {
        let is_new = self.slots.insert(slot);
        let is_pointer = value & 1 == 0 && value != 0;
        if is_pointer && is_new {
            self.found.roots.push(Root { slot, value, place });
        }
        is_pointer
    }

    /// Notes that a slot was examined, but is not a root.
    pub fn pass(&mut self, slot: u64) {
        self.slots.insert(slot);
    }

    /// Reports what could not be read, once.
    pub fn gap(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.found.gaps.last() != Some(&what) {
            self.found.gaps.push(what);
        }
    }

    /// A word of a structure.
    pub fn field(&mut self, structure: u64, index: usize) -> Option<u64> {
        self.words.word(structure.checked_add(8 * index as u64)?)
    }

    /// The value of a static variable of the runtime, if its symbol is known.
    pub fn static_word(&mut self, file: &str, name: &str) -> Option<u64> {
        let address = self.target.local(file, name)?;
        self.words.word(address)
    }

    /// The value of a global variable of the runtime.
    pub fn global_word(&mut self, name: &str) -> Option<u64> {
        let address = self.target.global(name)?;
        self.words.word(address)
    }

    /// Whether this is OCaml 5.
    pub fn has_domains(&self) -> bool {
        self.target.runtime.domain_id.is_some()
    }

    /// The number of the domain with this state.
    pub fn domain_number(&mut self, state: u64) -> u32 {
        let at = self.target.runtime.domain_id;
        at.and_then(|at| self.field(state, at)).unwrap_or(0) as u32
    }

    /// Adds a thread; returns its index.
    pub fn thread(&mut self, domain: u32, id: Option<u64>, is_active: bool) -> u32 {
        let number = self.found.threads.len() as u32;
        self.found.threads.push(Thread { domain, id, is_active });
        number
    }

    /// The slots that a function of the runtime listed for a domain, if it was asked.
    pub fn listed(&self, list: List, domain: usize) -> Option<Vec<u64>> {
        let lists = &self.listing?.lists;
        let found = lists.iter().find(|l| l.list == list && l.domain as usize == domain)?;
        Some(found.slots.iter().map(|slot| slot.slot).collect())
    }

    /// Adds roots that the runtime has listed and that were not found.
    fn unexplained(&mut self) {
        let Some(listing) = self.listing else { return };
        // The runtime's own functions begin with the thread that ran last. If that is gone, what they report
        // about it is not a root, and they neither terminate nor get to functions that others have added.
        let is_gone = self.active_thread_is_gone;
        if is_gone && self.static_word("st_stubs", "prev_scan_roots_hook") != Some(0) {
            self.gap("roots that only scanning hooks of the program know, if there are any");
        }
        for list in &listing.lists {
            if is_gone && matches!(list.list, List::Memprof | List::Threads | List::All) {
                continue;
            }
            if !list.whole {
                self.found.gaps.push(format!("the runtime's list {:?} was truncated", list.list));
            }
            for slot in &list.slots {
                if !self.slots.contains(&slot.slot) {
                    self.add(slot.slot, slot.value, RootHolder::Unknown);
                }
            }
        }
    }
}
