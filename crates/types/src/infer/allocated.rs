//! Types of allocations in traces, of which only the location and the size are known.

use crate::{Builtin, Table};

use super::hash::Map;
use super::print::print;
use super::sites::{Sites, is_certain};
use super::terms::{Scope, Term, Terms};

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocation<'a> {
    /// The function, as debug information names it.
    pub function: &'a str,
    /// The source file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The columns at which the expression begins and ends, counted from the start of the line.
    pub characters: (u32, u32),
    /// The size of the block in words, without its header.
    pub words: u32,
}

/// What is known of an allocation's type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocated {
    /// This type, in OCaml syntax.
    Type(String),
    /// One of several types.
    OneOfSeveral,
    /// The table has no such allocation.
    Unknown,
}

/// Types by location and size of allocations.
pub struct Allocations<'t> {
    sites: Sites<'t>,
    terms: Terms<'t>,
}

impl<'t> Allocations<'t> {
    /// The allocations of a table. `is_used` says for each of its units whether it is part of the program.
    pub fn new(table: &'t Table, is_used: &'t [bool]) -> Allocations<'t> {
        Allocations { sites: Sites::new(table, is_used), terms: Terms::new(table) }
    }

    /// The type of an allocation.
    pub fn find(&mut self, allocation: &Allocation<'_>) -> Allocated {
        let Allocation { function, file, line, characters, words } = *allocation;
        let mut names: Map<String, ()> = Map::default();
        for site in self.sites.sites_at((file, line, characters), function, words) {
            let term = self.terms.instantiate(site.of, &mut Scope::fresh());
            let is_there = term != Term::ANY && self.is_of_size(term, words);
            if is_there && is_certain(&self.terms, site.kind, &site.name, term) {
                names.insert(print(&self.terms, term), ());
            }
        }
        let mut names = names.into_keys();
        match (names.next(), names.next()) {
            (Some(name), None) => Allocated::Type(name),
            (Some(_), Some(_)) => Allocated::OneOfSeveral,
            (None, _) => Allocated::Unknown,
        }
    }

    /// Whether blocks of a type can have this size, if the type has a fixed size.
    fn is_of_size(&self, term: Term, words: u32) -> bool {
        match self.terms.builtin(term) {
            Some(Builtin::Float) => words == 1,
            // The operations and the number; older runtimes reserve a word to align it.
            Some(Builtin::Int32 | Builtin::Int64 | Builtin::Nativeint) => (2..=3).contains(&words),
            _ => true,
        }
    }
}
